"""Lies about requests: what people did beside deciding them, and the cards that they saw.

What somebody tells who holds the signing key, about what people did with a request beside deciding it.

What somebody tells who holds the signing key, about the cards that people saw.
"""

import copy
import json
from typing import Any

from receipts import canonical
from receipts.chain import MAX_CARD
from tests.integration.forger import Bend, Forged, Json, Lie, change_leaf


def _withdraw(person: str, left: int) -> Bend:
    """Return what withdraws one more vote, before the approval ended; so many are left then."""

    def bend(forged: Forged) -> None:
        first, last = forged.leaf("vote.withdrawn"), forged.all("vote.counted")[-1]
        made = copy.deepcopy(first)
        made["at"], made["data"]["person"] = last["at"], person
        made["actor"] = {"id": person, "kind": "person"}
        forged.leaves.insert(forged.leaves.index(last) + 1, made)
        forged.leaf("approval.approved")["data"]["votes"] = left

    return bend


def _refused(*nths: int | None) -> Bend:
    """Return what has somebody refused so often, each with that `nth`."""

    def bend(forged: Forged) -> None:
        last = forged.leaf("approval.approved")
        for nth in nths:
            data = {"approval_id": last["data"]["approval_id"], "code": "vote.not_in_group", "verdict": "approve"}
            data |= {"team": "T0BENCH", "user": "UOMAR", **({"nth": nth} if nth is not None else {})}
            about = {name: last["correlation"][name] for name in ("approval_id", "step")}
            last = forged.add("vote.refused", last, data, **about)
            last["actor"] = {"id": "omar", "kind": "person"}

    return bend


def _unsaid(forged: Forged) -> None:
    forged.drop(forged.leaf("vote.withdrawn"))
    forged.leaf("approval.approved")["data"]["votes"] = 3


def _answered_by(person: str) -> Bend:
    """Return what has a question answered by another person, on record and on the chain."""

    def bend(forged: Forged) -> None:
        forged.approval()["questions"][0]["answer"]["by"] = person
        forged.leaf("question.answered")["actor"] = {"id": person, "kind": "person"}

    return bend


def _answered_for(**said: Any) -> Bend:
    """Return what has the answer be for another group, or by another person who says that it is for the group."""

    def bend(forged: Forged) -> None:
        answer = forged.approval()["questions"][0]["answer"]
        answer.update(said)
        forged.leaf("question.answered")["actor"] = {"id": answer["by"], "kind": answer["kind"]}

    return bend


def _asked_at(moment: str) -> Bend:
    return lambda f: f.approval()["questions"][0].update(at=moment)


def _drop_deadline(event: str) -> Bend:
    return lambda f: f.leaf(event)["data"].pop("deadline")


def _never_asked(forged: Forged) -> None:
    forged.approval().pop("questions")
    forged.drop(forged.leaf("question.asked"), forged.leaf("question.answered"))


PAUSES: dict[str, Lie] = {
    "a clock that stands still for longer": (
        *("questions.told", "paused"),
        change_leaf("question.asked", "data.deadline", "2026-01-05T23:00:00.000000Z"),
    ),
    "a clock that goes on later than it was answered": (
        *("questions.told", "paused"),
        change_leaf("question.answered", "data.deadline", "2026-01-05T22:00:00.000000Z"),
    ),
    "a clock that does not stand still": ("questions.told", "paused", _drop_deadline("question.asked")),
    "a clock that does not go on": ("questions.told", "paused", _drop_deadline("question.answered")),
    "a clock that stands still where policy does not say so": (
        *("questions.told", "withdrawn"),
        change_leaf("question.asked", "data.deadline", "2026-01-05T23:00:00.000000Z"),
    ),
    "expired while the clock stood still": (
        *("approvals.ended", "paused_late"),
        lambda f: f.delay(f.leaf("approval.expired"), hours=-1),
    ),
    "escalated as if the clock had gone on": (
        *("waits.escalated", "paused"),
        change_leaf("wait.escalated", "at", "2026-01-05T18:30:00.000000Z"),
    ),
    "decided in time that no question had won": ("votes.in-time", "paused", _never_asked),
}


