"""Runbook selection: which version starts, what comes active, and what a trigger is about.

Which runbook a trigger starts where several take its type: exactly one, by what each says, or none at all.

What starts, and what comes active by itself: rules over values.

What a runbook says of what its triggers are about: what is checked, and what its definition keeps.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countersign.embedded.system import activation_of
from countersign.engine import unmoving_handlers
from countersign.settings import Settings
from receipts.canonical import loads
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.catalog import OWN, Catalog, load_catalog
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import About
from runtime.inbox.definition_activation import ACTIVATE, RETIRE
from runtime.model.runbook_version import (
    Activation,
    NotActiveError,
    RunbookVersion,
    activates_by_itself,
    version_to_start,
)
from runtime.model.states import DefinitionStatus
from runtime.planning.runbook_selection import UndecidedError, select_runbook
from runtime.planning.triggers import TriggerError, reference_of
from tests.unit.test_definitions_catalog import GOOD, load, pack, runbook

ACTIVE, RETIRED = DefinitionStatus.ACTIVE, DefinitionStatus.RETIRED
BIG, SMALL, ALL = "trigger.amount > 100", "trigger.amount <= 100", "trigger.amount > 0"


def life(name: str, when: str | None, version: int = 1, status: DefinitionStatus = ACTIVE) -> RunbookVersion:
    return RunbookVersion(name, version, "0" * 64, "pay", status, when)


TWO = [life("big", BIG), life("small", SMALL)]


@pytest.mark.parametrize(("amount", "name"), [(101, "big"), (100, "small")])
def test_the_one_that_takes_it_starts_and_all_that_were_looked_at_are_told(amount: int, name: str) -> None:
    chosen, among = select_runbook(TWO, None, {"amount": amount})
    assert (chosen.name, [one.name for one in among]) == (name, ["big", "small"])


def test_none_starts_where_none_takes_it() -> None:
    with pytest.raises(UndecidedError) as refused:
        select_runbook([life("big", BIG), life("huge", "trigger.amount > 1000")], None, {"amount": 1})
    said = "big version 1 takes it when trigger.amount > 100; huge version 1 takes it when trigger.amount > 1000"
    assert str(refused.value) == f"no runbook takes this trigger of type pay: {said}"


def test_none_starts_where_several_take_it() -> None:
    with pytest.raises(UndecidedError) as refused:
        select_runbook([*TWO, life("all", ALL)], None, {"amount": 7})
    said = "all version 1 and small version 1 take this trigger of type pay: one alone may"
    assert str(refused.value) == said


def test_none_starts_where_it_cannot_be_said_of_one_whether_it_takes_it() -> None:
    with pytest.raises(UndecidedError, match="whether big version 1 takes this trigger cannot be said: when: "):
        select_runbook(TWO, None, {})


def test_one_alone_that_says_when_takes_no_other_trigger() -> None:
    assert select_runbook([life("big", BIG)], None, {"amount": 101})[1] == [life("big", BIG)]
    with pytest.raises(UndecidedError, match="no runbook takes this trigger"):
        select_runbook([life("big", BIG)], None, {"amount": 1})


def test_of_each_name_the_version_is_looked_at_that_would_start() -> None:
    lives = [life("big", "true", 1), life("big", BIG, 2), life("small", SMALL, 2), life("small", "true", 3, RETIRED)]
    assert select_runbook(lives, None, {"amount": 7})[0] == life("small", SMALL, 2)
    assert select_runbook(lives, 1, {"amount": 7})[0] == life("big", "true", 1)
    with pytest.raises(NotActiveError, match="has no version 9"):
        select_runbook(lives, 9, {"amount": 7})


def test_where_none_says_when_there_is_nothing_to_choose() -> None:
    lives = [life("only", None, 1), life("only", None, 2)]
    assert select_runbook(lives, None, {}) == (version_to_start(lives, None), ())


@given(st.lists(st.sampled_from([BIG, SMALL, ALL, "false"]), min_size=1, max_size=4), st.integers(-5, 300))
def test_what_starts_takes_it_and_no_other_does_in_whatever_order_they_come(whens: list[str], amount: int) -> None:
    lives = [life(f"r{number}", when) for number, when in enumerate(whens)]
    holds = {BIG: amount > 100, SMALL: amount <= 100, ALL: amount > 0, "false": False}
    taking = [one for one in lives if holds[one.when or ""]]
    for ordered in (lives, lives[::-1]):
        if len(taking) == 1:
            assert select_runbook(ordered, None, {"amount": amount}) == (taking[0], lives)
        else:
            with pytest.raises(UndecidedError):
                select_runbook(ordered, None, {"amount": amount})


def _claiming(folder: Path, *whens: str | None) -> Catalog:
    """Load runbooks that take one type of triggers, each under its condition."""
    texts = {}
    for name, when in zip("abc", whens, strict=False):
        said = f'type: desk.probe, when: "{when}"' if when else "type: desk.probe"
        texts[f"runbooks_{name}"] = runbook(name).replace("type: desk.probe", said)
    return load(GOOD, pack(folder, **texts))


def test_two_names_may_take_one_type_where_each_says_when(tmp_path: Path) -> None:
    catalog = _claiming(tmp_path, "has(trigger.a)", "!has(trigger.a)")
    assert (catalog.problems, catalog.unavailable) == ((), frozenset())
    kept = catalog.definitions["a", 1]
    assert loads(kept.canonical)["trigger"]["when"] == kept.when == "has(trigger.a)"
    assert from_canonical(kept.canonical) == kept


@pytest.mark.parametrize("whens", [("true", None), ("true", "true"), ("true", "false", "true")])
def test_two_names_may_not_take_one_type_where_one_takes_all_or_two_say_the_same(
    tmp_path: Path, whens: Sequence[str | None]
) -> None:
    catalog = _claiming(tmp_path, *whens)
    names = "abc"[: len(whens)]
    said = f"the trigger type 'desk.probe' is claimed by {' and '.join(names)}, and each has to say another 'when'"
    assert [problem.message for problem in catalog.problems] == [said] * len(names)
    assert catalog.unavailable == set(names)


def test_a_runbook_that_takes_each_trigger_says_nothing_of_when(tmp_path: Path) -> None:
    assert "when" not in loads(_claiming(tmp_path, None).definitions["a", 1].canonical)["trigger"]


DRAFT, NOW_ACTIVE, NOW_RETIRED = DefinitionStatus.DRAFT, DefinitionStatus.ACTIVE, DefinitionStatus.RETIRED
STATUSES = st.lists(st.sampled_from(DefinitionStatus), min_size=1, max_size=5)
DIGESTS = {
    ACTIVATE: "bd4ba365187ae9fb7972a9e317af263403d51b133b43ceacc7ee35e213f028fc",
    RETIRE: "9095156227ae07b79aef209fa911938fd9a9b21a2f95e259f8d7048072466463",
    ("countersign-activate-policy", 1): "05986d78a6c68dacba16d358c7f415d0917d87415512e3544c4efac53a06351f",
    ("countersign-rollback-policy", 1): "ca7870ff8958732e427ccb62cae906490aecd1ae90a566f2247158a0c41d0603",
}
"""Of the program's own definitions. What is stored never changes: another content needs another version."""


