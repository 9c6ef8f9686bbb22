"""Steps of a runbook: what each may name, what is wrong with it, and the node that it becomes.

Business state: no two steps side by side read and write the same key (design, 16, D6).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from runtime.definitions.durations import parse_duration
from runtime.definitions.loading.node_checks import Verbs, does, node_findings
from runtime.definitions.loading.node_shapes import MAY_BRANCH, StepShape
from runtime.definitions.loading.step_tree import Block, Placed, Tree, references_of
from runtime.definitions.loading.timing import declared_escalation, declared_reminders, declared_retry, waiting_rules
from runtime.definitions.model import Edge, StepDefinition
from runtime.definitions.nodes import (
    BranchName,
    BranchSpec,
    EndSpec,
    NodeKind,
    OnError,
    ReferenceSpec,
    RepeatSpec,
    SetSpec,
    Spec,
    SwitchSpec,
    WaitSpec,
)
from runtime.definitions.problems import Finding, hint
from runtime.definitions.schemas import Schema, normalise
from runtime.definitions.scope import TEXT, Scope
from runtime.model.steps import around, block_of, id_of

EVERY = "*"
"""Read where an expression takes the state as a whole."""


@dataclass
class Touched:
    """Keys of the state that a step, with all that stands in it, reads and writes."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def clash(self, other: "Touched") -> str | None:
        """Return a key that one of the two writes and the other reads or writes."""
        for one, two in ((self, other), (other, self)):
            for key in sorted(one.writes):
                if key in two.writes or key in two.reads or EVERY in two.reads:
                    return key
        return None


def clashes(
    block: Sequence[str], edges: Iterable[Edge], touched: Mapping[str, Touched]
) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of steps of a block that nothing puts in order, and the key that they would race for."""
    concerned = [one for one in block if one in touched and (touched[one].reads or touched[one].writes)]
    after: dict[str, set[str]] = {}
    for edge in edges:
        after.setdefault(edge.source, set()).add(edge.target)
    reached = {one: _reached(one, after) for one in concerned}
    for one, two in combinations(concerned, 2):
        if two not in reached[one] and one not in reached[two] and (key := touched[one].clash(touched[two])):
            yield one, two, key


def _reached(start: str, after: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    row = [start]
    while row:
        row = [target for one in row for target in after.get(one, ()) if target not in found]
        found.update(row)
    return found


RUN_VERB, CONTINUE_VERB = "run_runbook", "continue_with_runbook"
"""The built-in verbs behind `run` and `continue_with`."""

_INTEGER: Schema = {"type": "integer"}
_ERROR: Schema = {"type": "object", "properties": dict.fromkeys(("class", "code", "message", "step"), TEXT)}
_SWITCH: Schema = {"type": "object", "properties": {"branch": TEXT}}
_REPEAT: Schema = {
    "type": "object",
    "properties": {"count": _INTEGER, "met": {"type": "boolean"}, "results": {"type": "array"}},
}
_RESULTS: Mapping[str, Schema] = {
    "switch": _SWITCH,
    "reference": {"type": "object", "properties": {"reference": TEXT}},
    "end": {"type": "object", "properties": {"outcome": TEXT}},
}


class Scopes:
    """What the expressions of each step may name."""

    def __init__(self, tree: Tree, verbs: Verbs, roots: Mapping[str, Schema | None]) -> None:
        self.tree, self.verbs, self.roots = tree, verbs, roots
        self._steps: dict[Block, dict[str, Schema | None]] = {}

    @cached_property
    def handled(self) -> frozenset[str]:
        """Return the ids of steps whose failure a branch takes up."""
        shapes = (one.shape for one in self.tree.steps.values())
        return frozenset(shape.id for shape in shapes if shape and shape.on)

    @cached_property
    def whole(self) -> Scope:
        """Return the scope of what the runbook says of a whole run."""
        steps = {address: self._result(self.tree.steps[address].shape) for address in self.tree.blocks["", ""]}
        return Scope(self.roots, steps, self.handled)

    def of(self, address: str) -> Scope:
        """Return the scope of a step."""
        block = self.tree.steps[address].block
        if block not in self._steps:
            visible = self.tree.visible(address)
            self._steps[block] = {name: self._result(self.tree.steps[one].shape) for name, one in visible.items()}
        return Scope({**self.roots, **self._around(address)}, self._steps[block], self.handled)

    def inside(self, address: str) -> Scope:
        """Return the scope of what a `repeat` says about the steps of an iteration."""
        shape, scope = self.tree.steps[address].shape, self.of(address)
        if shape is None or shape.repeat is None:
            return scope
        inner = {step.id: self._result(step) for step in shape.repeat.do}
        return Scope({**scope.roots, "item": None, "index": _INTEGER}, {**(scope.steps or {}), **inner}, self.handled)

    def _around(self, address: str) -> dict[str, Schema | None]:
        """Return the variables that the steps around a step give it."""
        found: dict[str, Schema | None] = {}
        for holder in around(address):
            shape = self.tree.steps[holder].shape
            if shape is None:
                of = self.tree.steps[block_of(holder)].shape
                if id_of(holder) != BranchName.SUCCESS:
                    found["error"] = _ERROR
                elif of and of.wait:
                    found["signal"] = self._result(of)
            elif shape.repeat:
                found |= {"index": _INTEGER} | ({"item": None} if shape.repeat.for_each else {})
        return found

    def _result(self, shape: StepShape | None) -> Schema | None:
        """Return the schema of a step's result, None where it may be anything."""
        if shape is None:
            return None
        if shape.verb is not None:
            verb = self.verbs.get(shape.verb)
            return verb.output_schema if verb else None
        if shape.repeat is not None:
            return _REPEAT
        if shape.wait is not None:
            return None if shape.wait.schema_ is None else normalise(shape.wait.schema_)
        return next((schema for key, schema in _RESULTS.items() if getattr(shape, key) is not None), None)


