"""What somebody tells who holds the signing key, about records: each lie bends a genuine run, and one rule names it."""

import copy
from collections.abc import Callable
from typing import Any

from tests.integration.forger import Bend, Forged, Lie, change, change_leaf, later
from tests.integration.lies_votes import DELEGATED, GLASS


def _vote(forged: Forged, person: str, verdict: str) -> None:
    """Count one more vote, before its approval ended, and tell policy of it."""
    approval = forged.approval("effect")
    account = {"team": "T0ACME", "user": f"U{person.upper()}"}
    last = forged.all("vote.counted", approval_id=approval["id"])[-1]
    made = copy.deepcopy(approval["votes"][-1]) | {"person": person, "verdict": verdict, "slack": account}
    approval["votes"].append(made)
    leaf = copy.deepcopy(last)
    leaf["data"] |= {"person": person}
    leaf["actor"] = {"id": person, "kind": "person"}
    forged.leaves.insert(forged.leaves.index(last) + 1, leaf)
    forged.leaf(f"approval.{approval['status']}")["data"]["votes"] = len(approval["votes"])
    for decision in forged.decisions.values():
        if decision["input"]["votes"]:
            decision["input"]["votes"].append({name: made[name] for name in ("person", "groups", "verdict", "at")})


def _again(forged: Forged) -> None:
    """Let the filing have been attempted before, under the same approval."""
    decision, receipt = forged.decision("allow", "file"), forged.receipt("success", "file")
    first, tried = copy.deepcopy(decision), copy.deepcopy(receipt)
    first["id"], tried["receipt_id"] = "dec_again", "rcp_again"
    tried.update(outcome="in_doubt", error="no answer", decision_id="dec_again")
    forged.decisions["dec_again"], forged.receipts["rcp_again"] = first, tried
    place = forged.leaf_of(decision)
    for leaf, data in (
        (forged.leaf_of(decision), {"decision_id": "dec_again"}),
        (forged.leaf_of(receipt), {"receipt_id": "rcp_again", "outcome": "in_doubt"}),
    ):
        made = copy.deepcopy(leaf)
        made["data"] |= data
        made["at"] = place["at"]
        forged.leaves.insert(forged.leaves.index(place), made)


def _undoubt(forged: Forged) -> None:
    receipt = forged.receipt("in_doubt", "file")
    forged.leaf_of(receipt)["data"]["outcome"] = receipt["outcome"] = "failure"


def _denied(forged: Forged) -> None:
    """Let people have said that an attempt in doubt did not happen."""
    approval = forged.approval("in_doubt")
    approval["status"], approval["votes"][0]["verdict"] = "rejected", "reject"
    forged.leaf("approval.approved", approval_id=approval["id"])["event"] = "approval.rejected"


def _affirmed(forged: Forged) -> None:
    """Let people have said that an attempt in doubt happened, which was made again."""
    approval = forged.approval("in_doubt")
    approval["status"], approval["votes"][0]["verdict"] = "approved", "approve"
    forged.leaf("approval.rejected", approval_id=approval["id"])["event"] = "approval.approved"


def _undone(forged: Forged) -> None:
    """Let the receipt of what people said had happened be that of a failure."""
    receipt = forged.receipt("success", "file")
    receipt.update(outcome="failure", error="a person says that it did not happen")
    forged.leaf_of(receipt)["data"]["outcome"] = "failure"


def _unattempted(step: str) -> Bend:
    """Return what drops the receipt of the failure of a step, and its leaf."""

    def bend(forged: Forged) -> None:
        receipt = forged.receipt("failure", step)
        forged.drop(forged.leaf_of(receipt))
        del forged.receipts[receipt["receipt_id"]]

    return bend


def _leave_open(forged: Forged) -> None:
    forged.drop(forged.leaf("approval.canceled"))
    forged.approval()["status"] = "requested"


def _approve_nothing(forged: Forged) -> None:
    """Let a rejection have been an approval, but for what followed."""
    forged.approval()["votes"][-1]["verdict"] = "approve"