def lives(*statuses: DefinitionStatus, name: str = "probe") -> list[RunbookVersion]:
    """Return versions 1, 2, … of a runbook."""
    return [RunbookVersion(name, number, "0" * 64, "t", status) for number, status in enumerate(statuses, 1)]


@given(STATUSES, st.none() | st.integers(1, 6))
def test_only_what_is_active_starts_and_of_that_the_newest(
    statuses: list[DefinitionStatus], version: int | None
) -> None:
    known = lives(*statuses)
    may = [life.version for life in known if life.is_active and version in (None, life.version)]
    if may:
        assert version_to_start(known, version).version == max(may)
    else:
        with pytest.raises(NotActiveError):
            version_to_start(known, version)


@pytest.mark.parametrize(
    ("known", "version", "says"),
    [
        (lives(NOW_RETIRED, DRAFT), None, "probe version 2 is not active but draft: nothing new starts with it"),
        (lives(NOW_RETIRED, NOW_ACTIVE), 1, "probe version 1 is not active but retired: nothing new starts with it"),
        (lives(NOW_ACTIVE), 3, "probe has no version 3"),
        (
            [*lives(NOW_ACTIVE, name="other"), *lives(DRAFT)],
            1000,
            "other has no version 1000",
        ),
    ],
)
def test_what_does_not_start_is_told_with_where_it_stands(
    known: list[RunbookVersion], version: int | None, says: str
) -> None:
    with pytest.raises(NotActiveError) as refused:
        version_to_start(known, version)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("known", "arrived", "first", "newest"),
    [
        (lives(DRAFT), {1}, True, True),
        (lives(DRAFT), set(), True, True),  # a start that was cut off before, or an upgrade
        (lives(DRAFT, DRAFT), {2}, True, True),
        (lives(NOW_ACTIVE, DRAFT), {2}, False, True),
        (lives(NOW_ACTIVE, DRAFT), set(), False, False),  # somebody left it a draft
        (lives(NOW_ACTIVE), set(), False, False),
        (lives(NOW_RETIRED, DRAFT), {2}, False, False),
        (lives(NOW_RETIRED), set(), False, False),
    ],
)
def test_what_a_start_activates(known: list[RunbookVersion], arrived: set[int], *, first: bool, newest: bool) -> None:
    rules = (Activation.FIRST, Activation.NEWEST, Activation.MANUAL)
    found = [activates_by_itself(rule, known[-1].version, known, arrived) for rule in rules]
    assert found == [first, newest, False]