def duplicates(steps: Iterable[Placed]) -> Iterator[Finding]:
    """Yield the steps whose id stands twice where one name has to mean one step."""
    first: set[str] = set()
    for one in steps:
        if one.shape is None:
            continue
        if one.address in first:
            yield (*one.path, "id"), "duplicate", f"the step '{one.shape.id}' stands twice"
        elif one.shape.id in map(id_of, around(one.address)):
            yield (*one.path, "id"), "duplicate", f"a step around this one is called '{one.shape.id}' too"
        first.add(one.address)


def step_findings(one: Placed, tree: Tree, scopes: Scopes, verbs: Verbs) -> Iterator[Finding]:
    """Yield what is wrong with a step in itself, and with what it says it needs."""
    if one.shape is None:
        return
    yield from node_findings(one.shape, verbs, scopes.of(one.address), scopes.inside(one.address))
    beside = {id_of(address) for address in tree.blocks.get(one.block, ())}
    for index, need in enumerate(one.shape.needs or ()):
        if need not in beside:
            yield ("needs", index), "dangling_reference", f"unknown step '{need}'{hint(need, beside)}"


def cycle_findings(tree: Tree, cycles: Iterable[list[str]]) -> Iterator[Finding]:
    """Yield the cycles among the steps of a block."""
    for cycle in cycles:
        names = " → ".join(map(id_of, cycle))
        yield tree.steps[cycle[0]].path, "cycle", f"the steps wait for each other: {names}"


def state_findings(tree: Tree, edges: tuple[Edge, ...]) -> Iterator[Finding]:
    """Yield the steps that would race for a key of the business state."""
    touched: dict[str, Touched] = {}
    for address, one in tree.steps.items():
        if one.shape is None:
            continue
        reads = {str(each.path[0]) if each.path else EVERY for each in references_of(one.shape) if each.root == "state"}
        writes = set(one.shape.set or ()) | ({one.shape.result_key} if one.shape.result_key else set())
        for holder in (address, *around(address)) if reads or writes else ():
            sums = touched.setdefault(holder, Touched())
            sums.reads |= reads
            sums.writes |= writes
    for block in tree.blocks.values() if touched else ():
        for first, second, key in clashes(block, edges, touched):
            message = f"'{id_of(first)}' and '{id_of(second)}' use state.{key} side by side, and one of them writes it"
            yield tree.steps[second].path, "state_race", f"{message}; say with needs which comes first"
    for address, sums in touched.items():
        shape = tree.steps[address].shape
        if shape and shape.repeat and shape.repeat.at_most_at_once > 1 and sums.writes:
            message = f"iterations that go on side by side would all write state.{min(sums.writes)}"
            yield (*tree.steps[address].path, "repeat", "at_most_at_once"), "state_race", message


