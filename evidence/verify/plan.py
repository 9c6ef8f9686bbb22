"""The tree of a definition's steps: what stands in what, who waits for whom, and which paths there can be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from evidence.reading.paths import address_of, block_of, inside, iterated, near, parts_of, place_of
from evidence.verify.definition import DefinitionForm, StepForm, VerbForm

BODY = "do"
"""The branch of what stands in an iteration, or in a branch of an ending."""
ORDER = "order"

Block = tuple[str, str]
"""The path of what holds it, an iteration where that is repeated, and the branch; ("", "") is the whole definition."""


@dataclass(frozen=True)
class Plan:
    """A definition's steps by their addresses, in its order."""

    definition: DefinitionForm
    _known: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> Mapping[str, StepForm]:
        """Return the steps by their addresses."""
        return {step.id: step for step in self.definition.steps}

    def node(self, path: str) -> StepForm:
        """Return the step of the definition that stands at a path."""
        return self.nodes[address_of(path)]

    def verb(self, path: str) -> VerbForm | None:
        """Return the verb of the step at a path, None for none. It waits as the step says, where that says so."""
        step = self.nodes.get(address_of(path))
        verb = self.definition.verbs.get(step.verb) if step else None
        if step is None or verb is None:
            return verb
        own = {"timeout": step.timeout, "escalation": step.escalation}
        said = {name: value for name, value in own.items() if value is not None}
        return verb.model_copy(update={"execution": verb.execution.model_copy(update=said)}) if said else verb

    def knows(self, path: str) -> bool:
        """Return whether there can be a step at this path."""
        if path not in self._known:
            self._known[path] = path in self.nodes if "." not in path and "[" not in path else self._fits(path)
        return self._known[path]

    def _fits(self, path: str) -> bool:
        """Each part is a step; only what is repeated has a number, and must where others stand in an iteration."""
        parts = parts_of(path)
        if parts is None or any(address not in self.nodes for address, _, _ in parts):
            return False
        kinds = [self.nodes[address].kind for address, _, _ in parts]
        if any(is_numbered and kind != "repeat" for kind, (_, _, is_numbered) in zip(kinds, parts, strict=True)):
            return False
        inner = zip(kinds, kinds[1:], parts, strict=False)
        return all(
            not part[2] and kind != "branch" if within == "branch" else part[2] or kind in ("switch", "branch")
            for kind, within, part in inner
        )

    def needs(self, path: str) -> list[str]:
        """Return the paths of the steps for which the one at a path waits."""
        return [] if iterated(path) else [near(address, path) for address in self._needs.get(address_of(path), ())]

    def skips_with(self, path: str) -> list[str]:
        """Return those of them without which it is skipped, too."""
        return [] if iterated(path) else [near(address, path) for address in self._skips.get(address_of(path), ())]

    def block(self, block: Block) -> list[str]:
        """Return the paths of the steps in a block."""
        holder, branch = block
        return [inside(holder, address) for address in self._blocks.get((address_of(holder), branch), ())]

    def block_of(self, path: str) -> Block:
        """Return the block in which the step at a path stands."""
        return block_of(path), self.node(path).within

    def branches(self, path: str) -> frozenset[str]:
        """Return the endings of the step at a path that have steps of their own."""
        found = self._blocks.get((address_of(path), ""), ()) if path and not iterated(path) else ()
        return frozenset(one.rpartition(".")[2] for one in found if self.nodes[one].kind == "branch")

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Return paths as the definition orders its steps; iterations by their numbers."""
        return sorted(paths, key=lambda path: (self._places[address_of(path)], place_of(path)))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {address: place for place, address in enumerate(self.nodes)}

    @cached_property
    def _needs(self) -> Mapping[str, list[str]]:
        return _grouped((edge.target, edge.source) for edge in self.definition.edges)

    @cached_property
    def _skips(self) -> Mapping[str, list[str]]:
        return _grouped((edge.target, edge.source) for edge in self.definition.edges if edge.kind != ORDER)

    @cached_property
    def _blocks(self) -> Mapping[Block, list[str]]:
        found: dict[Block, list[str]] = {}
        for address, step in self.nodes.items():
            found.setdefault((block_of(address), step.within), []).append(address)
        return found


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return {one: sorted(set(others)) for one, others in found.items()}