def _asked(path: str, value: Any, outcome: str = "allow", step: str = "file") -> Bend:
    return lambda f: change(path, value)(f.decision(outcome, step))


def _named(people: list[str] | None) -> Bend:
    return _asked("input.named", {"answered_by": people}, "needs_approval")


BOARD = [{"after": "PT1H", "to": ["board"]}]


def _told(kind: str, path: str, value: Any) -> Bend:
    return lambda f: change(path, value)(f.approval(kind))


def _ruled(bend: Callable[[list[str]], list[str]], outcome: str = "needs_approval") -> Bend:
    """Return what lets a decision on the filing have been made by other rules."""

    def change_rules(forged: Forged) -> None:
        answer = forged.decision(outcome, "file")["answer"]
        answer["rules"] = bend(answer["rules"])

    return change_rules


_STATED = "countersign_config.acme.requirements."

LEAVES: dict[str, Lie] = {
    "people end what the program ends": (
        *("leaves.actors", "filed"),
        change_leaf("approval.approved", "actor", {"id": "ann", "kind": "person"}),
    ),
    "an agent begins the sealing": (
        *("leaves.actors", "filed"),
        change_leaf("evidence.begun", "actor", {"id": "portal-bot", "kind": "agent"}),
    ),
    "a step of another definition": ("leaves.about", "filed", change_leaf("step.succeeded", "correlation.step", "pay")),
    "an effect that was not proposed": (
        *("leaves.about", "filed"),
        lambda f: f.drop(f.leaf("effect.proposed", step="file")),
    ),
    "a vote before its request": (
        *("leaves.about", "filed"),
        lambda f: f.move(f.leaf("vote.counted"), before=f.leaf("approval.requested")),
    ),
    "a decision under another effect's approval": (
        *("leaves.about", "doubt"),
        lambda f: change("correlation.approval_id", f.approval("in_doubt")["id"])(f.leaf("vote.counted")),
    ),
    "an effect of another step": (
        *("leaves.about", "kyc"),
        lambda f: change("correlation.step", "review")(f.leaf_of(f.decision("allow", "filing"))),
    ),
}