def verbs_of(steps: Iterable[Placed]) -> set[str]:
    """Return the names of the verbs that the steps call."""
    return {node.verb for one in steps if (node := node_of(one)).kind is NodeKind.CALL}


def node_of(one: Placed, on_error: str = OnError.FAIL) -> StepDefinition:
    """Return the node that a step becomes; `on_error` is what holds where it does not say it."""
    shape = one.shape
    if shape is None:
        return StepDefinition(one.address, "", {}, None, NodeKind.BRANCH, BranchSpec(), one.branch)
    verb, params = _called(shape)
    if verb is not None:
        node = StepDefinition(
            one.address,
            verb,
            params,
            shape.when,
            branch=one.branch,
            result_key=shape.result_key or "",
            needs_attention=_needs_attention(shape, on_error),
            card=shape.card,
        )
        return _as_it_waits(node, shape)
    kind, spec = _spec(shape)
    return StepDefinition(
        one.address, "", {}, shape.when, kind, spec, one.branch, needs_attention=_needs_attention(shape, on_error)
    )


def _as_it_waits(node: StepDefinition, shape: StepShape) -> StepDefinition:
    """Return a call with how it waits, as far as it says so; where that is wrong, that is found elsewhere."""
    timeout = shape.run.timeout if shape.run else shape.timeout
    if (timeout and not _is_duration(timeout)) or any(waiting_rules(shape, timeout)):
        return node
    return replace(
        node,
        timeout=parse_duration(timeout) if timeout else None,
        until=(shape.run.until if shape.run else shape.until) or "",
        retry=declared_retry(shape.retry) if shape.retry else None,
        escalation=declared_escalation(shape.escalation),
        remind=declared_reminders(shape.remind),
    )


def _needs_attention(shape: StepShape, on_error: str) -> bool:
    return not set(does(shape)).isdisjoint(MAY_BRANCH) and (shape.on_error or on_error) == OnError.NEEDS_ATTENTION


def _called(shape: StepShape) -> tuple[str | None, dict[str, Any]]:
    run = shape.run or shape.continue_with
    if run is None:
        return shape.verb, shape.params
    asked = {"runbook": run.runbook, "trigger": run.trigger} | ({"version": run.version} if run.version else {})
    return (RUN_VERB if shape.run else CONTINUE_VERB), asked


def _spec(shape: StepShape) -> tuple[NodeKind, Spec]:
    """Return what a step that calls no verb says, without the steps inside it."""
    if shape.set is not None:
        return NodeKind.SET, SetSpec(values=shape.set)
    if shape.reference is not None:
        return NodeKind.REFERENCE, ReferenceSpec(reference=shape.reference)
    if shape.switch is not None:
        cases = [each.when for each in shape.switch.cases]
        return NodeKind.SWITCH, SwitchSpec(cases=cases, otherwise=shape.switch.else_ is not None)
    if shape.repeat is not None:
        said = shape.repeat.model_dump(by_alias=True, exclude_unset=True, exclude={"do"})
        return NodeKind.REPEAT, RepeatSpec.model_validate(said)
    if shape.wait is not None:
        said = shape.wait.model_dump(by_alias=True, exclude_unset=True)
        return NodeKind.WAIT, WaitSpec.model_validate({**said, **_normalised(said)})
    return NodeKind.END, shape.end or EndSpec(outcome="ended")


def _is_duration(text: str) -> bool:
    """Return whether it can be read; where not, that is a problem which is found elsewhere."""
    try:
        return bool(parse_duration(text))
    except ValueError:
        return False


def _normalised(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": normalise(said["schema"])} if "schema" in said else {}
