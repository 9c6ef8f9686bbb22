"""Which runbook a trigger starts where several take its type: exactly one, by what each says, or none at all."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.canonical import loads
from runtime.definitions.canonical import from_canonical
from runtime.definitions.loading.catalog import Catalog
from runtime.model.runbook_version import NotActiveError, RunbookVersion, version_to_start
from runtime.model.states import DefinitionStatus
from runtime.planning.runbook_selection import UndecidedError, select_runbook
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
