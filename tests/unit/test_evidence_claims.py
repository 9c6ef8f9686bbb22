"""Steps 7 to 10 of the verifier: a sealer with the right key cannot pass off what the records themselves contradict."""

import dataclasses

import pytest

from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from receipts.chain import MAX_CARD
from tests.unit.evidence_bends import (
    APPROVAL,
    BEN,
    CAT,
    SUE,
    WRITE_FILE,
    Bend,
    Change,
    again,
    asked,
    broken_by_members,
    drop,
    enlarge_card,
    escalate,
    fail,
    fall_back,
    move,
    outcome,
    require,
    revote,
    revoted,
    rewrite,
    succeeded,
    taken_back,
    told_with,
    unchained,
    undone,
)
from tests.unit.evidence_sample import CARD, POLICY, REQUIREMENT, WRITE, Office, story, vote


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


ON_RECORD: dict[str, Change] = {
    "receipt changed": (
        *("receipts.on-record", "receipts/00002-r-3.json", "its SHA-256 is not the digest in audit.jsonl line 19"),
        lambda: unchained("receipts", 1, error="none"),
    ),
    "decision changed": (
        *("decisions.on-record", "decisions/00001-d-1.json", "its SHA-256 is not the digest in audit.jsonl line 5"),
        lambda: unchained("decisions", 0, latency_ms=0),
    ),
    "receipt left out": (
        *("receipts.on-record", "receipts/00002-r-3.json", "is not in the bundle"),
        lambda: dataclasses.replace(story().dossier(), receipts=story().dossier().receipts[:1]),
    ),
    "receipt not named": (
        *("receipts.on-record", "receipts/00002-r-3.json", "no line of audit.jsonl names it"),
        lambda: told_with(lambda s: drop(s, "receipt.written", receipt_id="r-3")),
    ),
    "decision not named": (
        *("decisions.on-record", "decisions/00003-d-2.json", "no line of audit.jsonl names it"),
        lambda: told_with(lambda s: drop(s, "decision.recorded", decision_id="d-2")),
    ),
    "approval left out": (
        *("approvals.on-record", "approvals/a-1.json", "is not in the bundle"),
        lambda: dataclasses.replace(story().dossier(), approvals=[]),
    ),
    "approval not named": (
        *("approvals.on-record", "approvals/a-1.json", "no line of audit.jsonl names it"),
        lambda: told_with(lambda s: drop(s, "approval.requested")),
    ),
    "approval bound anew": (
        *("approvals.on-record", "approvals/a-1.json", "digest: the file says"),
        lambda: unchained("approvals", 0, digest=CARD),
    ),
    "requirement lowered": (
        *("approvals.on-record", "approvals/a-1.json", "requirement: the file says"),
        lambda: unchained("approvals", 0, requirement=REQUIREMENT | {"quorum": 1}),
    ),
    "vote invented": (
        *("approvals.on-record", "approvals/a-1.json", "votes: the file says"),
        lambda: told_with(lambda s: s.approvals["a-1"]["votes"].append(vote("dan", "legal"))),
    ),
    "vote suppressed": (
        *("approvals.on-record", "approvals/a-1.json", "votes: the file says"),
        lambda: told_with(lambda s: s.approvals["a-1"]["votes"].pop()),
    ),
    "verdict turned": (
        *("approvals.on-record", "approvals/a-1.json", "votes: the file says"),
        lambda: told_with(lambda s: s.approvals["a-1"]["votes"][0].update(verdict="reject")),
    ),
    "status turned": (
        *("approvals.on-record", "approvals/a-1.json", "status: the file says ['rejected']"),
        lambda: told_with(lambda s: s.approvals["a-1"].update(status="rejected")),
    ),
    "ended twice": (
        *("approvals.on-record", "approvals/a-1.json", "status: the file says ['approved']"),
        lambda: told_with(lambda s: s.events.insert(-2, ("approval.expired", {"approval_id": "a-1"}))),
    ),
    "card too large": (
        *("cards.size", "approvals/a-1.json", f"card 1 has {MAX_CARD + 1} bytes, and may have {MAX_CARD}"),
        lambda: told_with(lambda s: enlarge_card(s, MAX_CARD + 1)),
    ),
    "outcome turned": (
        *("decisions.as-answered", "decisions/00001-d-1.json", "outcome is allow, and its answer says needs_approval"),
        lambda: told_with(lambda s: s.decisions["d-1"].update(outcome="allow")),
    ),
}


