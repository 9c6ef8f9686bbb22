"""A bundle put together: each record with the leaves about it. The rules of the chain have held before."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from evidence import names
from evidence.verify.contents import Contents, grouped
from evidence.verify.definition import DefinitionForm, Plan, VerbForm
from evidence.verify.forms import ApprovalForm, DecisionForm, Escalated, Opened, Proposed, QuestionLeaf
from evidence.verify.rules import broken_leaf, data_of
from evidence.verify.vote_forms import VoteForm
from receipts import canonical
from receipts.chain import (
    APPROVAL_ENDED,
    APPROVAL_REQUESTED,
    DECISION_RECORDED,
    EFFECT_EDITED,
    QUESTION_ANSWERED,
    QUESTION_ASKED,
    RECEIPT_WRITTEN,
    RUN_ENDED,
    VOTE_COUNTED,
    VOTE_WITHDRAWN,
    WAIT_ESCALATED,
    WAIT_OPENED,
    Leaf,
)
from receipts.receipt import Receipt

PROPOSED = "effect.proposed"
ACTED = ("success", "in_doubt")
VOTED = ("approval.approved", "approval.rejected")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, the member that holds it, and its leaf."""

    name: str
    record: DecisionForm
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Received:
    """A receipt, the member that holds it, and its leaf."""

    name: str
    record: Receipt
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Counted:
    """A vote and its leaf; `until` is the place of the leaf that took it back, None where none did."""

    record: VoteForm
    leaf: Leaf
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """An approval, the member that holds it, the leaf of its request, its votes in their order, and its end."""

    name: str
    record: ApprovalForm
    leaf: Leaf
    votes: list[Counted]
    end: Leaf | None

    @property
    def standing(self) -> list[Counted]:
        """Return the votes that were not withdrawn."""
        return [vote for vote in self.votes if vote.until is None]

    def standing_before(self, leaf: Leaf) -> list[Counted]:
        """Return the votes that counted when a leaf was written."""
        return [vote for vote in self.votes if vote.leaf.seq < leaf.seq and not (vote.until and vote.until < leaf.seq)]

    def is_open_at(self, leaf: Leaf) -> bool:
        """Return whether a leaf stands between that of the request and that of its end."""
        return self.leaf.seq < leaf.seq and (self.end is None or leaf.seq < self.end.seq)


