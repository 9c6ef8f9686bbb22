"""Refusals in words: why what somebody said does not count, for that person. Nobody else sees them."""

from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode

_WORDS = {
    RefusalCode.UNKNOWN: "Countersign no longer knows this request.",
    RefusalCode.OTHER_ACTION: "This card shows another action than the request.",
    RefusalCode.EXPIRED: "This request has expired.",
    RefusalCode.STALE: ("The card has changed since you opened it. Please read it again, then click."),
    RefusalCode.REQUESTER: "You requested this yourself, so someone else has to decide it.",
    RefusalCode.EXCLUDED: "Policy excludes you from deciding this request.",
    RefusalCode.REPEATED: "You have already voted on this request. Your vote stands unless you withdraw it.",
    RefusalCode.BROUGHT: "The caller that started this run cannot also answer it.",
    RefusalCode.BREAK_GLASS_SPENT: "You have no emergency overrides left.",
    RefusalCode.NO_TICKET: "Please name the ticket or incident.",
    RefusalCode.NO_BREAK_GLASS: "Policy allows no break-glass here.",
    RefusalCode.NO_VOTE: "You have no counted vote on this request to withdraw.",
    RefusalCode.IN_DOUBT: "This asks what happened; it takes no other answer.",
    RefusalCode.QUESTION_OPEN: "Your earlier question has no answer yet. Please wait for it.",
    RefusalCode.QUESTIONS_FULL: "This request takes no more questions.",
    RefusalCode.NO_QUESTION: "This question was already answered or is gone.",
    RefusalCode.NOT_ASKED: "Only the requester can answer this question, or a group that the runbook names for it.",
    RefusalCode.NOBODY_ANSWERS: (
        "Nobody can answer: neither requester nor submitter can be reached here, no program fetches questions, and the "
        "runbook names no other group that could. Nothing was sent."
    ),
    RefusalCode.NOT_ENTITLED: "This person may not decide this, or has already voted. Please choose another.",
    RefusalCode.NO_TASK: "Only a review can be claimed, released or answered in this way.",
    RefusalCode.CLAIMED: "Someone else has claimed this. You can answer it once they release it.",
    RefusalCode.CLAIMED_BEFORE: "You have already claimed this.",
    RefusalCode.NOT_CLAIMED: "You have not claimed this, so you cannot release it.",
    RefusalCode.NOT_EDITABLE: "This cannot be edited.",
    RefusalCode.UNCHANGED: "You changed nothing. Approve it as it is, or change something.",
    RefusalCode.UNFIT: "Your changes do not fit what the operation accepts.",
    RefusalCode.EDIT_DENIED: "Policy would deny this.",
    RefusalCode.NOT_ENOUGH_APPROVERS: "Not enough eligible approvers would be left.",
    RefusalCode.PASSKEY_NEEDED: "This needs a passkey signature. Press Approve on its card for the link.",
    RefusalCode.PASSKEY_UNKNOWN: "This passkey is not registered for you. Please ask an operator.",
    RefusalCode.PASSKEY_REVOKED: "This passkey was revoked. Please use another, or ask an operator.",
    RefusalCode.PASSKEY_WRONG: "The signature is for a different request.",
    RefusalCode.REASON_MISSING: "A reason is needed, in a few words.",
    RefusalCode.OTHER_TEAM: "You belong to another workspace. Only members of this one can decide here.",
    RefusalCode.DEACTIVATED: "This Slack account is deactivated, so it cannot decide.",
    RefusalCode.BOT: "Bots cannot decide. A person must.",
    RefusalCode.GUEST: "Guests cannot decide. Please ask a full member of this workspace.",
    RefusalCode.UNCLEAR: (
        "Slack did not say whether you are a full member of this workspace, so you cannot decide here."
    ),
    RefusalCode.NOT_IN_DIRECTORY: (
        "Countersign's directory has no person for your Slack account, so you cannot decide here."
    ),
    RefusalCode.AMBIGUOUS: ("Countersign's directory has two people for your Slack account. Please tell its operator."),
    RefusalCode.LOOKUP_FAILED: (
        "Slack did not confirm who you are just now, so this was not counted. Please try again."
    ),
    RefusalCode.UNCONFIRMED: (
        "Your click is recorded. It counts as soon as Slack confirms who you are; there is no need to click again."
    ),
    RefusalCode.UNUSABLE: "This cannot be recorded in this form.",
    RefusalCode.FAILING: "This is recorded, but could not be counted just now. It is tried again.",
}
_CLOSED = {
    ApprovalStatus.APPROVED: "This was already approved.",
    ApprovalStatus.REJECTED: "This was already rejected.",
    ApprovalStatus.EXPIRED: "This has expired.",
    ApprovalStatus.CANCELED: "This was canceled.",
}

_CLICK, _UNCHANGED = " Your click changes nothing.", " Nothing has changed."
_AFTER = {
    **dict.fromkeys((RefusalCode.CLOSED, RefusalCode.UNKNOWN, RefusalCode.OTHER_ACTION), _CLICK),
    **dict.fromkeys(
        (
            RefusalCode.EXPIRED,
            RefusalCode.BROUGHT,
            RefusalCode.BREAK_GLASS_SPENT,
            RefusalCode.NO_TICKET,
            RefusalCode.NO_BREAK_GLASS,
            RefusalCode.IN_DOUBT,
            RefusalCode.NO_QUESTION,
            RefusalCode.NO_TASK,
            RefusalCode.NOT_CLAIMED,
            RefusalCode.NOT_EDITABLE,
            RefusalCode.UNFIT,
            RefusalCode.EDIT_DENIED,
            RefusalCode.NOT_ENOUGH_APPROVERS,
            RefusalCode.PASSKEY_WRONG,
            RefusalCode.UNUSABLE,
        ),
        _UNCHANGED,
    ),
}
"""What a person at a card is told after the reason, so that they know what has become of their click."""


def refusal_words(refusal: Refusal) -> str:
    """Return what the person who clicked is told."""
    return refusal_reason(refusal) + _AFTER.get(refusal.code, "")


def refusal_reason(refusal: Refusal) -> str:
    """Return why something does not count, wherever it was said."""
    match refusal.code, refusal.about:
        case RefusalCode.CLOSED, about:
            reason = _CLOSED[ApprovalStatus(about[0])] if about else "This request is already closed."
        case RefusalCode.CLAIMED, (name, *_):
            reason = f"{name} has claimed this. You can answer it once they release it."
        case RefusalCode.BREAK_GLASS_SPENT, (most, *_):
            reason = f"You have used all {most} of your emergency overrides."
        case RefusalCode.NOT_ENOUGH_APPROVERS, (why,):
            reason = f"Not enough eligible approvers would be left: {why}."
        case RefusalCode.EDIT_DENIED, (_, *_) as reasons:
            reason = f"Policy would deny this: {'; '.join(reasons)}."
        case RefusalCode.REPEATED | RefusalCode.NO_VOTE, (name, *_):
            reason = f"{name} has voted on this for you. That vote stands unless {name} withdraws it."
        case RefusalCode.NOT_IN_GROUP, groups:
            reason = f"This request is for members of: {', '.join(groups)}."
        case code, _:
            reason = _WORDS[code]
    return reason
