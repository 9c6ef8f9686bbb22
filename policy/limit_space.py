"""The space of questions about one operation, cut where limits can tell questions apart.

A limit holds where each of its conditions is met. Conditions are about things that do not depend on each other: each
field, the runbook, the groups, who asks, the time. Each of these is an axis; its options are kinds of values, with the
limits that they let through as bits of a number. What counts of a question is which limits hold for it, so options and
cells with the same limits are looked at once.

Several values of a field, or several groups of a person, are asked for the strictest of what each of them is asked for,
so that one at a time tells all. That is not so where limits may contradict each other: then they are looked at, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import and_

from policy.differences import shown_value
from policy.limit_model import Limit, Names, When
from policy.limit_time import moments
from policy.limit_values import TooManyCellsError, Value, another_than, meets, several, values

MOST_CELLS = 100_000
"""Kinds of questions that are looked at for one operation."""

FIELD = "fields."
"""With what the name of a field begins among what a question has."""
_KINDS = [Value(kind, kind) for kind in ("person", "agent", "system")]


@dataclass(frozen=True)
class Option:
    """One kind of value of an axis: the limits that it lets through as bits, and what a question of it has."""

    mask: int
    sets: Mapping[str, Value]


Axis = Sequence[Option]
Placed = Sequence[tuple[int, Limit]]
"""Limits, each with its bit."""


@dataclass(frozen=True)
class Cut:
    """The limits that cut a space, and how far it is looked at.

    Of the members in `partial` not all is looked at: of a field no text, since nobody could say which patterns it
    matches. Lists, and several groups of one person, are looked at only `with_lists`.
    """

    limits: Placed
    partial: frozenset[str] = frozenset()
    with_lists: bool = False

    def mask(self, held: Iterable[bool]) -> int:
        """Return the bits of the limits that hold."""
        return sum(bit for (bit, _), holds in zip(self.limits, held, strict=True) if holds)

    @property
    def all(self) -> int:
        """Return the bits of all limits."""
        return sum(bit for bit, _ in self.limits)

    @property
    def conditions(self) -> list[When]:
        """Return the conditions of each limit."""
        return [limit.when for _, limit in self.limits]


@dataclass(frozen=True)
class Space:
    """The axes, and by the limits that hold the cells: for each the first question, as an option of every axis."""

    cut: Cut
    axes: Sequence[Axis]
    cells: Mapping[int, Sequence[Option]]


def space_of(cut: Cut) -> Space:
    """Return the space that limits cut; raise TooManyCellsError."""
    axes = [axis for axis in map(_distinct, _axes(cut)) if axis]
    cells: dict[int, Sequence[Option]] = {cut.all: ()}
    for axis in axes:
        cells = _fold(cells, axis)
    return Space(cut, axes, cells)


def _fold(cells: Mapping[int, Sequence[Option]], axis: Axis) -> dict[int, Sequence[Option]]:
    if len(cells) * len(axis) > MOST_CELLS:
        raise TooManyCellsError
    found: dict[int, Sequence[Option]] = {}
    for mask, chosen in cells.items():
        for option in axis:
            found.setdefault(mask & option.mask, (*chosen, option))
    return found


def _distinct(options: Iterable[Option]) -> Axis:
    """Return the first option of each that let the same limits through."""
    found: dict[int, Option] = {}
    for option in options:
        found.setdefault(option.mask, option)
        if len(found) > MOST_CELLS:
            raise TooManyCellsError
    return list(found.values())


def plainest(space: Space, cell: Sequence[Option], is_same: Callable[[int], bool]) -> list[Option]:
    """Return those options of a cell's question that matter; `is_same` says of limits whether they ask for the same."""
    kept = dict(enumerate(cell))
    around = {-1}
    for place, axis in enumerate(space.axes):
        rest = reduce(and_, (option.mask for at, option in kept.items() if at != place), -1)
        names = {name for option in axis for name in option.sets}
        if names & space.cut.partial or len(around) * len(axis) > MOST_CELLS:
            continue
        tried = {mask & option.mask for mask in around for option in axis}
        if all(is_same(rest & mask) for mask in tried):
            around = tried
            del kept[place]
    return list(kept.values())