DECISIONS: dict[str, Lie] = {
    "allowed as if less were at stake": ("decisions.tier", "filed", _asked("answer.tier", "medium")),
    "asked about as if less were at stake": (
        *("decisions.tier", "filed"),
        _asked("answer.tier", "low", "needs_approval"),
    ),
    "somebody whom the effect names may sign": ("decisions.named", "filed", _named(["ann", "zoe"])),
    "somebody signs, and it is not known who may not": ("decisions.named", "filed", _named(None)),
    "by a rule that gives none of its reasons": (
        *("decisions.rules", "filed"),
        _ruled(lambda rules: [*rules, "z.deny#z"]),
    ),
    "a rule of its reasons is left out": ("decisions.rules", "filed", _ruled(lambda rules: rules[1:])),
    "by the rule of another reason": ("decisions.rules", "filed", _ruled(lambda rules: ["z.deny#z", *rules[1:]][::-1])),
    "its rules in another order": ("decisions.rules", "filed", _ruled(lambda rules: rules[::-1])),
    "a rule twice": ("decisions.rules", "filed", _ruled(lambda rules: [rules[0], *rules])),
    "rules in the order of UTF-16": (
        *("decisions.rules", "filed"),
        _ruled(lambda rules: [*rules, f"{_STATED}\U0001f600", f"{_STATED}\ufb01"]),
    ),
    "by a requirement of the configuration, and asks nobody": (
        *("decisions.rules", "filed"),
        _ruled(lambda rules: [*rules, f"{_STATED}high"], "allow"),
    ),
    "by rules, and names none": ("decisions.as-told", "filed", _ruled(lambda _: [])),
    "by a rule of no name": ("decisions.as-told", "filed", _ruled(lambda rules: ["", *rules])),
    "not for development": ("decisions.on-record", "filed", _asked("development", value=False)),
    "for development as null": ("decisions.on-record", "filed", _asked("development", None)),
    "for development in a word": ("decisions.on-record", "filed", _asked("development", "yes")),
    "for development as a number": ("decisions.on-record", "filed", _asked("development", 1)),
    "another outcome in the leaf": (
        "decisions.as-told",
        "filed",
        change_leaf("decision.recorded", "data.outcome", "deny"),
    ),
    "other reasons in the leaf": ("decisions.as-told", "filed", change_leaf("decision.recorded", "data.reasons", [])),
    "by an OPA of no version": ("decisions.as-told", "filed", _asked("opa_version", "")),
    "of another run": ("decisions.as-told", "filed", _asked("run_id", "run_other")),
    "of another step": ("decisions.as-told", "filed", _asked("step", "other")),
    "asked about another run": ("decisions.of-run", "filed", _asked("input.run.id", "run_other")),
    "asked for another tenant": ("decisions.of-run", "filed", _asked("input.tenant", "other")),
    "asked about another definition": ("decisions.of-run", "filed", _asked("input.run.definition", "other")),
    "asked about another version": ("decisions.of-run", "filed", _asked("input.run.version", 9)),
    "asked about another trigger": ("decisions.of-run", "filed", _asked("input.run.trigger_type", "other")),
    "asked for another kind of actor": ("decisions.of-run", "filed", _asked("input.actor.kind", "agent")),
    "asked for another actor": ("decisions.of-run", "filed", _asked("input.actor.id", "cat", "allow", "")),
    "asked for another submitter": ("decisions.of-run", "filed", _asked("input.actor.submitted_by", "ben")),
    "asked about another step": ("decisions.of-run", "filed", _asked("input.step", "other")),
    "asked at another time": ("decisions.of-run", "filed", _asked("input.time", "2026-01-04T09:00:00.000000Z")),
    "proposed with another digest": (
        *("decisions.of-effect", "filed"),
        change_leaf("effect.proposed", "data.digest", "0" * 64),
    ),
    "proposed as another action": (
        *("decisions.of-effect", "filed"),
        change_leaf("effect.proposed", "data.action", "register::withdraw"),
    ),
    "proposed for another target": (
        *("decisions.of-effect", "filed"),
        change_leaf("effect.proposed", "data.target", "register:OTHER"),
    ),
    "a requirement with an allow": (
        *("decisions.as-told", "filed"),
        lambda f: change("answer.requirement", f.approval()["requirement"])(f.decision("allow", "file")),
    ),
}

RECEIPTS: dict[str, Lie] = {
    "a failure that was tried again, and is told of no more": (
        *("receipts.of-failures", "denied"),
        _unattempted("file"),
    ),
    "a failure for good that is told of no more": ("receipts.of-failures", "nodes", _unattempted("first")),
    "another outcome in its leaf": (
        "receipts.as-told",
        "filed",
        change_leaf("receipt.written", "data.outcome", "failure"),
    ),
    "another step": ("receipts.as-told", "filed", lambda f: f.receipt("success", "file").update(step="")),
    "another approval": (
        *("receipts.as-told", "filed"),
        lambda f: f.leaf_of(f.receipt("success", "file"))["correlation"].update(approval_id=None),
    ),
    "a success that was no attempt": (
        *("receipts.as-told", "filed"),
        lambda f: f.receipt("success", "file").update(attempt=0),
    ),
    "a success with an error": (
        *("receipts.as-told", "filed"),
        lambda f: f.receipt("success", "file").update(error="reset"),
    ),
    "a refusal of another action": (
        *("receipts.of-effect", "rejected"),
        lambda f: f.receipt("refusal", "file").update(target="register:OTHER"),
    ),
    "a receipt of another moment": (
        *("receipts.in-time", "filed"),
        lambda f: f.receipt("success", "file").update(finished_at="2026-01-05T10:00:00.000000Z"),
    ),
    "an attempt that nothing began": (
        *("receipts.in-time", "doubt"),
        lambda f: f.receipt("success", "file").update(started_at="2026-01-05T09:03:00.000000Z"),
    ),
}