def test_a_start_with_older_files_activates_nothing() -> None:
    known = lives(DRAFT, NOW_RETIRED, NOW_ACTIVE)
    assert not activates_by_itself(Activation.NEWEST, 1, known, {1})


def test_at_a_desk_the_newest_version_starts_unless_somebody_says_otherwise() -> None:
    assert activation_of(Settings()) == "newest"
    for rule in Activation:
        assert activation_of(Settings(activation=rule)) == rule
    assert Settings().activation is Activation.FIRST


def test_the_programs_own_definitions_are_sound_and_stay_what_they_are() -> None:
    own = load_catalog([OWN], unmoving_handlers())
    assert (own.problems, own.warnings) == ((), ())
    assert {key: definition.digest for key, definition in own.definitions.items()} == DIGESTS


WAIT = {"id": "word", "wait": {"signal": "news", "timeout": "P1D"}}
SCHEMA = {"required": ["case"], "properties": {"case": {"type": "string"}, "note": {"type": "string"}}}
ABOUT = {"about": "case:${trigger.case}", "signal": "news"}


def loaded(**trigger: Any) -> LoadedRunbook:
    said = {"type": "t.t", "schema": SCHEMA, **trigger}
    value = {"name": "t", "version": 1, "title": "T", "trigger": said, "steps": [WAIT]}
    return load_runbook(Source("t.yaml", value, {}), {})


def test_a_definition_keeps_what_its_triggers_are_about() -> None:
    definition = loaded(**ABOUT).definition
    assert definition is not None
    assert definition.about == About("case:${trigger.case}", "news")
    assert from_canonical(definition.canonical).about == definition.about
    assert definition_document(definition)["trigger"].items() >= ABOUT.items()


def test_a_definition_whose_triggers_are_about_nothing_says_nothing_of_it() -> None:
    definition = loaded().definition
    assert definition is not None
    assert definition.about is None
    assert definition_document(definition)["trigger"].keys() == {"type", "schema"}


@pytest.mark.parametrize(
    ("trigger", "path", "message"),
    [
        ({"about": "x"}, "trigger", "the key 'signal' is missing: 'about' and 'signal' go together"),
        ({"signal": "news"}, "trigger", "the key 'about' is missing: 'about' and 'signal' go together"),
        ({**ABOUT, "signal": "new"}, "trigger.signal", "no step waits for the signal 'new' (did you mean 'news'?)"),
        ({**ABOUT, "about": "${trigger.cas}"}, "trigger.about", "there is no 'cas' (did you mean 'case'?)"),
        ({**ABOUT, "about": "${run.id}"}, "trigger.about", "unknown variable 'run'"),
        ({**ABOUT, "about": "${state.case}"}, "trigger.about", "unknown variable 'state'"),
        ({**ABOUT, "about": "${trigger.}"}, "trigger.about", "expression"),
        ({**ABOUT, "about": ""}, "trigger.about", "may not be empty"),
        ({**ABOUT, "signal": "No"}, "trigger.signal", "does not match"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_place(trigger: dict[str, Any], path: str, message: str) -> None:
    found = loaded(**trigger)
    assert found.definition is None
    (problem,) = found.problems
    assert str(problem).startswith("t.yaml")
    assert problem.path == path
    assert message in problem.message


@pytest.mark.parametrize(
    ("about", "payload", "message"),
    [
        ("${trigger.note}", {"case": "C1"}, "about: expression 'trigger.note'"),
        ("${trigger.case}", {"case": ""}, "about: a reference has 1 to 256 characters, not 0"),
        ("${trigger.case}", {"case": "x" * 257}, "about: a reference has 1 to 256 characters, not 257"),
    ],
)
def test_a_trigger_that_does_not_say_what_it_is_about_is_refused(
    about: str, payload: dict[str, Any], message: str
) -> None:
    with pytest.raises(TriggerError) as caught:
        reference_of(About(about, "news"), payload)
    assert str(caught.value).startswith(message)
