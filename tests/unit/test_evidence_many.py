"""A bundle of very many small records takes time and memory in proportion to its size."""

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO
from types import FrameType
from typing import Any

import orjson
import pytest

from evidence import names
from evidence.reading import material
from evidence.reading.exceptions import exceptions_of
from evidence.reading.material import Material
from evidence.run_record import run_as_told
from evidence.verify import escalations, waits
from evidence.verify.facts import Facts
from evidence.verify.trust import trust_of
from evidence.verify.verify import signed_contents, unpacked, verify
from evidence.zipform import unpack
from tests.unit.evidence_many import many
from tests.unit.evidence_sample import Office, Story, at, story

WRITES = 12
"""For twice as many, a loop over all of a kind for each of a kind takes four times as long; for thrice, nine times."""
_FEW = 1_000
"""Steps of the interpreter that prove nothing."""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def steps_of(act: Callable[[], object]) -> Counter[str]:
    """Return how many steps of the interpreter each function of the verifier takes for an act."""
    found = Counter[str]()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if "/evidence/" not in code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            found[f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"] += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        act()
    finally:
        sys.settrace(before)
    return found


def growing(once: Counter[str], twice: Counter[str], thrice: Counter[str]) -> dict[str, tuple[int, int, int]]:
    """Return the functions of which what is three times as much takes more than three times as many steps."""
    return {
        name: (once[name], twice[name], steps)
        for name, steps in thrice.items()
        if steps > _FEW and (steps - twice[name]) > 4 / 3 * (twice[name] - once[name])
    }


def test_no_rule_looks_at_all_records_for_each_record(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "_NEAR", 1)  # a few records are kept, and are not read
    verify(office.seal(many(1).dossier()), office.public)  # what is made once is made
    sealed = (office.seal(many(times * WRITES).dossier()) for times in (1, 2, 3))  # each in the place of the last
    assert growing(*(steps_of(partial(verify, path, office.public)) for path in sealed)) == {}


def test_exceptions_are_not_looked_for_in_all_pairs_of_votes(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "_NEAR", 1)
    sealed = [office.seal(many(times * WRITES).dossier()).read_bytes() for times in (1, 2, 3)]
    read = [Material(unpack(BytesIO(data)).members) for data in sealed]
    assert growing(*(steps_of(partial(exceptions_of, one)) for one in read)) == {}


def waiting(count: int) -> Story:
    """Return a run in which so many waits stand open side by side, until each ends."""
    told = story()
    waits = [
        {"wait_id": f"w-beside-{number}", "type": "external", "step": f"beside-{number}"} for number in range(count)
    ]
    more = {"correlation_key": "", "deadline": at(0), "minute": 9}
    told.events[-2:-2] = [
        *(("wait.opened", {**wait, **more}) for wait in waits),
        *(("wait.progress", {**wait, "count": 1, "minute": 9}) for wait in waits),
        *(("wait.timed_out", {**wait, "minute": 9}) for wait in waits),
    ]
    return told


def test_no_rule_looks_at_all_open_waits_for_each_leaf(office: Office) -> None:
    def look(facts: Facts) -> None:
        run_as_told(facts.leaves)
        for rule in (*waits.RULES[1:], *waits.PROGRESS, *escalations.RULES):
            rule.check(facts)

    def facts_of(count: int) -> Facts:
        path = office.seal(waiting(count).dossier())
        return Facts(signed_contents(unpacked(path), trust_of(office.public)))

    assert growing(*(steps_of(partial(look, facts_of(times * 3 * WRITES))) for times in (1, 2, 3))) == {}


def test_many_records_are_verified_in_memory_in_proportion_to_their_bytes(office: Office) -> None:
    path = office.seal(many(150).dossier())
    verify(path, office.public)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        verify(path, office.public)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * size  # where each record has parts of its own that are alike, it is 4.3


def test_each_record_and_line_is_read_as_json_a_few_times(office: Office) -> None:
    path, reads = office.seal(many(2 * WRITES).dossier()), 0
    members = unpacked(path).members

    def count(_: FrameType, event: str, called: Any) -> None:
        nonlocal reads
        reads += event == "c_call" and called is orjson.loads

    sys.setprofile(count)
    try:
        verify(path, office.public)
    finally:
        sys.setprofile(None)
    assert reads < 6 * (len(members) + members[names.AUDIT].count(b"\n"))