def _axes(cut: Cut) -> Iterator[Iterable[Option]]:
    paths = sorted({path for when in cut.conditions for path in when.fields or ()})
    for path in paths:
        if not any(_is_below(path, other) for other in paths):
            yield _of_field(cut, path, paths)
    yield _of_actor(cut)
    yield _of_names(cut, "runbook")
    yield _together(cut, _of_names(cut, "requester_groups"))
    at = moments([limit for _, limit in cut.limits])
    yield (Option(cut.mask(held), {"time": moment}) for moment, held in at)


def _of_names(cut: Cut, member: str) -> Iterator[Option]:
    """Yield another name than limits list for a member of their conditions, and each of those; nothing without any."""
    listed: list[Names | None] = [getattr(when, member) for when in cut.conditions]
    if any(listed):
        for value in _names(cut, member):
            yield Option(cut.mask(of is None or value.json in of for of in listed), {member: value})


def _names(cut: Cut, *members: str) -> list[Value]:
    """Return another name than limits list, and of each set of names that the same limits list the first."""
    listed: list[Names] = [getattr(when, member) or frozenset() for when in cut.conditions for member in members]
    found: dict[tuple[bool, ...], str] = {}
    for name in sorted(frozenset().union(*listed)):
        found.setdefault(tuple(name in of for of in listed), name)
    return [another_than(frozenset().union(*listed)), *(Value(name, shown_value(name)) for name in found.values())]


def _of_actor(cut: Cut) -> Iterator[Option]:
    """Yield who may ask: an agent is the caller that sent the run, or a requester that is one."""
    members = ("requester", "requester_kind", "agent")
    matter = {member for member in members for when in cut.conditions if getattr(when, member)}
    if not matter:
        return
    people, callers = _names(cut, "requester", "agent"), _names(cut, "agent")
    if len(people) * len(callers) * len(_KINDS) > MOST_CELLS:
        raise TooManyCellsError
    for kind, who, caller in product(_KINDS, people, callers):
        held = (_is_asked_by(when, who.json, kind.json, caller.json) for when in cut.conditions)
        said = matter | ({"requester", "requester_kind"} if kind.json == "agent" else set())
        values = zip(members, (who, kind, caller), strict=True)
        yield Option(cut.mask(held), {member: value for member, value in values if member in said})


def _is_asked_by(when: When, who: str, kind: str, caller: str) -> bool:
    agents = {caller, who} if kind == "agent" else {caller}
    return (
        (when.requester is None or who in when.requester)
        and (when.requester_kind is None or kind in when.requester_kind)
        and (when.agent is None or not agents.isdisjoint(when.agent))
    )


def _is_below(path: str, other: str) -> bool:
    """Return whether a field is within another one."""
    return path.startswith(f"{other}.")


def _of_field(cut: Cut, path: str, paths: Sequence[str]) -> Iterator[Option]:
    """Yield values of a field, and of those within it: where it has any of these, it is no value that can be read."""
    yield from _together(cut, _of_values(cut, path))
    below = [other for other in paths if _is_below(other, path)]
    cells: dict[int, Sequence[Option]] = {cut.all: ()}
    for other in below:
        if not any(_is_below(other, between) for between in below):
            cells = _fold(cells, _distinct(_of_field(cut, other, below)))
    if below:
        for mask, chosen in cells.items():
            yield Option(mask, {name: value for option in chosen for name, value in option.sets.items()})


def _of_values(cut: Cut, path: str) -> Iterator[Option]:
    name = f"{FIELD}{path}"
    tests = [(when.fields or {}).get(path) for when in cut.conditions]
    for value in values([test for test in tests if test], with_texts=name not in cut.partial):
        yield Option(cut.mask(test is None or meets(test, value) for test in tests), {name: value})


def _together(cut: Cut, options: Iterable[Option]) -> Iterator[Option]:
    """Yield options of one member, and those of several values at once: a limit holds if it does for one of them."""
    found: dict[int, Sequence[Option]] = {}
    for option in options:
        yield option
        for mask, others in [(0, ()), *found.items()] if cut.with_lists else ():
            found.setdefault(mask | option.mask, (*others, option))
        if len(found) > MOST_CELLS:
            raise TooManyCellsError
    for mask, chosen in found.items():
        sets = [option.sets for option in chosen]
        yield Option(mask, {name: several([one[name] for one in sets]) for name in sets[0]})
