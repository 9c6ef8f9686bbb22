"""Tree of a runbook's steps, laid out flat: each with its address, its block, and what it waits for.

The order of the steps does not depend on how the file lists them; cycles are found.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

from runtime.definitions.cel.tokens import Reference
from runtime.definitions.loading.node_shapes import StepShape
from runtime.definitions.model import Edge, EdgeKind
from runtime.definitions.nodes import BODY, OTHERWISE, case
from runtime.definitions.problems import Path
from runtime.definitions.scope import references_in, references_in_condition, steps_of
from runtime.model.steps import around, block_of, id_of, inside

Sources = Mapping[str, Iterable[str]]


def edges_between(data: Sources, sequence: Sources, orders: Sources = MappingProxyType({})) -> tuple[Edge, ...]:
    """Return the edges that make steps wait: each maps a step to those it waits for; the first that has one wins."""
    kinds: dict[tuple[str, str], EdgeKind] = {}
    for kind, of in ((EdgeKind.ORDER, orders), (EdgeKind.SEQUENCE, sequence), (EdgeKind.DATA, data)):
        kinds |= {(source, target): kind for target, sources in of.items() for source in sources}
    return tuple(Edge(source, target, kind) for (source, target), kind in sorted(kinds.items()))


def order_of(steps: Iterable[str], edges: Iterable[Edge]) -> tuple[list[str], list[list[str]]]:
    """Return the steps, needed ones first and else by name, and every cycle, each from its first name to it again."""
    needs: dict[str, set[str]] = {step: set() for step in steps}
    for edge in edges:
        needs[edge.target].add(edge.source)
    ordered: list[str] = []
    cycles: list[list[str]] = []
    while needs:
        free = min((step for step, sources in needs.items() if not sources), default=None)
        if free is None:
            cycles.append(_cycle(needs))
            _cut(needs, cycles[-1])
            continue
        ordered.append(free)
        del needs[free]
        for sources in needs.values():
            sources.discard(free)
    return ordered, cycles


def _cycle(needs: Mapping[str, set[str]]) -> list[str]:
    """Return a cycle in the direction of the work, given that every step still needs another."""
    trail = [min(needs)]
    while (before := min(needs[trail[-1]])) not in trail:
        trail.append(before)
    loop = trail[trail.index(before) :][::-1]
    first = loop.index(min(loop))
    return [*loop[first:], *loop[:first], loop[first]]


def _cut(needs: Mapping[str, set[str]], cycle: list[str]) -> None:
    """Forget one need of `cycle`, so that the search goes on behind it."""
    needs[cycle[1]].discard(cycle[0])


Block = tuple[str, str]
"""The address of what holds it, and the branch: ("", "") is the runbook itself."""


@dataclass(frozen=True)
class Placed:
    """A step where it stands, `path` in the file. One without a shape is a branch of the step around it."""

    address: str
    branch: str
    path: Path
    shape: StepShape | None

    @property
    def block(self) -> Block:
        """Return the block in which it stands."""
        return block_of(self.address), self.branch


def placed_steps(
    steps: Sequence[StepShape], path: Path = ("steps",), holder: str = "", branch: str = ""
) -> Iterator[Placed]:
    """Yield every step, each before those that stand inside it."""
    for index, shape in enumerate(steps):
        address, here = inside(holder, shape.id), (*path, index)
        yield Placed(address, branch, here, shape)
        for name, place, inner in _blocks(shape):
            yield from placed_steps(inner, (*here, *place), address, name)
        for ending, inner in shape.on.blocks().items() if shape.on else ():
            yield Placed(inside(address, ending), "", (*here, "on", ending), None)
            yield from placed_steps(inner, (*here, "on", ending), inside(address, ending), BODY)


def _blocks(shape: StepShape) -> Iterator[tuple[str, Path, Sequence[StepShape]]]:
    if shape.repeat:
        yield BODY, ("repeat", "do"), shape.repeat.do
    if shape.switch:
        for number, one in enumerate(shape.switch.cases, 1):
            yield case(number), ("switch", "cases", number - 1, "do"), one.do
        yield OTHERWISE, ("switch", "else"), shape.switch.else_ or ()


@dataclass(frozen=True)
class Tree:
    """The steps of a runbook by their addresses."""

    steps: Mapping[str, Placed]

    @classmethod
    def of(cls, steps: Iterable[Placed]) -> "Tree":
        """Return the tree of these; where two have one address, the first counts."""
        found: dict[str, Placed] = {}
        for one in steps:
            found.setdefault(one.address, one)
        return cls(found)

    @cached_property
    def blocks(self) -> Mapping[Block, list[str]]:
        """Return the addresses in each block, as the file lists them; branches stand in none."""
        found: dict[Block, list[str]] = {}
        for one in self.steps.values():
            if one.shape is not None:
                found.setdefault(one.block, []).append(one.address)
        return found

    def visible(self, address: str) -> Mapping[str, str]:
        """Return the addresses of the steps that the expressions of a step may name, by their ids.

        They stand in its block, or in one around it. It may name the step whose ending it follows, and no other in
        which it stands.
        """
        block = self.steps[address].block
        if block not in self._visible:
            self._visible[block] = self._visible_in(address)
        return self._visible[block]

    @cached_property
    def _visible(self) -> dict[Block, Mapping[str, str]]:
        return {}

    def _visible_in(self, address: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for one in reversed([address, *around(address)]):
            found |= {id_of(near): near for near in self.blocks.get(self.steps[one].block, ())}
        for one in around(address):
            if self.steps[one].shape is not None and not self._follows(address, one):
                found.pop(id_of(one), None)
        return found

    def _follows(self, address: str, holder: str) -> bool:
        """Return whether a step stands in a branch of the other's ending."""
        return any(self.steps[one].shape is None and block_of(one) == holder for one in around(address))

    def named(self, address: str) -> set[str]:
        """Return the addresses that the expressions of a step name, those of its own block inside it left out."""
        shape, visible = self.steps[address].shape, self.visible(address)
        return set() if shape is None else {visible[name] for name in steps_of(references_of(shape)) if name in visible}

    def edges(self) -> tuple[Edge, ...]:
        """Return who waits for whom: a step for those that it names, and what it stands in for them as well."""
        data: dict[str, set[str]] = {address: set() for address in self.steps}
        orders: dict[str, set[str]] = {address: set() for address in self.steps}
        for address in self.steps:
            data[address] |= self.named(address)
            for target in data[address]:
                orders_of = (one for one in around(address) if self.steps[one].block == self.steps[target].block)
                for holder in orders_of:
                    if holder != target:
                        orders[holder].add(target)
        for addresses in self.blocks.values():
            for before, address in self._one_after_the_other(addresses):
                orders[address].add(before)
        return edges_between(data, self._needs(), orders)

    def _one_after_the_other(self, addresses: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield what comes right before each step of an inner block that does not say what it needs."""
        for before, address in pairwise(addresses):
            shape = self.steps[address].shape
            if "." in address and shape is not None and shape.needs is None:
                yield before, address

    def _needs(self) -> dict[str, set[str]]:
        found = {}
        for address, one in self.steps.items():
            beside = set(self.blocks[one.block]) if one.shape else set()
            needs = one.shape.needs if one.shape else None
            found[address] = {inside(block_of(address), name) for name in needs or ()} & beside
        return found

    def order(self, edges: Iterable[Edge]) -> tuple[list[str], list[list[str]]]:
        """Return the addresses as a definition lists them, and the cycles: of each block by itself."""
        beside: dict[Block, list[Edge]] = {block: [] for block in self.blocks}
        for edge in edges:
            if self.steps[edge.source].block == (block := self.steps[edge.target].block):
                beside[block].append(edge)
        ordered, cycles = {}, []
        for block, addresses in self.blocks.items():
            ordered[block], found = order_of(addresses, beside[block])
            cycles += found
        return list(self._down(("", ""), ordered)), cycles

    def _down(self, block: Block, ordered: Mapping[Block, list[str]]) -> Iterator[str]:
        for address in ordered.get(block, ()):
            yield address
            for inner in self._inner.get(address, ()):
                if inner[0] != address:
                    yield inner[0]
                yield from self._down(inner, ordered)

    @cached_property
    def _inner(self) -> Mapping[str, list[Block]]:
        """Return the blocks in each step, those of its branches among them."""
        found: dict[str, list[Block]] = {}
        for holder, branch in self.blocks:
            if holder:
                step = holder if self.steps[holder].shape else block_of(holder)
                found.setdefault(step, []).append((holder, branch))
        return found


def references_of(shape: StepShape) -> set[Reference]:
    """Return what a step's own expressions read, the steps inside it left out."""
    found = references_in([shape.params, shape.set, shape.reference, shape.until]) | references_in_condition(shape.when)
    for one in shape.switch.cases if shape.switch else ():
        found |= references_in_condition(one.when)
    if repeat := shape.repeat:
        inner = references_in(repeat.collect) | references_in_condition(repeat.until)
        own = {step.id for step in repeat.do}
        found |= {one for one in inner if not steps_of([one]) & own}
        found |= references_in(repeat.for_each) | references_in_condition(repeat.while_)
    for run in (shape.run, shape.continue_with):
        found |= references_in([run.trigger, run.until]) if run else set()
    if wait := shape.wait:
        found |= references_in([wait.for_, wait.until, wait.timeout])
    return found | (references_in(shape.end.result) if shape.end else set())
