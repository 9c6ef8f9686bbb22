"""Forged evidence: consent, actions, endings and the choice of the runbook's version.

Steps 7 to 11 of the verifier: consent that nobody gave, actions that were not decided on, endings that were not.

Evidence of a choice: the version of the run is one of those that were looked at, and its trigger says when.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidence.build import Dossier
from evidence.run_record import run_as_told
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from receipts.chain import Leaf
from tests.unit.evidence_bends import (
    APPROVAL,
    BEN,
    CAT,
    NO_DIGEST,
    NOT_SENT,
    SUE,
    WRITE_FILE,
    Change,
    asked,
    broken_by_members,
    drop,
    effect_of,
    escalate,
    fall_back,
    on_mocks,
    revote,
    revoted,
    rewrite,
    succeeded,
    told_with,
    unapproved,
    unchained,
    undone,
    unwritten,
)
from tests.unit.evidence_sample import Office, Story, story, vote
from tests.unit.evidence_variants import redefine


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


CONSENT: dict[str, Change] = {
    "requester, and nothing was done": (
        *("approvals.consent", APPROVAL, "counts the vote of the requester, ada"),
        lambda: told_with(revoted(CAT, vote("ada", "compliance")), undone),
    ),
    "submitter": (
        *("approvals.consent", APPROVAL, "counts the vote of the requester, intake-agent"),
        lambda: told_with(lambda s: revote(s, CAT, vote("intake-agent", "compliance"))),
    ),
    "too few, and nothing was done": (
        *("approvals.consent", APPROVAL, "1 approved, where 2 had to"),
        lambda: told_with(revoted(CAT), undone),
    ),
    "approved by nobody": (
        *("approvals.consent", APPROVAL, "0 approved, where 2 had to"),
        lambda: told_with(revoted(), undone),
    ),
    "task answered by the requester": (
        *("approvals.consent", "approvals/a-2.json", "counts the vote of the requester, ada"),
        lambda: told_with(lambda s: asked(s, "task", vote("ada", "legal"))),
    ),
    "doubt settled by the requester": (
        *("approvals.consent", "approvals/a-2.json", "counts the vote of the requester, ada"),
        lambda: told_with(lambda s: asked(s, "in_doubt", vote("ada", "legal"))),
    ),
    "doubt settled by nobody": (
        *("approvals.consent", "approvals/a-2.json", "0 approved, where 1 had to"),
        lambda: told_with(lambda s: asked(s, "in_doubt")),
    ),
    "answer about doubt, taken for consent": (
        *("acts.approved", "approvals/a-2.json", "is of kind in_doubt, and receipt r-3 rests on it"),
        lambda: told_with(lambda s: asked(s, "in_doubt", BEN), lambda s: s.receipts["r-3"].update(approval_id="a-2")),
    ),
    "next in line, and never asked": (
        *("approvals.consent", APPROVAL, "counts the vote of sue, who is in none of the groups"),
        lambda: told_with(revoted(CAT, SUE)),
    ),
    "next in line, and asked afterwards": (
        *("approvals.consent", APPROVAL, "counts the vote of sue, who is in none of the groups"),
        lambda: told_with(revoted(CAT, SUE), lambda s: escalate(s, "approval.approved")),
    ),
    "next in line, and asked about something else": (
        *("approvals.consent", APPROVAL, "counts the vote of sue, who is in none of the groups"),
        lambda: told_with(revoted(CAT, SUE), lambda s: escalate(s, "vote.counted", "a-7")),
    ),
    "next in line, fallen back on after others were asked": (
        *("approvals.consent", APPROVAL, "counts the vote of sue, who is in none of the groups"),
        lambda: told_with(
            revoted(CAT, SUE),
            lambda s: escalate(s, "vote.counted"),
            lambda s: s.events[[n for n, _ in s.events].index("wait.escalated")][1].update(to=[]),
            lambda s: fall_back(s, "wait.escalated", "senior-compliance"),
        ),
    ),
    "fallen back on, and not next in line": (
        *("approvals.consent", APPROVAL, "counts the vote of dan, who is in none of the groups"),
        lambda: told_with(revoted(CAT, vote("dan", "board")), lambda s: fall_back(s, "approval.requested", "board")),
    ),
    "policy told of other groups": (
        *("acts.approved", APPROVAL, "1 approved, where 2 had to"),
        lambda: told_with(lambda s: s.decisions["d-3"]["input"]["votes"][0].update(groups=["senior-compliance"])),
    ),
    "votes without approval": (
        *("decisions.of-votes", "decisions/00002-d-3.json", "allows on votes that no approval in the bundle has"),
        lambda: told_with(unapproved, unwritten),
    ),
    "votes without approval, and acted": (
        *("acts.approved", WRITE_FILE, "policy asked for approval, and the receipt names none"),
        lambda: told_with(unapproved, lambda s: s.receipts["r-3"].update(approval_id=None)),
    ),
}


ACTION: dict[str, Change] = {
    "other fields": (
        "acts.as-decided",
        WRITE_FILE,
        NO_DIGEST,
        lambda: told_with(lambda s: effect_of(s).update(fields={"text": "x"})),
    ),
    "other tier": (
        "acts.as-decided",
        WRITE_FILE,
        NO_DIGEST,
        lambda: told_with(lambda s: effect_of(s).update(tier="low")),
    ),
    "other key": (
        *("acts.as-decided", WRITE_FILE, NO_DIGEST),
        lambda: told_with(lambda s: s.receipts["r-3"].update(idempotency_key="key-9")),
    ),
    "said to be irreversible": (
        *("acts.as-decided", WRITE_FILE, NO_DIGEST),
        lambda: told_with(lambda s: s.receipts["r-3"].update(reversible_by=None)),
    ),
    "in doubt about other fields": (
        *("acts.as-decided", WRITE_FILE, NO_DIGEST),
        lambda: told_with(
            lambda s: effect_of(s).update(fields={"text": "x"}), lambda s: s.receipts["r-3"].update(outcome="in_doubt")
        ),
    ),
    "sent something else": (
        *("acts.as-decided", "receipts/00001-r-2.json", NOT_SENT),
        lambda: told_with(lambda s: s.receipts["r-2"].update(request={"text": "another card"})),
    ),
    "sent a number for a truth": (
        *("acts.as-decided", WRITE_FILE, NOT_SENT),
        lambda: told_with(
            lambda s: rewrite(s, fields={"final": True}), lambda s: s.receipts["r-3"].update(request={"final": 1})
        ),
    ),
    "hides less than it says": (
        *("acts.as-decided", "receipts/00001-r-2.json", NOT_SENT),
        lambda: told_with(lambda s: s.receipts["r-2"].update(redacted=["/request/text"])),
    ),
    "hidden at no place": (
        *("acts.as-decided", "receipts/00001-r-2.json", "redacted: '/~2' is not a JSON pointer"),
        lambda: told_with(lambda s: s.receipts["r-2"].update(redacted=["/request/~2"])),
    ),
}

BELONGING: dict[str, Change] = {
    "receipt of another run": (
        *("receipts.of-run", WRITE_FILE, "is of run run-2 of tenant acme"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(run_id="run-2")),
    ),
    "receipt of another tenant": (
        *("receipts.of-run", WRITE_FILE, "is of run run-1 of tenant umbrella"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(tenant="umbrella")),
    ),
    "receipt that says mocks of a run that was real": (
        *("receipts.of-run", WRITE_FILE, "is of a run on mocks, and audit.jsonl says otherwise"),
        lambda: told_with(lambda s: s.receipts["r-3"].update(mocked=True)),
    ),
    "receipt that says nothing of a run that was on mocks": (
        *("receipts.of-run", "receipts/00001-r-2.json", "is not of a run on mocks, and audit.jsonl says otherwise"),
        lambda: told_with(on_mocks),
    ),
    "kind turned": (
        *("approvals.on-record", APPROVAL, "kind: the file says task"),
        lambda: unchained("approvals", 0, kind="task"),
    ),
    "approval of another effect": (
        *("approvals.on-record", APPROVAL, "effect_id: the file says e-card"),
        lambda: unchained("approvals", 0, effect_id="e-card"),
    ),
}


def run_as_told_of(told: Story) -> dict[str, Any]:
    """Return what `run.json` says of a run, but for where its leaves end."""
    run = run_as_told([Leaf.model_validate(leaf) for leaf in told.dossier().leaves])
    return {name: value for name, value in run.items() if name not in ("sealed_seq", "audit_head")}


NO_RECEIPT = "line 20: step file succeeded, and no receipt says that it acted"
ENDING: dict[str, Change] = {
    "status": (
        *("run.ended", "run.json", "status is canceled, where audit.jsonl says succeeded"),
        lambda: told_with(lambda s: s.run.update(status="canceled")),
    ),
    "requester": (
        *("run.ended", "run.json", "requested_by is zoe, where audit.jsonl says ada"),
        lambda: told_with(lambda s: s.run.update(requested_by="zoe")),
    ),
    "submitter": (
        *("run.ended", "run.json", "submitted_by is zoe, where audit.jsonl says intake-agent"),
        lambda: told_with(lambda s: s.run.update(submitted_by="zoe")),
    ),
    "definition": (
        *("run.ended", "run.json", "definition.digest is"),
        lambda: told_with(
            lambda s: s.run.update(run_as_told_of(s)), lambda s: s.events[0][1].update(definition_digest="0" * 64)
        ),
    ),
    "not asked for": (
        *("run.queued", "audit.jsonl", "run.queued is not its first line"),
        lambda: told_with(
            lambda s: s.run.update(run_as_told_of(s)), lambda s: s.events.insert(0, ("run.noted", {"format": 1}))
        ),
    ),
    "asked for twice": (
        *("run.queued", "audit.jsonl", "run.queued is not its first line, or not only that"),
        lambda: told_with(lambda s: s.events.insert(1, s.events[0])),
    ),
    "not ended": (
        *("run.ended", "audit.jsonl", "does not say how the run ended"),
        lambda: told_with(lambda s: s.run.update(run_as_told_of(s)), lambda s: drop(s, "run.succeeded")),
    ),
    "step that failed": (
        *("steps.receipts", "audit.jsonl", NO_RECEIPT),
        lambda: told_with(lambda s: s.receipts["r-3"].update(outcome="failure")),
    ),
    "step that may have acted": (
        *("steps.receipts", "audit.jsonl", NO_RECEIPT),
        lambda: told_with(lambda s: s.receipts["r-3"].update(outcome="in_doubt")),
    ),
    "receipt of another step": (
        *("steps.receipts", "audit.jsonl", NO_RECEIPT),
        lambda: told_with(lambda s: s.receipts["r-3"].update(step="other")),
    ),
    "answer without a start": (
        *("steps.receipts", "audit.jsonl", "step file succeeded, and no receipt"),
        lambda: told_with(undone, lambda s: s.events.insert(-2, ("wait.completed", {})), succeeded),
    ),
    "step that is not in the definition": (
        *("steps.receipts", "audit.jsonl", "line 21: no step other is in definition.json"),
        lambda: told_with(lambda s: s.events.insert(-2, ("step.succeeded", {"step": "other"}))),
    ),
}


GROUPS = {"consent": CONSENT, "action": ACTION, "belonging": BELONGING, "ending": ENDING}
CHANGES = {f"{group}: {name}": change for group, changes in GROUPS.items() for name, change in changes.items()}


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


OTHER = {"name": "other", "version": 1, "digest": "0" * 64}


def chosen() -> Story:
    """Return the sound run whose runbook was chosen between two."""
    told = story()
    definition = canonical.loads(told.definition)
    definition["trigger"]["when"] = "trigger.kind == 'corporate'"
    redefine(told, definition)
    queued = told.events[0][1]
    queued["among"] = [{"name": "kyc", "version": 3, "digest": queued["definition_digest"]}, OTHER]
    return told


def among(*candidates: Any) -> Dossier:
    """Return the dossier of a run that names others among which its version was chosen."""
    told = chosen()
    told.events[0][1]["among"] = list(candidates)
    return told.dossier()


def own() -> dict[str, Any]:
    found: dict[str, Any] = chosen().events[0][1]["among"][0]
    return found


def _unsaid() -> Dossier:
    told = chosen()
    del told.events[0][1]["among"]
    return told.dossier()


def _said() -> Dossier:
    told = story()
    told.events[0][1]["among"] = [OTHER]
    return told.dossier()


_OTHER_THAN = "audit.jsonl", "line 1: it says what was to choose among, or not, other than the definition's trigger"
_NOT_CHOSEN = "audit.jsonl", "line 1: kyc version 3 is not what was chosen among what it names"
LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a choice of which nothing is said": (("run.definition", *_OTHER_THAN), _unsaid),
    "a choice where there was none": (("run.definition", *_OTHER_THAN), _said),
    "a run of what was not looked at": (("run.definition", *_NOT_CHOSEN), lambda: among(OTHER)),
    "another version": (("run.definition", *_NOT_CHOSEN), lambda: among({**own(), "version": 4}, OTHER)),
    "another text": (("run.definition", *_NOT_CHOSEN), lambda: among({**own(), "digest": "0" * 64}, OTHER)),
    "one name twice": (("run.definition", *_NOT_CHOSEN), lambda: among(own(), {**own(), "version": 2})),
    "a candidate without a digest": (
        ("run.definition", "audit.jsonl", "line 1: among.1.digest: Field required"),
        lambda: among(own(), {"name": "other", "version": 1}),
    ),
}


def test_a_run_that_was_chosen_or_asked_for_by_name_holds(office: Office) -> None:
    verify(office.seal(chosen().dossier()), office.public)
    verify(office.seal(among()), office.public)


@pytest.mark.parametrize("name", LIES)
def test_what_is_told_of_a_choice_must_agree_with_the_definition(office: Office, name: str) -> None:
    (rule, member, what), lie = LIES[name]
    path: Path = office.seal(lie())
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    assert (caught.value.rule, caught.value.member, caught.value.what) == (rule, member, what)
