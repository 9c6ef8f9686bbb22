"""Plans a run again from its record, and compares: what was planned then has to be what is planned now. Pure.

What the planner saw stands in the chain: each leaf about a step is either something that happened to it, which the
planner was told, or what it planned thereupon. So no record of the planner's own is needed. Moves to `ready` and
`running` are on no record, and nothing follows from them.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from receipts.chain import APPROVAL_REQUESTED, REPAIR_DECIDED, VOTE_COUNTED, VOTE_WITHDRAWN, Leaf
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Definition
from runtime.definitions.nodes import NodeKind
from runtime.model.action import Acting, commitment
from runtime.model.run import RepairAction, StepState, Tried
from runtime.model.states import STEP, IllegalTransitionError, RunStatus, StepStatus, is_final
from runtime.planning.planner import plan, snapshot_after
from runtime.planning.runbook_selection import takes_trigger
from runtime.planning.step_repair import retry_proposal
from runtime.planning.transition import (
    Canceled,
    Event,
    Proposal,
    Snapshot,
    Started,
    StepMoved,
    StepRepaired,
    Transition,
)

POST_TASK = "slack::post_task"

SAID = frozenset(
    {
        StepStatus.SUCCEEDED,
        StepStatus.FAILED_HANDLED,
        StepStatus.FAILED_TERMINAL,
        StepStatus.FAILED_RETRYABLE,
        StepStatus.NEEDS_ATTENTION,
        StepStatus.SKIPPED,
        StepStatus.CANCELED,
        StepStatus.PARKED,
        StepStatus.WAITING_APPROVAL,
    }
)
"""The statuses of steps that are put on record."""

_TOLD = ("run.started", "run.cancel_requested", REPAIR_DECIDED)
"""What the planner was told of that is no step's status."""
_ENDS = ("run.succeeded", "run.failed_terminal", "run.canceled")


@dataclass(frozen=True)
class Recorded:
    """A run as it is on record. `results` are those of its steps as they are stored, by path.

    `among` are the definitions of which its own was chosen by the trigger; none where there was no choice.
    """

    definition: Definition
    run_id: str
    tenant: str
    salt: str
    trigger: Mapping[str, Any]
    trigger_is_whole: bool
    started_at: str
    leaves: Sequence[Leaf]
    results: Mapping[str, Any]
    among: Sequence[Definition] = ()


@dataclass(frozen=True)
class Difference:
    """The first place where the plan made now is not the one on record; `seq` is 0 behind the last leaf."""

    seq: int
    planned: str
    recorded: str


@dataclass
class Replayed:
    """What came of planning a run again; `hidden` are values that the run has forgotten and the plan needed."""

    events: int = 0
    difference: Difference | None = None
    hidden: set[str] = field(default_factory=set)


Said = tuple[str, str, Mapping[str, Any]]
"""What a leaf says: its event, the step, and the facts that a plan decides."""


def replay(recorded: Recorded) -> Replayed:
    """Plan the run again, event by event, and return the first difference, None where there is none."""
    found, expected = Replayed(), deque[Said]()
    if not recorded.trigger_is_whole:
        found.hidden.add("trigger")
    elif recorded.among and (chosen := _chosen(recorded)) != (own := _named([recorded.definition])):
        found.difference = Difference(1, chosen, own)
        return found
    paths = recorded.definition.block("")
    snapshot = Snapshot(
        recorded.run_id,
        recorded.tenant,
        RunStatus.QUEUED,
        recorded.trigger,
        {path: StepState(StepStatus.PENDING) for path in paths},
        started_at=recorded.started_at,
        reference=recorded.leaves[0].data.get("about", "") if recorded.leaves else "",
    )
    for leaf in recorded.leaves:
        said = _said(leaf)
        if said is None:
            continue
        if not expected:
            try:
                snapshot = _signed(snapshot, recorded, leaf)
                event = _event(leaf, recorded, found, snapshot)
                snapshot = _begun(snapshot, event)
                transition = _as_named(recorded, leaf, event, plan(recorded.definition, snapshot, event))
            except (IllegalTransitionError, LookupError, ValueError) as error:
                found.difference = Difference(leaf.seq, f"nothing: {error}", _shown(said))
                return found
            found.events += 1
            snapshot = snapshot_after(snapshot, transition)
            expected.extend(_expected(transition, recorded))
            if leaf.event in _TOLD:
                continue
        planned = expected.popleft() if expected else ("", "", {})
        if planned != said:
            found.difference = Difference(leaf.seq, _shown(planned), _shown(said))
            return found
    if expected:
        found.difference = Difference(0, _shown(expected[0]), "nothing")
    return found