@dataclass(frozen=True)
class Facts:
    """What the rules about requests, votes, effects, steps and waits compare."""

    contents: Contents

    def until(self, name: str, first: str, leaf: Leaf) -> str:
        """Return the deadline of a wait or an approval before a leaf: the `first`, or as it was moved last by then."""
        moved = reversed(self._moved.get(name, ()))
        return next((deadline for seq, deadline in moved if seq < leaf.seq), first)

    @cached_property
    def _moved(self) -> dict[str, list[tuple[int, str]]]:
        found: dict[str, list[tuple[int, str]]] = {}
        for leaf in self.contents.leaves:
            for name, deadline in self._moves(leaf):
                found.setdefault(name, []).append((leaf.seq, deadline))
        return found

    def _moves(self, leaf: Leaf) -> list[tuple[str, str]]:
        """Return the wait and the approval of which a leaf moves the deadline, each with where to."""
        if leaf.event == WAIT_ESCALATED:
            told = data_of(Escalated, leaf)
            return [
                (name, told.deadline) for name in (told.wait_id, str(leaf.correlation.approval_id)) if told.deadline
            ]
        if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED):
            said = data_of(QuestionLeaf, leaf)
            of = (said.approval_id, *self._waits_for.get(said.approval_id, ()))
            return [(name, said.deadline) for name in of if said.deadline]
        return []

    @cached_property
    def _waits_for(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for leaf in self.contents.leaves_of(WAIT_OPENED):
            found.setdefault(str(leaf.correlation.approval_id), []).append(data_of(Opened, leaf).wait_id)
        return found

    @property
    def leaves(self) -> list[Leaf]:
        """Return the chain."""
        return self.contents.leaves

    @cached_property
    def definition(self) -> DefinitionForm:
        """Return the definition, with what its steps wait for and its verbs promise."""
        return self.contents.record(DefinitionForm, names.DEFINITION)

    @cached_property
    def plan(self) -> Plan:
        """Return the tree of the definition's steps."""
        return Plan(self.definition)

    def verb(self, leaf: Leaf, path: str) -> VerbForm:
        """Return the verb of a step that a leaf names."""
        verb = self.plan.verb(path)
        if verb is None:
            raise broken_leaf(leaf, f"no step {path} with a verb is in {names.DEFINITION}")
        return verb

    @cached_property
    def proposals(self) -> list[tuple[Leaf, Proposed]]:
        """Return each proposal of an effect."""
        return [(leaf, data_of(Proposed, leaf)) for leaf in self.contents.leaves_of(PROPOSED)]

    @cached_property
    def proposed(self) -> dict[str, tuple[Leaf, Proposed]]:
        """Return the proposals by their effects' ids."""
        return {str(leaf.correlation.effect_id): (leaf, proposal) for leaf, proposal in self.proposals}

    @cached_property
    def numbers_of_effects(self) -> dict[str | None, dict[str | None, int]]:
        """Return for each step its effects by their ids, each with its number in the order of their proposals."""
        of_steps = grouped((leaf.correlation for leaf, _ in self.proposals), lambda about: about.step)
        return {
            step: {about.effect_id: number for number, about in reversed([*enumerate(proposed, start=1)])}
            for step, proposed in of_steps.items()
        }

    @cached_property
    def edits(self) -> dict[str, list[Leaf]]:
        """Return the leaves of the edits of each effect."""
        return grouped(self.contents.leaves_of(EFFECT_EDITED), lambda leaf: str(leaf.correlation.effect_id))

    def standing(self, effect_id: str, seq: int) -> str:
        """Return the digest of an effect before a line: as it was proposed, or as it was edited last."""
        edited = [leaf for leaf in self.edits.get(effect_id, ()) if leaf.seq < seq]
        return str(edited[-1].data.get("to")) if edited else self.proposed[effect_id][1].digest

    @cached_property
    def questions(self) -> dict[str, list[tuple[int, str, str]]]:
        """Return what leaves tell of the questions about each approval: the place, the event, the question's id."""
        found: dict[str, list[tuple[int, str, str]]] = {}
        for leaf in (leaf for leaf in self.leaves if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED)):
            data = leaf.data
            told = (leaf.seq, leaf.event, str(data.get("question_id")))
            found.setdefault(str(data.get("approval_id")), []).append(told)
        return found

    @cached_property
    def decisions(self) -> list[Decided]:
        """Return the decisions in their order."""
        return [
            Decided(name, self.contents.form(DecisionForm, name, self.contents.decisions), leaf)
            for name, leaf in self._named(names.DECISIONS, DECISION_RECORDED, "decision_id")
        ]

    @cached_property
    def decided(self) -> dict[str, Decided]:
        """Return the decisions by their ids."""
        return {decision.record.id: decision for decision in self.decisions}

    @cached_property
    def decisions_about(self) -> dict[str | None, list[Decided]]:
        """Return the decisions about each effect, by its id."""
        return grouped(self.decisions, lambda decision: decision.record.effect_id)

    @cached_property
    def receipts(self) -> list[Received]:
        """Return the receipts in their order."""
        return [
            Received(name, self.contents.receipts[name], leaf)
            for name, leaf in self._named(names.RECEIPTS, RECEIPT_WRITTEN, "receipt_id")
        ]

    @cached_property
    def receipts_of(self) -> dict[str | None, list[Received]]:
        """Return the receipts of each effect, by its id."""
        return grouped(self.receipts, lambda receipt: receipt.record.effect_id)

    @cached_property
    def receipts_of_steps(self) -> dict[str | None, list[Received]]:
        """Return the receipts of each step, by its path."""
        return grouped(self.receipts, lambda receipt: receipt.record.step)

    @cached_property
    def acted(self) -> list[Received]:
        """Return the receipts of what was done, or may have been done, for a step."""
        return [one for one in self.receipts if one.record.outcome in ACTED and one.record.step]

    @cached_property
    def approvals(self) -> dict[str, Requested]:
        """Return the approvals by their ids, in the order of their requests."""
        return {approval.record.id: approval for approval in map(self._requested, self.requests)}

    @cached_property
    def approvals_about(self) -> dict[str | None, list[Requested]]:
        """Return the approvals about each effect, by its id."""
        return grouped(self.approvals.values(), lambda approval: approval.record.effect_id)

    @cached_property
    def requests(self) -> list[Leaf]:
        """Return the leaves of the requests."""
        return self.contents.leaves_of(APPROVAL_REQUESTED)

    def _requested(self, leaf: Leaf) -> Requested:
        name = names.approval(str(leaf.data.get("approval_id")))
        record = self.contents.form(ApprovalForm, name, self.contents.approvals)
        about = self.contents.leaves_about[record.id]
        said = {canonical.digest(vote.model_dump()): vote for vote in record.votes}
        votes = [Counted(said[leaf.data["digest"]], leaf) for leaf in about if leaf.event == VOTE_COUNTED]
        end = next((leaf for leaf in about if leaf.event in APPROVAL_ENDED), None)
        return Requested(name, record, leaf, until_withdrawn(votes, about), end)

    @cached_property
    def approvals_of_steps(self) -> dict[str | None, list[Requested]]:
        """Return the approvals about each step, by its path."""
        return grouped(self.approvals.values(), lambda approval: approval.record.step)

    @cached_property
    def answers(self) -> dict[str | None, list[Leaf]]:
        """Return for each step the leaves with which an answer came, or the task of its people ended by a vote."""
        tasks = {one.record.id for one in self.approvals.values() if one.record.kind == "task"}
        came = (
            leaf
            for leaf in self.leaves
            if leaf.event == "wait.completed" or (leaf.event in VOTED and leaf.correlation.approval_id in tasks)
        )
        return grouped(came, lambda leaf: leaf.correlation.step)

    @cached_property
    def waits(self) -> list[tuple[Leaf, Opened]]:
        """Return the waits that were opened."""
        return [(leaf, data_of(Opened, leaf)) for leaf in self.contents.leaves_of(WAIT_OPENED)]

    @cached_property
    def end(self) -> Leaf:
        """Return the leaf with which the run ended."""
        return next(leaf for leaf in self.leaves if leaf.event in RUN_ENDED)

    @cached_property
    def of_steps(self) -> dict[str, list[Leaf]]:
        """Return for each step the leaves that say how it stands, in their order."""
        return grouped(
            (leaf for leaf in self.leaves if leaf.event.startswith("step.") and leaf.correlation.step is not None),
            lambda leaf: str(leaf.correlation.step),
        )

    @cached_property
    def stopped(self) -> list[str]:
        """Return the steps of the kind `end` that succeeded: one at most ends a run."""
        ends = (path for path in self.of_steps if self.plan.node(path).kind == "end")
        return [path for path in ends if self.of_steps[path][-1].event == "step.succeeded"]

    def is_left(self, leaf: Leaf) -> bool:
        """Return whether a leaf tells of a step at the moment at which an `end` ended the run."""
        return bool(self.stopped) and leaf.at == self.end.at

    def _named(self, folder: str, event: str, key: str) -> Iterator[tuple[str, Leaf]]:
        for number, leaf in enumerate(self.contents.leaves_of(event), start=1):
            yield names.numbered(folder, number, str(leaf.data.get(key))), leaf


def until_withdrawn(votes: list[Counted], about: list[Leaf]) -> list[Counted]:
    """Return the votes, each until a `vote.withdrawn` names it by its digest; of two that are alike, the first."""
    found, places = list(votes), dict[str, deque[int]]()
    for place, vote in enumerate(votes):
        places.setdefault(str(vote.leaf.data.get("digest")), deque()).append(place)
    for leaf in (leaf for leaf in about if leaf.event == VOTE_WITHDRAWN):
        if alike := places.get(str(leaf.data.get("digest"))):
            place = alike.popleft()
            found[place] = replace(found[place], until=leaf.seq)
    return found
