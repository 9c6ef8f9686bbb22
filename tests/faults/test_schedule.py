"""The same seed plays the same faults, and every kind of fault and every failpoint has its turn."""

import re
from collections import Counter
from itertools import islice

from countersign.settings import ROOT
from runtime import failpoints
from runtime.failpoints import Point
from tests.faults.harness import schedule
from tests.faults.harness.kinds import Link
from tests.faults.harness.whims import Whim, whim_of
from tests.faults.world.proxy import Trouble
from tests.faults.world.upstream import Fate, fate_of
from tests.faults.world.world import KINDS, LINKS, SLOTS, WORKERS

PRODUCT = ("countersign", "bot", "edge", "evidence", "runtime")


def test_a_schedule_is_a_function_of_its_seed() -> None:
    assert schedule.faults(7, 300.0) == schedule.faults(7, 300.0) != schedule.faults(8, 300.0)
    assert schedule.wishes(7, 50, 60.0) == schedule.wishes(7, 50, 60.0) != schedule.wishes(8, 50, 60.0)
    for slot in SLOTS:
        assert list(islice(schedule.arms(7, slot), 40)) == list(islice(schedule.arms(7, slot), 40))


def test_what_becomes_of_a_request_is_a_function_of_the_seed() -> None:
    fates = [fate_of(7, "note", f"note:{number}", 1) for number in range(500)]
    assert fates == [fate_of(7, "note", f"note:{number}", 1) for number in range(500)]
    assert set(fates) == set(Fate)


def test_every_kind_of_fault_has_its_turn() -> None:
    faults = schedule.faults(7, 600.0)
    assert {type(fault).__name__ for fault in faults} == {
        *("Kill", "Pause", "KillDatabase", "Link", "Clock", "FullDisk"),
    }
    links = [fault for fault in faults if isinstance(fault, Link)]
    assert {fault.link for fault in links} == set(LINKS)
    assert {fault.trouble for fault in links} == set(Trouble) - {Trouble.NONE}
    assert all(fault.at % schedule.CYCLE < schedule.STORM for fault in faults)


def test_every_failpoint_has_its_turn() -> None:
    turns = [arms for slot in SLOTS for arms in islice(schedule.arms(7, slot), len(Point))]
    assert {point for arms in turns for point in arms.points} == set(Point)
    assert any(arms.stops for slot in WORKERS for arms in islice(schedule.arms(7, slot), 40))


def test_a_small_world_has_a_run_of_each_kind() -> None:
    assert {wish.kind for wish in schedule.wishes(7, len(KINDS), 10.0)} == set(KINDS)


def test_each_failpoint_stands_in_the_code() -> None:
    text = "".join(file.read_text(encoding="utf-8") for top in PRODUCT for file in (ROOT / top).rglob("*.py"))
    assert {Point[name] for name in re.findall(r"\bat\(Point\.(\w+)\)", text)} == set(Point)


def test_no_setting_arms_a_failpoint() -> None:
    assert failpoints._hooks == []
    text = "".join(file.read_text(encoding="utf-8") for top in PRODUCT for file in (ROOT / top).rglob("*.py"))
    assert not re.search(r"failpoints\.arm|import.*\barm\b", text)


def test_people_do_everything_that_the_menu_has_with_some_requests_and_decide_most() -> None:
    keys = [f"pay:pay-{number}" for number in range(200)]
    whims = Counter(whim_of("pay", key) for key in keys)
    assert whims.keys() == {None, *Whim}
    assert whims[None] > len(keys) / 3
    assert Whim.EDIT not in {whim_of("wipe", key) for key in keys}, "nothing of it may be edited"