VOTES: dict[str, Lie] = {
    "somebody else clicked": ("votes.as-told", "filed", change_leaf("vote.counted", "actor.id", "cat")),
    "an agent clicked": ("votes.as-told", "filed", change_leaf("vote.counted", "actor.kind", "agent")),
    "at another moment": (
        *("votes.as-told", "filed"),
        _told("effect", "votes.0.at", "2026-01-05T08:59:59.000000Z"),
    ),
    "more votes than there were": ("votes.counted", "filed", change_leaf("approval.approved", "data.votes", 3)),
    "ten days after eight hours": (
        *("votes.in-time", "filed"),
        lambda f: f.delay(f.leaf("vote.counted", 1), days=10),
    ),
    "rejected ten days after eight hours": (
        *("votes.in-time", "rejected"),
        lambda f: f.delay(f.leaf("vote.counted"), days=10),
    ),
    "approved before all its votes": (
        *("votes.while-open", "filed"),
        lambda f: f.move(f.leaf("vote.counted", 1), after=f.leaf("approval.approved")),
    ),
    "two people with one account": (
        *("votes.accounts", "filed"),
        lambda f: f.approval()["votes"][1].update(slack=f.approval()["votes"][0]["slack"]),
    ),
    "no reason where one is required": ("votes.reasons", "filed", _told("effect", "votes.1.reason", "  ")),
    "no reason for a rejection": ("votes.reasons", "rejected", _told("effect", "votes.0.reason", "")),
    "approved over a rejection": ("votes.rejections", "filed", lambda f: _vote(f, "cat", "reject")),
    "rejected without a rejection": ("votes.rejections", "rejected", _approve_nothing),
    "changes without a word": ("votes.reasons", "changed", _told("effect", "votes.0.reason", "")),
    "changes, and none were asked for": ("votes.rejections", "changed", _approve_nothing),
    "approved, and changes were asked for": ("votes.rejections", "filed", lambda f: _vote(f, "cat", "changes")),
}


def _as_edge(forged: Forged, kind: str, **more: str) -> None:
    """Let a vote have come by the edge."""
    forged.approval(kind)["votes"][0] |= {"via": "edge", "brought_by": "officer-portal", **more}


TASKS: dict[str, Lie] = {
    "a filing signed by the edge": ("votes.brought", "filed", lambda f: _as_edge(f, "effect")),
    "brought by whoever brought the run": (
        *("votes.brought", "claimed"),
        lambda f: _as_edge(f, "task", brought_by="portal-bot"),
    ),
    "brought by nobody": ("votes.brought", "claimed", lambda f: _as_edge(f, "task", brought_by="")),
    "come by pigeon": ("votes.brought", "claimed", lambda f: _as_edge(f, "task", via="pigeon")),
    "claimed for somebody else": ("tasks.claimed", "claimed", change_leaf("task.claimed", "actor.id", "ben")),
    "claimed by the program": (
        *("tasks.claimed", "claimed"),
        change_leaf("task.claimed", "actor", {"id": "countersign", "kind": "system"}),
    ),
    "claimed from nobody": (
        *("tasks.claimed", "claimed"),
        lambda f: f.leaf("task.claimed", 2)["data"].update({"from": None}),
    ),
    "given back by another": (
        *("tasks.claimed", "claimed"),
        lambda f: f.leaf("task.released").update(actor={"id": "cat", "kind": "person"}),
    ),
    "given back by who had not claimed it": ("tasks.claimed", "claimed", lambda f: f.drop(f.leaf("task.claimed"))),
    "claimed when it was answered": (
        *("tasks.claimed", "claimed"),
        lambda f: f.move(f.leaf("task.claimed", -1), after=f.leaf("approval.approved")),
    ),
    "answered by another than who had claimed it": (
        *("tasks.answered", "claimed"),
        lambda f: f.drop(f.leaf("task.released", -1)),
    ),
}