ANSWERS: dict[str, Lie] = {
    "withdrawn by somebody else": ("votes.withdrawn", "withdrawn", change_leaf("vote.withdrawn", "actor.id", "ben")),
    "withdrawn by an agent": ("votes.withdrawn", "withdrawn", change_leaf("vote.withdrawn", "actor.kind", "agent")),
    "withdrawn without a reason": ("votes.withdrawn", "withdrawn", change_leaf("vote.withdrawn", "data.reason", " ")),
    "withdrawn twice": ("votes.withdrawn", "withdrawn", _withdraw("ann", 2)),
    "withdrawn, and used even so": ("approvals.consent", "withdrawn", _withdraw("cat", 1)),
    "withdrawn by nobody, and not used": ("acts.approved", "withdrawn", _unsaid),
    "withdrawn when it was over": (
        *("votes.withdrawn", "withdrawn"),
        lambda f: f.move(f.leaf("vote.withdrawn"), after=f.leaf("approval.approved")),
    ),
    "refused more often than stands one by one": ("votes.refused", "withdrawn", _refused(*[None] * 9)),
    "refused at once for the many times before": ("votes.refused", "withdrawn", _refused(16)),
    "refused twice as often, one count left out": ("votes.refused", "withdrawn", _refused(*[None] * 8, 32)),
    "handed on by somebody else": ("approvals.handed", "withdrawn", change_leaf("approval.handed", "actor.id", "ben")),
    "handed on without a reason": ("approvals.handed", "withdrawn", change_leaf("approval.handed", "data.reason", "")),
    "handed to the requester": ("approvals.handed", "withdrawn", change_leaf("approval.handed", "data.to", "rita")),
    "handed to themselves": ("approvals.handed", "withdrawn", change_leaf("approval.handed", "data.to", "ann")),
    "handed on when it was over": (
        *("approvals.handed", "withdrawn"),
        lambda f: f.move(f.leaf("approval.handed"), after=f.leaf("approval.approved")),
    ),
    "asked by somebody else": ("questions.told", "withdrawn", change_leaf("question.asked", "actor.id", "ben")),
    "answered by somebody else": ("questions.told", "withdrawn", change_leaf("question.answered", "actor.id", "ben")),
    "answered by who had not asked for it": ("questions.told", "withdrawn", _answered_by("ben")),
    "answered for a group that the runbook does not name": (
        *("questions.told", "withdrawn"),
        _answered_for(by="ben", group="compliance"),
    ),
    "answered for another group": ("questions.told", "grouped", _answered_for(group="compliance")),
    "answered for the group by who asked": ("questions.told", "grouped", _answered_for(by="ann")),
    "answered for the group by a program": ("questions.told", "grouped", _answered_for(by="portal", kind="agent")),
    "a question of another": ("questions.told", "withdrawn", change_leaf("question.asked", "data.person", "ben")),
    "another question": (
        *("questions.told", "withdrawn"),
        lambda f: f.approval()["questions"].append({**f.approval()["questions"][0], "id": "qst_other"}),
    ),
    "no question": ("questions.told", "withdrawn", lambda f: f.approval().pop("questions")),
    "a question that the chain does not tell": (
        *("questions.told", "withdrawn"),
        lambda f: f.drop(f.leaf("question.asked"), f.leaf("question.answered")),
    ),
    "an answer before its question": (
        *("questions.told", "withdrawn"),
        lambda f: f.move(f.leaf("question.answered"), before=f.leaf("question.asked")),
    ),
    "an answer when it was over": (
        *("questions.told", "withdrawn"),
        lambda f: f.move(f.leaf("question.answered"), after=f.leaf("approval.approved")),
    ),
    "a question at another moment": ("questions.told", "withdrawn", _asked_at("2026-01-05T08:00:00.000000Z")),
}


def _late(event: str, data: Json) -> Bend:
    """Return what has ann say something in the moment in which a request expired."""

    def bend(forged: Forged) -> None:
        approval, end = forged.approval(), forged.leaf("approval.expired")
        about = {name: end["correlation"][name] for name in ("step", "approval_id", "effect_id")}
        leaf = forged.add(event, end, {"approval_id": approval["id"], "person": "ann", **data}, **about)
        leaf["actor"] = {"id": "ann", "kind": "person"}
        forged.move(leaf, before=end)

    return bend


def _taken_back_late(forged: Forged) -> None:
    """Let somebody have voted in time, and have taken that back when it had expired."""
    approval, asked = forged.approval(), forged.leaf("approval.requested")
    account = {"team": "T0ACME", "user": "UANN"}
    said = {"person": "ann", "person_name": "Ann", "groups": ["compliance"], "verdict": "approve", "reason": "seen"}
    approval["votes"] = [{**said, "slack": account, "at": asked["at"]}]
    _late("vote.withdrawn", {"reason": "too late"})(forged)
    counted = copy.deepcopy(forged.leaf("vote.withdrawn")) | {"event": "vote.counted", "at": asked["at"]}
    del counted["data"]["reason"]
    forged.leaves.insert(forged.leaves.index(asked) + 1, counted)
    forged.leaf("approval.expired")["data"]["votes"] = 0


