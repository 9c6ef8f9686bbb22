"""Classes of signers and a veto in words: on cards, in modals and messages, on the Home and in evidence."""

import json
from dataclasses import replace
from typing import Any

from bot.views.bulk_votes import decide_modal, sort
from bot.views.card import card
from bot.views.details import details_modal
from bot.views.home import decided_blocks
from bot.views.messages import message_text
from bot.views.states import State, state_of
from bot.views.vote_modals import reason_modal
from bot.views.wording import explanation, progress_words, requirement
from evidence.export.approvals_table import decision_of, meaning_of, required_of
from evidence.reading.requests import needed
from runtime.model.approval import AskKind, StandingChange
from runtime.model.chat_message import RunName
from runtime.model.messages import ApprovalOpened, StandingChanged, VoteCounted
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.home import Entry, HomeStanding
from tests.unit.bot_samples import ANNA, BORIS, KYC, NOW
from tests.unit.test_signer_classes import COMMITTEE, FIVE

VIEW = replace(
    KYC,
    quorum=5,
    groups=("risk", "legal", "operations"),
    classes=("2 of risk", "1 of legal"),
    missing_classes=("1 of legal",),
    veto=("legal",),
)
SAID_NO = replace(BORIS, leaves_open=True)


def words_of(blocks: Any) -> str:
    return json.dumps(blocks, ensure_ascii=False)


def test_a_card_says_who_has_to_sign_and_who_has_a_veto() -> None:
    assert requirement(VIEW) == (
        "5 people from risk or legal or operations; among them 2 of risk and 1 of legal; legal may veto"
    )
    assert requirement(VIEW) in words_of(card(VIEW, now=NOW).blocks)
    assert explanation(VIEW) == ("Approving does this once. Only a no from legal ends it; any other no is recorded.")
    declared = replace(VIEW, declared=replace(KYC.declared, approve="Files it.", reject="Drops it."))
    assert explanation(declared) == (
        "Approve: Files it.\nReject: Drops it.\nOnly a no from legal ends it; any other no is recorded."
    )
    every = words_of(details_modal(VIEW, 0))
    assert every.count("Among them") == 2
    assert "May veto" in every


def test_progress_names_the_classes_that_are_not_complete() -> None:
    assert progress_words(VIEW) == "0 of 5 approvals"
    assert progress_words(replace(VIEW, votes=(ANNA,))) == "1 of 5 signatures; still needed: 1 of legal"
    five = replace(VIEW, votes=(ANNA,) * 5)
    assert progress_words(five) == "5 signatures; still needed: 1 of legal"
    assert progress_words(replace(five, missing_classes=())) == "5 of 5 approvals"


def test_a_no_that_ended_nothing_is_told_as_a_vote_and_the_request_keeps_its_buttons() -> None:
    view = replace(VIEW, votes=(ANNA, SAID_NO))
    shown = card(view, now=NOW)
    said = words_of(shown.blocks)
    assert "Boris Lind voted no" in said
    assert "no longer counts" not in said
    assert '"text": "Reject"' in said
    assert "rejected" not in said.lower()
    assert "Rejected" not in words_of(details_modal(view, 0))
    assert state_of(view, NOW) is State.PENDING
    changes = replace(SAID_NO, verdict=VoteVerdict.CHANGES)
    approved = replace(view, status=ApprovalStatus.APPROVED, votes=(ANNA, changes))
    assert state_of(approved, NOW) is State.APPROVED
    assert "This cancels the action" not in words_of(reason_modal(VIEW, VoteVerdict.REJECT, None))


def test_the_list_before_several_votes_says_that_a_rejection_may_end_nothing() -> None:
    for views, said in (((VIEW, KYC), True), ((KYC, KYC), False)):
        standings = [HomeStanding(view.approval_id, Entry(view, None), None) for view in views]
        modal = decide_modal(sort(standings, VoteVerdict.REJECT), VoteVerdict.REJECT, NOW)
        assert ("where others have the veto, it is recorded" in words_of(modal)) is said


def test_the_home_does_not_say_that_somebody_rejected_what_they_did_not_end() -> None:
    voted = decided_blocks(Entry(VIEW, None, VoteVerdict.REJECT, leaves_open=True), "acme", NOW)
    assert "You voted no: " in words_of(voted)
    ended = decided_blocks(Entry(VIEW, None, VoteVerdict.REJECT), "acme", NOW)
    assert "You rejected: " in words_of(ended)


RUN = RunName(title="File", reference="case 1")


def test_messages_tell_a_no_that_ended_nothing_as_a_vote() -> None:
    said = VoteCounted(
        ask=AskKind.EFFECT,
        person="Boris",
        verdict=VoteVerdict.REJECT,
        reason="wrong owner",
        count=1,
        quorum=5,
        leaves_open=True,
    )
    assert message_text(said) == 'Boris voted no (this stays open): "wrong owner"'
    told = StandingChanged(
        change=StandingChange.VOTED_NO,
        run=RUN,
        step="file",
        person="Boris",
        reason="wrong owner",
        groups=["legal", "board"],
        until="2026-03-02T17:00:00.000000Z",
    )
    assert message_text(told) == (
        "Boris voted no on file of File (case 1). "
        'It stays open until 2026-03-02 17:00 UTC; only a no from legal or board ends it: "wrong owner"'
    )


def test_messages_name_the_classes_that_are_needed_and_missing() -> None:
    said = VoteCounted(
        ask=AskKind.EFFECT,
        person="Anna",
        verdict=VoteVerdict.APPROVE,
        reason="",
        count=1,
        quorum=5,
        classes=["1 of legal"],
    )
    assert message_text(said) == "Anna approved (1 of 5 signatures; still needed: 1 of legal)."
    asked = ApprovalOpened(
        run=RUN,
        step="file",
        groups=["risk", "legal"],
        quorum=5,
        until="2026-03-02T17:00:00.000000Z",
        classes=["2 of risk", "1 of legal"],
    )
    assert message_text(asked).endswith(
        "5 people must approve it by 2026-03-02 17:00 UTC, among them 2 of risk and 1 of legal."
    )


def test_messages_without_classes_are_stored_as_before() -> None:
    said = VoteCounted(ask=AskKind.EFFECT, person="A", verdict=VoteVerdict.APPROVE, reason="", count=1, quorum=2)
    assert {"classes", "leaves_open"}.isdisjoint(said.model_dump(mode="json"))
    changed = StandingChanged(change=StandingChange.ENOUGH_AGAIN, run=RUN, step="file")
    assert {"classes", "reason"}.isdisjoint(changed.model_dump(mode="json"))


def test_evidence_says_what_was_required_and_what_a_no_meant() -> None:
    assert needed(COMMITTEE).startswith(
        "5 people of risk, legal or ops, 2 of risk among them, 1 of legal among them, only a no of legal ends it, never"
    )
    assert required_of(COMMITTEE) == "5 of risk or legal or ops; 2 of risk; 1 of legal; veto: legal"
    assert required_of(FIVE) == "5 of risk or legal or ops"
    no = ("effect", "reject", "")
    assert decision_of(*no, is_withdrawn=False, leaves_open=True) == "voted no"
    assert decision_of(*no, is_withdrawn=False, leaves_open=False) == "rejected"
    assert meaning_of(*no, is_withdrawn=False, leaves_open=True) == (
        "is against this action, which did not end the request"
    )
    assert meaning_of(*no, is_withdrawn=False, leaves_open=False) == "forbids this action"
