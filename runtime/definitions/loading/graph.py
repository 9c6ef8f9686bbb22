"""The graph of a runbook's steps: an order that does not depend on how the file lists them, and its cycles."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from runtime.definitions.model import Edge, EdgeKind

Sources = Mapping[str, Iterable[str]]


def edges_between(data: Sources, sequence: Sources, orders: Sources = MappingProxyType({})) -> tuple[Edge, ...]:
    """Return the edges that make steps wait: each maps a step to those it waits for; the first that has one wins."""
    kinds: dict[tuple[str, str], EdgeKind] = {}
    for kind, of in ((EdgeKind.ORDER, orders), (EdgeKind.SEQUENCE, sequence), (EdgeKind.DATA, data)):
        kinds |= {(source, target): kind for target, sources in of.items() for source in sources}
    return tuple(Edge(source, target, kind) for (source, target), kind in sorted(kinds.items()))


def order(steps: Iterable[str], edges: Iterable[Edge]) -> tuple[list[str], list[list[str]]]:
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