def _asked_late(forged: Forged) -> None:
    question = {"id": "qst_1", "person": "ann", "person_name": "Ann", "question": "who owns it?"}
    forged.approval()["questions"] = [{**question, "at": forged.leaf("approval.expired")["at"]}]
    _late("question.asked", {"question_id": "qst_1"})(forged)


def _handed_by(person: str) -> Bend:
    """Return what has somebody else hand it on."""

    def bend(forged: Forged) -> None:
        leaf = forged.leaf("approval.handed")
        leaf["data"]["person"] = leaf["actor"]["id"] = person

    return bend


def _handed_to_a_voter(forged: Forged) -> None:
    leaf = forged.leaf("approval.handed")
    forged.move(leaf, after=forged.leaf("vote.counted", 1))
    leaf["data"]["to"] = "ben"


def _review_handed(forged: Forged) -> None:
    """Let the review of broken glass have been handed on."""
    review = forged.approval("afterwards")
    asked = forged.leaf("approval.requested", approval_id=review["id"])
    about = {name: asked["correlation"][name] for name in ("step", "approval_id", "effect_id")}
    data = {"approval_id": review["id"], "person": "sue", "to": "sam", "reason": "I am away"}
    forged.add("approval.handed", asked, data, **about)["actor"] = {"id": "sue", "kind": "person"}


def _asker(person: str) -> Bend:
    """Return what has somebody else ask."""

    def bend(forged: Forged) -> None:
        forged.approval()["questions"][0]["person"] = person
        leaf = forged.leaf("question.asked")
        leaf["data"]["person"] = leaf["actor"]["id"] = person
        forged.leaf("question.answered")["data"]["person"] = person

    return bend


def _ask(forged: Forged, asked: Json, **members: str) -> None:
    """Ask one more question, in the line after another leaf."""
    first = forged.leaf("question.asked")
    made = copy.deepcopy(first)
    made["at"], made["data"]["question_id"] = asked["at"], members.get("id", "qst_more")
    question = {name: value for name, value in forged.approval()["questions"][0].items() if name != "answer"}
    forged.approval()["questions"].append({**question, "id": "qst_more", **members})
    forged.leaves.insert(forged.leaves.index(asked) + 1, made)


BESIDE: dict[str, Lie] = {
    "withdrawn when it had expired": ("votes.withdrawn", "expired", _taken_back_late),
    "handed on when it had expired": (
        *("approvals.handed", "expired"),
        _late("approval.handed", {"to": "ben", "reason": "I am away"}),
    ),
    "handed on by the requester": ("approvals.handed", "withdrawn", _handed_by("rita")),
    "handed on by who had voted": (
        *("approvals.handed", "withdrawn"),
        lambda f: f.move(f.leaf("approval.handed"), before=f.leaf("vote.withdrawn")),
    ),
    "handed to who had voted": ("approvals.handed", "withdrawn", _handed_to_a_voter),
    "a review of broken glass that is handed on": ("approvals.handed", "glass", _review_handed),
    "asked when it had expired": ("questions.asked", "expired", _asked_late),
    "asked by the requester": ("questions.asked", "withdrawn", _asker("rita")),
    "asked by who had voted": (
        *("questions.asked", "withdrawn"),
        lambda f: _ask(f, f.leaf("vote.counted")),
    ),
    "two questions at one time": ("questions.asked", "withdrawn", lambda f: _ask(f, f.leaf("question.asked"))),
    "a question without words": (
        *("questions.asked", "withdrawn"),
        lambda f: f.approval()["questions"][0].update(question=" ? "),
    ),
    "an answer without words": (
        *("questions.asked", "withdrawn"),
        lambda f: f.approval()["questions"][0]["answer"].update(text=" "),
    ),
    "an answer that the request does not have": (
        *("questions.told", "withdrawn"),
        lambda f: f.approval()["questions"][0].pop("answer"),
    ),
    "a question that another hides": (
        *("questions.told", "withdrawn"),
        lambda f: f.approval()["questions"].append({**f.approval()["questions"][0], "person": "ben"}),
    ),
}

ANSWER_GROUPS = {"answers": ANSWERS, "pauses": PAUSES, "beside": BESIDE}


def _unshown(forged: Forged) -> None:
    """Leave out every card of an approval, and that it was shown."""
    forged.drop(*forged.all("card.shown"))
    forged.approval()["cards"] = []


def _shown_late(forged: Forged) -> None:
    forged.move(forged.leaf("card.shown"), after=forged.leaf("vote.counted"))


def _unnamed(forged: Forged) -> None:
    """Let a vote name no card, though one was shown before it."""
    del forged.leaf("vote.counted")["data"]["card"]