APPROVALS: dict[str, Lie] = {
    "open for longer": (
        *("approvals.as-told", "expired"),
        lambda f: f.approval().update(expires_at=later(f.approval()["expires_at"], hours=1)),
    ),
    "asked earlier": (
        *("approvals.as-told", "filed"),
        lambda f: f.approval().update(requested_at=later(f.approval()["requested_at"], hours=-1)),
    ),
    "about another step": ("approvals.as-told", "filed", _told("effect", "step", "other")),
    "requested twice": (
        *("approvals.as-told", "filed"),
        lambda f: f.leaves.insert(6, copy.deepcopy(f.leaf("approval.requested"))),
    ),
    "less than policy asked for": ("approvals.of-policy", "expired", _told("effect", "requirement.quorum", 1)),
    "for other reasons": ("approvals.of-policy", "filed", _told("effect", "reasons", [])),
    "with less at stake": ("approvals.of-policy", "filed", _told("effect", "tier", "low")),
    "for another purpose": ("approvals.of-policy", "filed", _told("effect", "purpose", "Nothing much")),
    "a review by others": ("approvals.of-review", "kyc", _told("task", "requirement.groups", ["compliance", "board"])),
    "a review of a step without one": (
        *("approvals.of-review", "kyc"),
        lambda f: next(v for v in f.definition["verbs"].values() if v["execution"]["wait"] == "human_task")[
            "execution"
        ].update(wait="external"),
    ),
    "a question without a doubt": ("approvals.of-doubt", "doubt", _undoubt),
    "people say no, and it is a success by their word": ("approvals.doubt-answered", "doubt", _denied),
    "people say yes, and it is made again": ("approvals.doubt-answered", "denied", _affirmed),
    "people say yes, and it is a failure by their word": ("approvals.doubt-answered", "doubt", _undone),
    "a question to two": ("approvals.of-doubt", "doubt", _told("in_doubt", "requirement.escalate_to", BOARD)),
    "policy was told of another time": (
        *("approvals.told", "filed"),
        _asked("input.approval.expires_at", "2026-02-05T09:00:00.000000Z"),
    ),
    "policy was told of an earlier vote": (
        *("approvals.told", "filed"),
        lambda f: f.decision("allow", "file")["input"]["votes"][0].update(at="2026-01-05T08:00:00.000000Z"),
    ),
    "policy was told of votes alone": ("approvals.told", "filed", _asked("input.approval", None)),
    "used twice": ("approvals.used-once", "filed", _again),
    "used when it had expired": (
        *("approvals.used-once", "filed"),
        lambda f: f.delay(f.leaf_of(f.decision("allow", "file")), days=10),
    ),
    "expired before its time": (
        *("approvals.ended", "expired"),
        lambda f: f.delay(f.leaf("approval.expired"), hours=-2),
    ),
    "approved long after the last vote": (
        *("approvals.ended", "filed"),
        lambda f: f.delay(f.leaf("approval.approved"), hours=1),
    ),
    "still open": ("approvals.ended", "canceled", _leave_open),
    "called off before the answer came": (
        *("approvals.ended", "proven"),
        lambda f: f.move(f.leaf("approval.canceled"), before=f.leaf("wait.completed")),
    ),
    "asked after the answer came": (
        *("approvals.ended", "proven"),
        lambda f: f.move(f.leaf("wait.completed"), before=f.leaf("approval.requested")),
    ),
    "canceled while its step went on": (
        *("approvals.ended", "canceled"),
        lambda f: f.move(f.leaf("approval.canceled"), before=f.leaf("step.canceled")),
    ),
}

GROUPS = {
    "leaves": LEAVES,
    "decisions": DECISIONS,
    "receipts": RECEIPTS,
    "votes": VOTES,
    "delegated": DELEGATED,
    "glass": GLASS,
    "tasks": TASKS,
    "approvals": APPROVALS,
}