AUTHORITY: dict[str, Change] = {
    "no decision": (
        *("acts.allowed", WRITE_FILE, "acted, and its decision None is not in the bundle"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(decision_id=None)),
    ),
    "decision not in the bundle": (
        *("acts.allowed", WRITE_FILE, "acted, and its decision d-7 is not in the bundle"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(decision_id="d-7")),
    ),
    "denied": (
        *("acts.allowed", WRITE_FILE, "acted, though its decision d-3 says deny"),
        lambda: told_with(lambda s: outcome(s, "d-3", "deny")),
    ),
    "denied, and in doubt": (
        *("acts.allowed", WRITE_FILE, "acted, though its decision d-3 says deny"),
        lambda: told_with(
            lambda s: outcome(s, "d-3", "deny"),
            lambda s: s.receipts["r-3"].update(outcome="in_doubt"),
        ),
    ),
    "decision that only asked for approval": (
        *("acts.allowed", WRITE_FILE, "acted, though its decision d-1 says needs_approval"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(decision_id="d-1")),
    ),
    "decision about another effect": (
        *("acts.allowed", WRITE_FILE, "its decision d-2 is about another effect"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(decision_id="d-2")),
    ),
    "another digest": (
        *("acts.allowed", WRITE_FILE, "its decision d-3 is about another effect"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(fingerprint=CARD)),
    ),
    "another target": (
        *("acts.allowed", WRITE_FILE, "its decision d-3 is about another effect"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(target="DE/999")),
    ),
    "approval passed over": (
        *("acts.approved", WRITE_FILE, "policy asked for approval, and the receipt names none"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(approval_id=None)),
    ),
    "approval not in the bundle": (
        *("acts.approved", "approvals/a-9.json", "is not in the bundle, and receipt r-3 rests on it"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(approval_id="a-9")),
    ),
    "approval expired": (
        *("acts.approved", APPROVAL, "is expired, and receipt r-3 rests on it"),
        lambda: told_with(
            lambda s: drop(s, "approval.approved"),
            lambda s: s.events.insert(-2, ("approval.expired", {"approval_id": "a-1"})),
            lambda s: s.approvals["a-1"].update(status="expired"),
        ),
    ),
    "approval bound to another effect": (
        *("acts.approved", APPROVAL, "is bound to another effect"),
        lambda: told_with(lambda s: s.approvals["a-1"].update(digest=CARD)),
    ),
    "requirement that policy did not state": (
        *("acts.approved", APPROVAL, "its requirement is not one that policy asked for"),
        lambda: told_with(lambda s: s.approvals["a-1"].update(requirement=REQUIREMENT | {"expires_in": "P9D"})),
    ),
    "policy told of other votes": (
        *("acts.approved", APPROVAL, "its votes are not those that policy was told in decision d-3"),
        lambda: told_with(lambda s: s.decisions["d-3"]["input"]["votes"].append(vote("dan", "legal"))),
    ),
    "too few": (
        *("approvals.consent", APPROVAL, "1 approved, where 2 had to"),
        lambda: told_with(lambda s: revote(s, CAT)),
    ),
    "too few, as one rejected": (
        *("approvals.consent", APPROVAL, "1 approved, where 2 had to"),
        lambda: told_with(lambda s: revote(s, CAT, BEN | {"verdict": "reject"})),
    ),
    "one person twice": (
        *("approvals.consent", APPROVAL, "counts a person twice"),
        lambda: told_with(lambda s: revote(s, CAT, CAT)),
    ),
    "requester": (
        *("approvals.consent", APPROVAL, "counts the vote of the requester, ada"),
        lambda: told_with(lambda s: revote(s, CAT, vote("ada", "compliance"))),
    ),
    "requester of the run, where an agent asked": (
        *("approvals.consent", APPROVAL, "counts the vote of the requester, ben"),
        lambda: told_with(lambda s: s.events[0][1].update(actor="ben")),
    ),
    "excluded person": (
        *("approvals.consent", APPROVAL, "counts the vote of eve, who was excluded"),
        lambda: told_with(lambda s: revote(s, CAT, vote("eve", "compliance"))),
    ),
    "stranger": (
        *("approvals.consent", APPROVAL, "counts the vote of sam, who is in none of the groups"),
        lambda: told_with(lambda s: revote(s, CAT, vote("sam", "sales"))),
    ),
    "one of all groups missing": (
        *("approvals.consent", APPROVAL, "each group needs an approval of its own, and legal has none"),
        lambda: told_with(lambda s: revote(s, BEN, vote("dan", "compliance"))),
    ),
    "one person for two groups": (
        *("approvals.consent", APPROVAL, "each group needs an approval of its own, and legal has none"),
        lambda: told_with(lambda s: revote(s, CAT, SUE), lambda s: escalate(s, "vote.counted")),
    ),
    "quorum of three": (
        *("approvals.consent", APPROVAL, "2 approved, where 3 had to"),
        lambda: told_with(lambda s: require(s, quorum=3)),
    ),
}

