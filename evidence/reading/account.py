"""An account of a run for people: who asked for what about whom, what was decided by whom, done, refused and undone.

Texts are data, as they stand in the bundle, but for words of `evidence.reading.words`; whoever shows them escapes them.
Moments are those of the records; "" stands for what is not told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evidence.reading.material import Material, Record, number, record, text
from evidence.reading.outcomes import Act, Handled, Refusal, acts_of, handled_of, is_chat, refusals_of
from evidence.reading.requests import Request, needs_of, requests_of, reviews_of
from evidence.reading.words import STATUSES, counted, plain
from receipts.chain import RUN_ENDED, RUN_QUEUED


@dataclass(frozen=True)
class Cost:
    """What one model of a provider was used for: calls, units and amounts of money by currency, all in words."""

    provider: str
    model: str
    calls: str
    units: str
    amounts: str


@dataclass(frozen=True)
class Look:
    """One attempt at a read: of which step, what it is for, when it ended and how, and the size of the answer."""

    step: str
    purpose: str
    at: str
    outcome: str
    size: int
    error: str


@dataclass(frozen=True)
class Account:
    """All of it.

    `about` are the names under which the matter is known: its reference, reviews' titles, targets. `outcome` is the
    word with which the runbook ended it, "" where it named none. `requests` may be the first ones of all that were
    `asked`; `needs` are policy's rules (code and words), each with what it wanted of people. `development` is the
    number of decisions by a policy that nobody had activated.
    """

    title: str
    name: str
    version: int
    description: str
    tenant: str
    requested_by: str
    requested_by_id: str
    submitted_by: str
    trigger: str
    about: Sequence[str]
    status: str
    outcome: str
    error: str
    began_at: str
    ended_at: str
    asked: int
    requests: Sequence[Request]
    needs: Sequence[tuple[str, str, str]]
    refusals: Sequence[Refusal]
    acts: Sequence[Act]
    looks: Sequence[Look]
    costs: Sequence[Cost]
    skipped: Sequence[tuple[str, str]]
    not_begun: Sequence[str]
    handled: Sequence[Handled]
    answers: dict[str, int]
    development: int
    messages: int
    mocked: bool

    @property
    def ending(self) -> str:
        """Return what people are told that it came to."""
        return self.outcome or self.status

    @property
    def policy_notice(self) -> str:
        """Return how many decisions are by a policy that nobody had activated; "" if none is."""
        if not self.development:
            return ""
        asked = counted(sum(self.answers.values()), "decision")
        return f"For development: {self.development:,} of {asked} came from a policy that nobody had activated."

    @property
    def undone(self) -> list[Act]:
        """Return what undid something that had been done."""
        return [act for act in self.acts if act.undoes]


def account_of(material: Material, most_requests: int | None = None) -> Account:
    """Return the account of a bundle's run, with so many of its requests at most."""
    run, definition = material.run, material.definition
    requested_by = text(run, "requested_by")
    answers, development = _decided(material)
    return Account(
        title=text(definition, "title") or text(run, "definition", "name"),
        name=text(run, "definition", "name"),
        version=number(run, "definition", "version"),
        description=text(definition, "description"),
        tenant=text(run, "tenant"),
        requested_by=material.name_of(requested_by),
        requested_by_id=requested_by,
        submitted_by=text(run, "submitted_by"),
        trigger=text(run, "trigger", "type"),
        about=_about(material),
        status=STATUSES.get(text(run, "status"), text(run, "status")),
        outcome=plain(text(run, "outcome")),
        error=text(run, "error"),
        began_at=text(run, "created_at") or material.last_moment(RUN_QUEUED),
        ended_at=text(run, "finished_at") or material.last_moment(*RUN_ENDED),
        asked=len(material.approvals),
        requests=requests_of(material, most_requests),
        needs=needs_of(material),
        refusals=refusals_of(material),
        acts=acts_of(material),
        looks=[_look(material, one) for one in material.reads.values()],
        costs=[_cost(one) for one in material.costs],
        skipped=_skipped(material),
        not_begun=_not_begun(material),
        handled=handled_of(material),
        answers=answers,
        development=development,
        messages=sum(not text(receipt, "step") for receipt in material.receipts.values()),
        mocked=run.get("mocked") is True,
    )


def _about(material: Material) -> list[str]:
    proposed = (leaf for leaf in material.leaves_of("effect.proposed") if text(leaf, "correlation", "step"))
    targets = [text(leaf, "data", "target") for leaf in proposed if not is_chat(text(leaf, "data", "action"))]
    return list(dict.fromkeys(filter(None, [*reviews_of(material), *targets, text(material.run, "trigger", "ref")])))


def _look(material: Material, read: Any) -> Look:
    path, size = text(read, "step"), number(read, "response", "bytes")
    step, purpose = material.in_words(path), text(material.verb(path), "description")
    outcome = "answered" if text(read, "outcome") == "success" else "failed"
    return Look(step, purpose, text(read, "finished_at"), outcome, size, text(read, "error"))


def _cost(costs: Any) -> Cost:
    calls, silent = number(costs, "calls"), number(costs, "calls_without_cost")
    amounts = [f"{amount} {currency}" for currency, amount in record(costs, "amounts").items()]
    untold = f"{counted(silent, 'call')} with no cost reported" if silent else ""
    return Cost(
        provider=text(costs, "provider"),
        model=text(costs, "model"),
        calls=counted(calls, "call"),
        units=", ".join(f"{amount} {unit.replace('_', ' ')}" for unit, amount in record(costs, "units").items()),
        amounts="; ".join([*amounts, *filter(None, [untold])]),
    )


def _skipped(material: Material) -> list[tuple[str, str]]:
    leaves = [leaf for leaf in material.leaves_of("step.skipped") if not _is_left(material, leaf)]
    return [(_step(material, leaf), text(leaf, "data", "error")) for leaf in leaves]


def _not_begun(material: Material) -> list[str]:
    """Return the steps that nobody had begun when a step of the runbook ended the run."""
    return [_step(material, leaf) for leaf in material.leaves_of("step.skipped") if _is_left(material, leaf)]


def _is_left(material: Material, leaf: Record) -> bool:
    return bool(text(material.run, "outcome")) and text(leaf, "at") == text(material.run, "finished_at")


def _step(material: Material, leaf: Record) -> str:
    return material.in_words(text(leaf, "correlation", "step"))


def _decided(material: Material) -> tuple[dict[str, int], int]:
    """Return how often policy gave each answer, and how often a policy that nobody had activated did."""
    told = material.decided.values()
    outcomes = [one.outcome for one in told]
    answers = {outcome: outcomes.count(outcome) for outcome in ("allow", "needs_approval", "deny")}
    return answers, sum(one.is_development for one in told)
