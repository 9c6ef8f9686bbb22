"""Changes of a tenant's limits, by what they ask for: over all questions, not limit by limit.

To rename a limit, or to write it as two, changes nothing. For each operation and each member of what is asked for it is
said whether the new limits ask for less (`wider`), for more (`narrower`), or neither (`other`), with an example. What
cannot be compared is named, and is `other`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from policy.direction import Direction
from policy.limit_demand import MEMBERS, Demand, Listed, Order, demand_of, orders
from policy.limit_model import Limit, Tenant, read_tenant
from policy.limit_space import FIELD, MOST_CELLS, Cut, Space, plainest, space_of
from policy.limit_values import TooManyCellsError
from policy.limit_words import as_json, asked, shortened, was_and_is

SAME = "written differently; for all that the tenant lists they ask for the same"

TOO_MANY = "is not compared: limits tell too many kinds of questions apart"
MOST_IN_ALL = 2 * MOST_CELLS
"""Cells that are looked at for one tenant."""


@dataclass(frozen=True)
class LimitChange:
    """A change of what limits ask for, by operation and member, with old and new demand, and an example in words."""

    path: tuple[str, ...]
    old: Any
    new: Any
    direction: Direction
    example: str


def limit_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], *, most: int = MOST_IN_ALL
) -> list[LimitChange] | None:
    """Return the changes between the limits of two configurations of a tenant; None if one of them does not parse.

    Once `most` cells have been looked at, further operations are not compared.
    """
    was, now = read_tenant(old), read_tenant(new)
    if was is None or now is None:
        return None
    found = list(_Comparison(was, now).changes(most))
    if found or old.get("limits") == new.get("limits"):
        return found
    return [LimitChange((), sorted(was.limits), sorted(now.limits), Direction.SAME, SAME)]


@dataclass(frozen=True)
class _Matter:
    """What one or more operations have in common: the limits that may hold, and what is listed of both sides."""

    was: Sequence[tuple[int, Limit]]
    now: Sequence[tuple[int, Limit]]
    listed: tuple[Listed, Listed]

    @property
    def differs(self) -> bool:
        """Return whether limits differ in more than names and comments."""
        return sorted(limit.meaning for _, limit in self.was) != sorted(limit.meaning for _, limit in self.now)

    @property
    def partial(self) -> frozenset[str]:
        """Return the members of questions that are not compared as a whole."""
        return frozenset((*(f"{FIELD}{path}" for path in _patterns(self)), *(["time"] if _zones(self) else [])))

    @property
    def may_contradict(self) -> bool:
        """Return whether several times of the week are named to carry it out."""
        windows = [limit.execute for _, limit in (*self.was, *self.now)] + [one.execute for one in self.listed]
        weeks = [(one.between, one.time_zone) for one in windows if one and one.between]
        return any(week != weeks[0] for week in weeks)


class _Comparison:
    """The limits of two configurations, each with a bit, and the space of questions for each operation."""

    def __init__(self, was: Tenant, now: Tenant) -> None:
        self._was, self._now = was, now
        self._limits = [*was.limits.values(), *now.limits.values()]
        self._spaces: dict[tuple[int, ...], Space | None] = {}
        self._pairs: dict[tuple[int, int], bool] = {}

    def changes(self, most: int) -> Iterator[LimitChange]:
        """Yield what changes for each operation that may still be done."""
        looked_at = 0
        for name, matter in self._matters.items():
            if not matter.differs:
                continue
            yield from _not_compared(name, matter)
            space = self._space(matter)
            looked_at += len(space.cells) if space else 0
            if space is None or looked_at > most:
                yield LimitChange((name,), None, None, Direction.OTHER, f"{name} {TOO_MANY}")
            else:
                yield from _Compared(name, matter, space, orders(self._contained)).changes()

    @cached_property
    def _matters(self) -> dict[str, _Matter]:
        return {
            f"{connector}::{operation}": self._matter(connector, operation)
            for connector, entry in sorted(self._now.connectors.items())
            for operation in sorted(entry.operations)
        }

    def _matter(self, connector: str, operation: str) -> _Matter:
        limits = enumerate(self._limits)
        placed = [(1 << place, limit) for place, limit in limits if limit.when.concerns(connector, operation)]
        edge = 1 << len(self._was.limits)
        was, now = ([one for one in placed if (one[0] < edge) is is_old] for is_old in (True, False))
        listed = self._listed(self._was, connector, operation), self._listed(self._now, connector, operation)
        return _Matter(was, now, listed)

    def _listed(self, side: Tenant, connector: str, operation: str) -> Listed:
        """Return what a side lists; an operation that is new counts as if the old side had listed it without limits."""
        now = self._now.connectors[connector]
        entry = side.listed(connector, operation) or now.operations[operation]
        return Listed(connector, operation, now.chat, entry.tier, entry.execute, side.writes_per_run)

    def _space(self, matter: _Matter) -> Space | None:
        """Return the space of an operation, shared by those of the same limits; None if it is too large."""
        limits = [*matter.was, *matter.now]
        key = matter.may_contradict, *(bit for bit, _ in limits)
        if key not in self._spaces:
            try:
                self._spaces[key] = space_of(Cut(limits, matter.partial, matter.may_contradict))
            except TooManyCellsError:
                self._spaces[key] = None
        return self._spaces[key]

    def _contained(self, one: int, other: int) -> bool:
        """Return whether a limit, by its bit, holds for nothing that is counted without another one."""
        if (one, other) not in self._pairs:
            first, second = (self._limits[bit.bit_length() - 1] for bit in (one, other))
            self._pairs[one, other] = (first.when, first.effective_from) == (second.when, second.effective_from) or all(
                self._is_contained(matter, one, other) for matter in self._matters.values()
            )
        return self._pairs[one, other]

    def _is_contained(self, matter: _Matter, one: int, other: int) -> bool:
        if matter.listed[1].chat or all(bit != one for bit, _ in (*matter.was, *matter.now)):
            return True
        if matter.partial:
            return False
        space = self._space(matter)
        return space is not None and not any(mask & one and not mask & other for mask in space.cells)


def _patterns(matter: _Matter) -> dict[str, tuple[list[str], list[str]]]:
    """Return the fields of which the two sides match texts with unequal patterns, and the patterns of each side."""
    was, now = _patterns_of(matter.was), _patterns_of(matter.now)
    return {path: (was[path], now[path]) for path in sorted(was.keys() & now.keys()) if was[path] != now[path]}


def _patterns_of(limits: Sequence[tuple[int, Limit]]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for _, limit in limits:
        for path, test in (limit.when.fields or {}).items():
            if test.matches is not None:
                found.setdefault(path, set()).add(test.matches)
    return {path: sorted(patterns) for path, patterns in found.items()}


def _zones(matter: _Matter) -> tuple[list[str], list[str]] | None:
    """Return the time zones of each side if there are several: how far apart they are differs by the season."""
    was, now = (
        sorted({limit.when.time.time_zone for _, limit in side if limit.when.time}) for side in (matter.was, matter.now)
    )
    return (was, now) if len({*was, *now}) > 1 else None


def _not_compared(name: str, matter: _Matter) -> Iterator[LimitChange]:
    """Yield what cannot be compared of an operation; the rest of it is."""
    for path, (was, now) in _patterns(matter).items():
        what = f"{name}: texts of {path} are not compared, their patterns differ"
        yield _unknown((name, f"when.fields.{path}.matches"), was, now, what)
    if zones := _zones(matter):
        what = f"{name}: not all times are compared, since there are several time zones"
        yield _unknown((name, "when.time.time_zone"), *zones, what)


def _unknown(path: tuple[str, ...], was: Any, now: Any, what: str) -> LimitChange:
    words = f"{what}: {was_and_is(path[-1], was, now)}"
    return LimitChange(path, was, now, Direction.OTHER, shortened(words))


@dataclass
class _Found:
    """The first cell of each direction in which a member differs."""

    cells: dict[Direction, int] = field(default_factory=dict)

    def add(self, direction: Direction, mask: int) -> None:
        self.cells.setdefault(direction, mask)

    @property
    def examples(self) -> tuple[Direction, list[int]]:
        """Return the direction of all cells together, and the cells that show it."""
        if Direction.OTHER in self.cells or len(self.cells) == 1:
            direction = Direction.OTHER if Direction.OTHER in self.cells else next(iter(self.cells))
            return direction, [self.cells[direction]]
        return Direction.OTHER, [self.cells[one] for one in (Direction.WIDER, Direction.NARROWER)]


class _Compared:
    """What the two sides ask for of one operation, cell by cell."""

    def __init__(self, name: str, matter: _Matter, space: Space, by_member: Mapping[str, Order]) -> None:
        self._name, self._space, self._orders = name, space, by_member
        self._sides = tuple(zip((matter.was, matter.now), matter.listed, strict=True))
        self._known: dict[tuple[int, int], Demand] = {}

    def changes(self) -> Iterator[LimitChange]:
        """Yield a change for each member that differs."""
        found: dict[str, _Found] = {}
        for mask in self._space.cells:
            for member, direction in self._judged(*self._demands(mask)):
                found.setdefault(member, _Found()).add(direction, mask)
        yield from (self._change(member, found[member]) for member in MEMBERS if member in found)

    def _demands(self, mask: int) -> tuple[Demand, Demand]:
        was, now = (self._demand(side, mask) for side in (0, 1))
        return was, now

    def _demand(self, side: int, mask: int) -> Demand:
        limits, listed = self._sides[side]
        held = [one for one in limits if one[0] & mask]
        key = (side, sum(bit for bit, _ in held))
        if key not in self._known:
            self._known[key] = demand_of(held, listed)
        return self._known[key]

    def _judged(self, was: Demand, now: Demand) -> Iterator[tuple[str, Direction]]:
        for member, asks_as_much in self._orders.items():
            if member in was.by_limits and was.by_limits[member] == now.by_limits[member]:
                continue  # what the list says by itself has its own row
            one, other = getattr(was, member), getattr(now, member)
            less, more = not asks_as_much(other, one), not asks_as_much(one, other)
            if less or more:
                yield member, Direction.OTHER if less and more else Direction.WIDER if less else Direction.NARROWER

    def _change(self, member: str, found: _Found) -> LimitChange:
        direction, masks = found.examples
        was, now = self._values(member, masks[0])
        words = "; ".join(self._example(member, mask) for mask in masks)
        return LimitChange((self._name, member), as_json(was), as_json(now), direction, shortened(words))

    def _values(self, member: str, mask: int) -> tuple[Any, Any]:
        was, now = (getattr(one, member) for one in self._demands(mask))
        return was, now

    def _example(self, member: str, mask: int) -> str:
        values = self._values(member, mask)
        options = plainest(self._space, self._space.cells[mask], lambda other: self._values(member, other) == values)
        return f"{asked(self._name, options)}: {was_and_is(member, *map(as_json, values))}"