def _posted(forged: Forged, operation: str) -> None:
    """Let the receipt of a card be as the bot writes it: it says the digest of what was shown."""
    receipt = next(one for one in forged.receipts.values() if one["operation"] == operation)
    receipt["response"] = {**receipt["response"], "card": canonical.digest(forged.approval()["cards"][0])}


def _unshown_at_all(forged: Forged) -> None:
    """Leave out every card of an approval, that it was shown, and that people voted on it."""
    _posted(forged, "post_card")
    _unshown(forged)
    for vote in forged.all("vote.counted"):
        vote["data"].pop("card", None)


def posted_for(forged: Forged, about: str | None) -> None:
    """Let a card that was shown have been posted for another request, or for none."""
    _posted(forged, "post_card")
    receipt = next(one for one in forged.receipts.values() if one["operation"] == "post_card")
    forged.move(forged.leaf("card.shown"), before=forged.leaf_of(receipt))
    asked = forged.decisions[receipt["decision_id"]]["input"]["effect"]
    asked["fields"] = receipt["request"] = {**asked["fields"], "approval_id": about}
    named = {name: asked[name] for name in ("connector", "operation", "target", "fields", "tier")}
    action = {**named, **{name: receipt[name] for name in ("idempotency_key", "reversible_by")}}
    proposed = forged.leaf("effect.proposed", effect_id=receipt["effect_id"])["data"]
    asked["digest"] = receipt["fingerprint"] = proposed["digest"] = canonical.digest(action)


def _about(**other: str) -> Bend:
    """Return what lets the buttons of a card be about something else."""

    def bend(forged: Forged) -> None:
        own = json.dumps(_own(forged), separators=(",", ":")).removesuffix("}")
        told = json.dumps({**_own(forged), **other}, separators=(",", ":")).removesuffix("}")
        _replace(forged, own, told)

    return bend


def _own(forged: Forged) -> dict[str, str]:
    """Return what the buttons of the approval's card are about."""
    approval = forged.approval()
    stamp = canonical.digest([approval["digest"], approval["requirement"], "requested"])[:16]
    return {"id": approval["id"], "digest": approval["digest"][:16], "stamp": stamp}


def _replace(forged: Forged, own: str, told: str) -> None:
    """Put another text into each value of a card."""
    forged.approval()["cards"] = [_with(card, own, told) for card in forged.approval()["cards"]]


def _with(part: Any, own: str, told: str) -> Any:
    if isinstance(part, list):
        return [_with(one, own, told) for one in part]
    if isinstance(part, dict):
        return {name: _with(one, own, told) for name, one in part.items()}
    return part.replace(own, told) if isinstance(part, str) else part


def _in_another_order(forged: Forged) -> None:
    """Let a button name the digest of another action where a reader might not look for it."""
    approve = next(block for block in forged.approval()["cards"][0]["blocks"] if block["type"] == "actions")
    value = {"digest": "0" * 16, "id": forged.approval()["id"], "stamp": "0" * 16}
    approve["elements"][0]["value"] = json.dumps(value, separators=(",", ":"))


SHOWN: dict[str, Lie] = {
    "a vote on a card that nobody was shown": ("votes.shown", "filed", _unshown),
    "a card that was shown after the vote": ("votes.shown", "filed", _shown_late),
    "a vote on no card though one was shown": ("votes.shown", "filed", _unnamed),
    "a card that was posted, and left out with what names it": ("cards.receipted", "filed", _unshown_at_all),
    "a card that was posted before it was shown": ("cards.receipted", "filed", lambda f: _posted(f, "post_card")),
    "a card that was posted for another request": ("cards.receipted", "filed", lambda f: posted_for(f, "apr_other")),
    "a card that was posted for no request": ("cards.receipted", "filed", lambda f: posted_for(f, None)),
    "a card about another request": ("cards.about", "filed", _about(id="apr_other")),
    "a card about another action": ("cards.about", "filed", _about(digest="0" * 16)),
    "a card about another requirement": ("cards.about", "filed", _about(stamp="0" * 16)),
    "a card one button of which is about another action": ("cards.about", "filed", _in_another_order),
    "a card about nothing": (
        *("cards.about", "filed"),
        lambda f: f.approval().update(cards=[{"text": "File it?", "blocks": []}]),
    ),
}

SIZES: dict[str, Lie] = {
    "a card of more bytes than the program records": (
        *("cards.size", "filed"),
        lambda f: f.approval()["cards"][0].update(text="x" * MAX_CARD),
    ),
}

CARD_GROUPS = {"shown": SHOWN, "sizes": SIZES}
