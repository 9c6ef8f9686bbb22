"""The graph of a run: the nodes of its definition with how their steps stand, and what waits for what."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.definitions.model import Definition, StepDefinition
from runtime.definitions.nodes import OTHERWISE, NodeKind, RepeatSpec, SwitchSpec, case
from runtime.model.states import StepStatus
from runtime.model.steps import address_of, block_of, id_of

_S = StepStatus
_FIRST_TOLD = (
    *(_S.NEEDS_ATTENTION, _S.FAILED_TERMINAL, _S.WAITING_APPROVAL, _S.FAILED_RETRYABLE, _S.RUNNING, _S.PARKED),
    *(_S.READY, _S.PENDING, _S.FAILED_HANDLED, _S.CANCELED, _S.SUCCEEDED, _S.SKIPPED),
)
"""Of several steps of one node, the state that is told first."""


@dataclass(frozen=True)
class GraphNode:
    """A node and how its steps stand: `status` is the most urgent of them, "" where the run did not reach it.

    `branch` is the part of the node around it in which it stands. `says` is what a node that calls no verb says.
    `runs` are those that its steps started, `rounds` the iterations that a repeat has begun.
    """

    address: str
    kind: str
    verb: str
    branch: str
    says: str
    status: str
    counts: Mapping[str, int]
    runs: Sequence[Mapping[str, Any]] = ()
    rounds: int | None = None

    @property
    def name(self) -> str:
        """Return the last part of its address."""
        return id_of(self.address)

    @property
    def block(self) -> str:
        """Return the address of the node in which it stands; "" at the top."""
        return block_of(self.address)

    @property
    def steps(self) -> int:
        """Return how many steps of it the run has."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class RunGraph:
    """Nodes, each behind what it needs and behind the node around it, and edges (source, target) within one block.

    `branches` are words for the branches of nodes, by the node's address and the branch.
    """

    nodes: Sequence[GraphNode]
    edges: Sequence[tuple[str, str]]
    branches: Mapping[tuple[str, str], str]


def graph_of(definition: Definition, steps: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> RunGraph:
    """Return the graph of a run: how many `steps` each node (`address`) has in each status, and the runs they started.

    Iterations of a repeat (`is_round`) are counted apart; a run has `step` and `run_id`.
    """
    counts: dict[str, Counter[str]] = {}
    rounds: Counter[str] = Counter()
    for row in steps:
        if row["is_round"]:
            rounds[row["address"]] += row["count"]
        else:
            counts.setdefault(row["address"], Counter())[row["status"]] += row["count"]
    started: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        started.setdefault(address_of(run["step"]), []).append(run)
    nodes = [
        _node(node, counts.get(address, {}), started.get(address, ()), rounds[address])
        for address, node in definition.steps.items()
    ]
    edges = dict.fromkeys((edge.source, edge.target) for edge in definition.edges)
    beside = [(one, other) for one, other in edges if block_of(one) == block_of(other)]
    return RunGraph(nodes, beside, dict(pair for node in definition.steps.values() for pair in _branches(node)))


def _node(node: StepDefinition, counts: Mapping[str, int], runs: Sequence[Mapping[str, Any]], rounds: int) -> GraphNode:
    status = next((str(one) for one in _FIRST_TOLD if one in counts), "")
    verb = node.verb if node.kind is NodeKind.CALL else ""
    return GraphNode(
        node.path,
        str(node.kind),
        verb,
        node.branch,
        _said(node),
        status,
        dict(counts),
        runs,
        rounds if node.kind is NodeKind.REPEAT else None,
    )


def _said(node: StepDefinition) -> str:
    """Return under which condition a node is done, and over what it repeats."""
    when = f"when {node.when}" if node.when else ""
    spec = node.spec
    if not isinstance(spec, RepeatSpec):
        return when
    over = f"for each of {spec.for_each}" if spec.for_each else f"while {spec.while_}" if spec.while_ else ""
    return ", ".join(filter(None, (when, over or f"until {spec.until}")))


def _branches(node: StepDefinition) -> Iterator[tuple[tuple[str, str], str]]:
    spec = node.spec
    if isinstance(spec, SwitchSpec):
        for number, condition in enumerate(spec.cases, 1):
            yield (node.path, case(number)), f"if {condition}"
        yield (node.path, OTHERWISE), "else"
