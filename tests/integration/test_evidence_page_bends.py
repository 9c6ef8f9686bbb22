"""Whatever stands where people's acts are told, in leaves and in records: both verifiers come to one judgement."""

import copy
import random
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Page

from evidence.verify.verify import VerificationError, verify
from runtime.services.sealing import Story
from tests.browser import failure_of, verify_page
from tests.integration.evidence_stage import genuine, office, stories
from tests.integration.forger import Forged
from tests.unit import test_evidence_bundle as hostile
from tests.unit.evidence_sample import Office

__all__ = ["genuine", "office", "stories"]

STORIES = (
    *("withdrawn", "changed", "delegated", "glass", "edited", "edited_twice"),
    *("signed", "fell_back", "claimed", "canceled", "prolonged"),
)
EVENTS = {
    *("approval.requested", "approval.fell_back", "approval.handed", "approval.approved", "approval.rejected"),
    *("approval.canceled", "card.shown", "effect.edited", "question.asked", "question.answered", "vote.counted"),
    *("vote.withdrawn", "task.claimed", "task.released", "wait.escalated", "run.cancel_requested"),
    "notification.refused",
}
LEFT_OUT = object()
VALUES = [*hostile.VALUES, LEFT_OUT, "ab\x85", "ab\ufeff", "\U0001f600", "ann", "rita", "0" * 64]
TIMES = 1
"""How many values are put in the place of each part, of each kind of run."""


class Place(NamedTuple):
    """Where something is told: the run, the leaf or record of it, the way to the part, and the same without numbers."""

    story: str
    kind: str
    number: int
    way: tuple[Any, ...]

    @property
    def like(self) -> tuple[Any, ...]:
        """Return what places of one kind have in common."""
        return self.kind, *("#" if isinstance(part, int) else part for part in self.way)


def parts_of(forged: Forged) -> Iterator[tuple[str, int, Any]]:
    """Yield what may be bent: a kind, a number, and the value."""
    for number, leaf in enumerate(forged.leaves):
        if leaf["event"] in EVENTS:
            yield leaf["event"], number, {name: leaf[name] for name in ("actor", "correlation", "data")}
    for number, approval in enumerate(forged.approvals.values()):
        yield "approvals", number, {name: approval[name] for name in approval.keys() - {"cards"}}
    for number, decision in enumerate(forged.decisions.values()):
        yield "decisions", number, {name: decision["input"].get(name) for name in ("votes", "edited", "approval")}


@pytest.fixture(scope="module")
def places(stories: Mapping[str, Story]) -> list[Place]:
    """Return one place of each kind in each run."""
    found = dict[tuple[Any, ...], Place]()
    for story in STORIES:
        for kind, number, value in parts_of(Forged.of(stories[story])):
            for way in hostile.places(value):
                place = Place(story, kind, number, way)
                if way and "acts" not in way[:-1]:
                    found.setdefault((story in ("signed", "glass"), place.like), place)
    return list(found.values())


def bent(forged: Forged, place: Place, value: Any) -> None:
    """Put a value where something else is told, or leave that out."""
    match place.kind:
        case "approvals":
            record = list(forged.approvals.values())[place.number]
        case "decisions":
            record = list(forged.decisions.values())[place.number]["input"]
        case _:
            record = forged.leaves[place.number]
    *way, last = place.way
    for part in way:
        record = record[part]
    if value is LEFT_OUT:
        del record[last]
    else:
        record[last] = copy.deepcopy(value)


def sealed(office: Office, story: Story, place: Place, value: Any, *, is_late: bool) -> bytes | None:
    """Return a bundle that is bent there; None where no bundle can be made of that."""
    forged = Forged.of(story)
    try:
        if is_late:
            return forged.seal(office.key, lambda late: bent(late, place, value))
        bent(forged, place, value)
        return forged.seal(office.key)
    except Exception:  # noqa: BLE001 - whatever the forger and the builder of bundles need
        return None


def judged(office: Office, data: bytes) -> int | None:
    """Return the step at which the program finds a fault; any other exception is a fault of ours."""
    try:
        verify(office.write(data), office.public)
    except VerificationError as error:
        return error.step
    return None


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.mark.parametrize(
    ("way", "value", "is_late"),
    [
        (("questions", 0), None, True),
        (("questions", 0, "answer"), None, False),
        (("requested_at",), "9999-12-31T23:59:59.999999Z", False),
        (("requirement", "expires_in"), "P999999999D", False),
    ],
)
async def test_what_is_in_no_form_or_beyond_the_calendar_is_found_by_both(
    page: Page,
    office: Office,
    stories: Mapping[str, Story],
    places: list[Place],
    way: tuple[Any, ...],
    value: Any,
    *,
    is_late: bool,
) -> None:
    place = next(one for one in places if (one.kind, one.way) == ("approvals", way))
    data = sealed(office, stories[place.story], place, value, is_late=is_late)
    assert data is not None
    shown = await failure_of(page, data, office.public.read_text())
    assert shown is not None
    assert judged(office, data) == shown[0] == 7, shown


async def test_whatever_stands_in_the_place_of_a_part_both_verifiers_come_to_one_judgement(
    page: Page, office: Office, stories: Mapping[str, Story], places: list[Place]
) -> None:
    compared, pem = list[tuple[str, int | None]](), office.public.read_text()
    for place in places:
        chance = random.Random(repr((place.story, place.kind, place.way)))  # noqa: S311 - the same in every run
        for value in chance.sample(VALUES, TIMES):
            is_late = chance.random() < 1 / 2
            if (data := sealed(office, stories[place.story], place, value, is_late=is_late)) is None:
                continue
            found, shown = judged(office, data), await failure_of(page, data, pem)
            assert (place, value, shown and shown[0]) == (place, value, found), shown
            compared.append((place.kind, found))
    assert {kind for kind, _ in compared} == {*EVENTS, "approvals", "decisions"}
    assert {step for _, step in compared} >= {None, 6, 7, 8}