def _chosen(recorded: Recorded) -> str:
    """Return which of the definitions takes the trigger, as the chain named them and as they are stored."""
    try:
        return _named([one for one in recorded.among if takes_trigger(one.when, recorded.trigger)])
    except ExpressionError as error:
        return f"nothing: {error}"


def _named(definitions: Sequence[Definition]) -> str:
    return " and ".join(f"{one.name} version {one.version}" for one in definitions) or "nothing"


def _said(leaf: Leaf) -> Said | None:
    """Return what of a leaf a plan decides, None where it decides nothing of it."""
    step = leaf.correlation.step or ""
    if leaf.event in _TOLD:
        return leaf.event, "", {}
    if leaf.event in _ENDS:
        return leaf.event, "", {name: leaf.data[name] for name in ("outcome", "output") if name in leaf.data}
    if leaf.event == "effect.proposed" and step:
        return leaf.event, step, {"digest": leaf.data["digest"]}
    if leaf.event.startswith("step."):
        return leaf.event, step, {name: leaf.data[name] for name in ("code", "branch", "result") if name in leaf.data}
    return None


def _event(leaf: Leaf, recorded: Recorded, found: Replayed, snapshot: Snapshot) -> Event:
    """Return what the planner was told when the leaf was written; raise ValueError where that cannot be."""
    if leaf.event == "run.started":
        return Started()
    if leaf.event == "run.cancel_requested":
        return Canceled(leaf.data["reason"])
    path = leaf.correlation.step or ""
    if leaf.event == REPAIR_DECIDED:
        said = f"{leaf.actor.id}: {leaf.data['reason']}"
        return StepRepaired(path, RepairAction(leaf.data["act"]), said, _result(leaf, recorded, found, path))
    if not leaf.event.startswith("step.") or not _may_hear(recorded.definition, snapshot, path):
        raise ValueError("nothing had happened that it follows from")
    status = StepStatus(leaf.event.removeprefix("step."))
    if status in (StepStatus.SKIPPED, StepStatus.CANCELED):
        raise ValueError("that is for the planner alone to say")
    if status in (StepStatus.FAILED_HANDLED, StepStatus.NEEDS_ATTENTION):
        status = StepStatus.FAILED_TERMINAL
    result = _result(leaf, recorded, found, path)
    return StepMoved(path, status, result, leaf.data.get("error", ""), leaf.data.get("code", ""))


def _result(leaf: Leaf, recorded: Recorded, found: Replayed, path: str) -> Any:
    """Return the result that a leaf binds, None where it binds none."""
    result = recorded.results.get(path) if "result" in leaf.data else None
    if "result" in leaf.data and commitment(result, recorded.salt) != leaf.data["result"]:
        found.hidden.add(path)
    return result


def _as_named(recorded: Recorded, leaf: Leaf, event: Event, transition: Transition) -> Transition:
    """Return the transition with what a new try of a step that needs attention wants under the names that it gets."""
    if not isinstance(event, StepRepaired) or event.act is not RepairAction.RETRY:
        return transition
    before = [one for one in recorded.leaves if one.seq < leaf.seq and one.correlation.step == event.path]
    proposed = sum(one.event == "effect.proposed" for one in before)
    done = any(one.event == "receipt.written" and one.data["outcome"] == "success" for one in before)
    tried = Tried(proposed, done, unsettled=False)
    proposals = [retry_proposal(one, tried) if one.path == event.path else one for one in transition.proposals]
    return replace(transition, proposals=proposals)


def _may_hear(definition: Definition, snapshot: Snapshot, path: str) -> bool:
    """Return whether something outside can happen to the step: it has begun, and others act or answer for it."""
    state = snapshot.steps.get(path)
    if state is None or state.status is StepStatus.PENDING or path.endswith("]"):
        return False
    return definition.node(path).kind in (NodeKind.CALL, NodeKind.WAIT)