POLICY_DIGEST = canonical.digest(POLICY)
POLICIES: dict[str, Change] = {
    "text changed": (
        *("policies.digest", f"policies/{POLICY_DIGEST}", "its files do not give the digest"),
        lambda: told_with(lambda s: s.policies[POLICY_DIGEST].update({"data.json": "{ }"})),
    ),
    "file added": (
        *("policies.digest", f"policies/{POLICY_DIGEST}", "its files do not give the digest"),
        lambda: told_with(lambda s: s.policies[POLICY_DIGEST].update({"more.rego": ""})),
    ),
    "policy left out": (
        *("policies.there", "decisions/00001-d-1.json", f"its policy {POLICY_DIGEST} is not in the bundle"),
        lambda: told_with(lambda s: s.policies.clear()),
    ),
    "policy that decided nothing": (
        *("policies.used", f"policies/{canonical.digest({'a.rego': ''})}", "no decision was made by it"),
        lambda: told_with(lambda s: s.policies.update({canonical.digest({"a.rego": ""}): {"a.rego": ""}})),
    ),
}


ORDER: dict[str, Change] = {
    "finished before it started": (
        *("receipts.lasting", "receipts/00001-r-2.json", "finished before it started"),
        lambda: told_with(lambda s: s.receipts["r-2"].update(finished_at="2025-01-01T00:00:00.000000Z")),
    ),
    "acted before the decision": (
        *("acts.after-decision", "receipts/00001-r-2.json", "acted before its decision d-2"),
        lambda: told_with(lambda s: move(s, "receipt.written", "decision.recorded", receipt_id="r-2")),
    ),
    "voted after the decision": (
        *("acts.after-votes", WRITE_FILE, "vote.counted (leaf 20) came after its decision d-3"),
        lambda: told_with(lambda s: move(s, "vote.counted", "run.succeeded", person="ben")),
    ),
    "approved after the decision": (
        *("acts.after-votes", WRITE_FILE, "approval.approved (leaf 20) came after its decision d-3"),
        lambda: told_with(lambda s: move(s, "approval.approved", "run.succeeded")),
    ),
    "acted twice": (
        *("keys.once", "receipts/00003-r-4.json", "acted again after the success in receipt r-2"),
        lambda: told_with(again),
    ),
    "key of another effect": (
        *("keys.once", WRITE_FILE, "its idempotency key had served another effect, in receipt r-2"),
        lambda: told_with(lambda s: rewrite(s, idempotency_key="key-e-card")),
    ),
    "began before the decision": (
        *("acts.after-decision", "receipts/00001-r-2.json", "acted before its decision d-2"),
        lambda: told_with(lambda s: s.receipts["r-2"].update(started_at="2026-01-31T09:02:59.999999Z")),
    ),
}


