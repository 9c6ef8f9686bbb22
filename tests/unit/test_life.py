"""What starts, and what comes active by itself: rules over values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countersign.embedded.system import activation_of
from countersign.engine import unmoving_handlers
from countersign.settings import Settings
from runtime.definitions.loading.catalog import OWN, load_catalog
from runtime.inbox.definition_activation import ACTIVATE, RETIRE
from runtime.model.runbook_version import (
    Activation,
    NotActiveError,
    RunbookVersion,
    activates_by_itself,
    version_to_start,
)
from runtime.model.states import DefinitionStatus

DRAFT, ACTIVE, RETIRED = DefinitionStatus.DRAFT, DefinitionStatus.ACTIVE, DefinitionStatus.RETIRED
STATUSES = st.lists(st.sampled_from(DefinitionStatus), min_size=1, max_size=5)
DIGESTS = {
    ACTIVATE: "bd4ba365187ae9fb7972a9e317af263403d51b133b43ceacc7ee35e213f028fc",
    RETIRE: "9095156227ae07b79aef209fa911938fd9a9b21a2f95e259f8d7048072466463",
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
        (lives(RETIRED, DRAFT), None, "probe version 2 is not active but draft: nothing new starts with it"),
        (lives(RETIRED, ACTIVE), 1, "probe version 1 is not active but retired: nothing new starts with it"),
        (lives(ACTIVE), 3, "probe has no version 3"),
        (
            [*lives(ACTIVE, name="other"), *lives(DRAFT)],
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
        (lives(ACTIVE, DRAFT), {2}, False, True),
        (lives(ACTIVE, DRAFT), set(), False, False),  # somebody left it a draft
        (lives(ACTIVE), set(), False, False),
        (lives(RETIRED, DRAFT), {2}, False, False),
        (lives(RETIRED), set(), False, False),
    ],
)
def test_what_a_start_activates(known: list[RunbookVersion], arrived: set[int], *, first: bool, newest: bool) -> None:
    rules = (Activation.FIRST, Activation.NEWEST, Activation.MANUAL)
    found = [activates_by_itself(rule, known[-1].version, known, arrived) for rule in rules]
    assert found == [first, newest, False]


def test_a_start_with_older_files_activates_nothing() -> None:
    known = lives(DRAFT, RETIRED, ACTIVE)
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