def _begun(snapshot: Snapshot, event: Event) -> Snapshot:
    """Return the snapshot with the step begun, where the event follows on that alone: that move is on no record."""
    if not isinstance(event, StepMoved) or event.path not in snapshot.steps:
        return snapshot
    before = snapshot.steps[event.path]
    if is_final(STEP, before.status) or event.status in STEP[before.status] or before.status is StepStatus.PENDING:
        return snapshot
    return replace(snapshot, steps={**snapshot.steps, event.path: replace(before, status=StepStatus.RUNNING)})


def _signed(snapshot: Snapshot, recorded: Recorded, leaf: Leaf) -> Snapshot:
    """Return the snapshot with who had signed for each step before a leaf, where the definition reads that."""
    if not recorded.definition.reads_signers:
        return snapshot
    return replace(snapshot, signers=signers_in([one for one in recorded.leaves if one.seq < leaf.seq]))


def signers_in(leaves: Sequence[Leaf]) -> dict[str, list[str]]:
    """Return who signed for each step by these leaves, in order: of its newest request that was approved."""
    asked = {one.data["approval_id"]: one.data["kind"] for one in leaves if one.event == APPROVAL_REQUESTED}
    approved: dict[str, Leaf] = {}
    for one in leaves:
        if one.event == "approval.approved" and asked.get(one.data["approval_id"]) in ("effect", "task"):
            approved[one.correlation.step or ""] = one
    found: dict[str, list[str]] = {}
    for step, end in approved.items():
        votes = dict[str, str]()
        for one in leaves:
            if one.seq > end.seq or one.data.get("approval_id") != end.data["approval_id"]:
                continue
            if one.event == VOTE_COUNTED and one.data["verdict"] == "approve":
                votes[one.data["person"]] = one.at
            elif one.event == VOTE_WITHDRAWN:
                votes.pop(one.data["person"], None)
        found[step] = sorted(votes, key=lambda person: (votes[person], person))
    return found


def _expected(transition: Transition, recorded: Recorded) -> Iterator[Said]:
    """Yield what the transition puts on record, in the order in which it does."""
    for path, state in transition.steps.items():
        if state.status in SAID:
            yield f"step.{state.status}", path, step_facts(recorded.definition, path, state, recorded.salt)
    for proposal in transition.proposals:
        yield "effect.proposed", proposal.path, {"digest": _digest(proposal, recorded)}
    if f"run.{transition.run}" in _ENDS:
        facts = {"outcome": transition.ended.outcome} if transition.ended else {}
        if transition.has_output:
            facts["output"] = commitment(transition.output, recorded.salt)
        yield f"run.{transition.run}", "", facts


def step_facts(definition: Definition, path: str, state: StepState, salt: str) -> dict[str, Any]:
    """Return what the leaf about a step's new status says beside the words of its error: code, case, result."""
    facts: dict[str, Any] = {}
    if state.error_code:
        facts["code"] = state.error_code
    if definition.node(path).kind is NodeKind.SWITCH and (taken := state.kept or state.result):
        facts["branch"] = taken["branch"]
    if state.result is not None:
        facts["result"] = commitment(state.result, salt)  # bound, and not to be guessed
    return facts


def _digest(proposal: Proposal, recorded: Recorded) -> str:
    verb, fields, target = proposal.verb, dict(proposal.params), proposal.target
    if verb.handler == POST_TASK:  # where its groups are is not the planner's to say
        target = next(
            leaf.data["target"]
            for leaf in recorded.leaves
            if leaf.event == "effect.proposed" and leaf.correlation.step == proposal.path
        )
        fields["channel"] = target
    connector, operation = verb.handler.split("::")
    acting = Acting(
        connector=connector,
        operation=operation,
        target=target,
        fields=fields,
        tier=verb.tier,
        reversible_by=verb.reversible_by,
        redact=verb.redact,
        idempotency_key=proposal.idempotency_key,
        forgotten=None,
    )
    return acting.action(recorded.salt).digest


def _shown(said: Said) -> str:
    event, step, facts = said
    told = ", ".join(f"{name} {value}" for name, value in sorted(facts.items()))
    return " ".join(filter(None, (event, step, f"({told})" if told else ""))) or "nothing"