CHANGES = ON_RECORD | AUTHORITY | POLICIES | ORDER


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_hold_is_named_by_its_rule(office: Office, name: str) -> None:
    rule, member, what, make = CHANGES[name]
    path = office.seal(make())
    found = broken_by_members(office, path)
    assert found is not None
    assert found[:2] == (rule, member), found
    assert what in found[2]
    with pytest.raises(VerificationError):
        verify(path, office.public)


SOUND: dict[str, list[Bend]] = {
    "a card as large as it may be": [lambda s: enlarge_card(s, MAX_CARD)],
    "refused without any decision": [
        fail,
        lambda s: s.receipts["r-3"].update(outcome="refusal", decision_id=None),
    ],
    "denied and refused": [
        fail,
        lambda s: outcome(s, "d-3", "deny"),
        lambda s: s.receipts["r-3"].update(outcome="refusal"),
    ],
    "in doubt first, then known to have happened": [lambda s: s.receipts["r-2"].update(outcome="in_doubt"), again],
    "same key refused for another effect": [lambda s: again(s, outcome="refusal", fingerprint=WRITE)],
    "one rejected, and two approved": [lambda s: revote(s, BEN, CAT, vote("dan", "legal", verdict="reject"))],
    "one of two groups is enough": [
        lambda s: require(s, all_groups=False),
        lambda s: revote(s, BEN, vote("dan", "compliance")),
    ],
    "policy was told when": [
        lambda s: s.decisions["d-1"]["input"].update(approval=None),
        lambda s: s.decisions["d-3"]["input"].update(approval={"requested_at": "", "expires_at": ""}),
        lambda s: [vote.update(at="") for vote in s.decisions["d-3"]["input"]["votes"]],
    ],
    "approved, and never done": [undone],
    "next in line, since the others could not decide": [
        revoted(BEN, CAT, SUE),
        lambda s: fall_back(s, "approval.requested", "senior-compliance"),
    ],
    "next in line, once time ran short": [revoted(BEN, CAT, SUE), lambda s: escalate(s, "vote.counted")],
    "voted, and taken back": [lambda s: taken_back(s, vote("dan", "legal"))],
    "task that was answered": [lambda s: asked(s, "task", BEN)],
    "doubt that was settled": [lambda s: asked(s, "in_doubt", BEN)],
    "done before under its key": [undone, lambda s: s.events.insert(-2, ("effect.repeated", {})), succeeded],
    "start in doubt, whose answer came": [
        lambda s: s.receipts["r-3"].update(outcome="in_doubt"),
        lambda s: s.events.insert(-2, ("wait.completed", {})),
    ],
    "start in doubt of a task that was answered": [
        lambda s: s.receipts["r-3"].update(outcome="in_doubt"),
        lambda s: asked(s, "task", BEN),
    ],
    "canceled": [lambda s: s.events.__setitem__(-2, ("run.canceled", {}))],
    "nothing but a start and an end": [
        *(lambda s, part=part: getattr(s, part).clear() for part in ("decisions", "receipts", "approvals", "policies")),
        lambda s: s.events.__delitem__(slice(1, -2)),
    ],
}


@pytest.mark.parametrize("name", SOUND)
def test_what_holds_is_not_faulted(office: Office, name: str) -> None:
    assert broken_by_members(office, office.seal(told_with(*SOUND[name]))) is None
