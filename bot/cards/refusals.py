"""Why a click does not count, in words for the person who made it. Nobody else sees them."""

from runtime.model.approvals.votes import Refusal, RefusalCode
from runtime.model.states import ApprovalStatus

_WORDS = {
    RefusalCode.UNKNOWN: "Countersign does not know this request any more.",
    RefusalCode.OTHER_ACTION: "This card shows another action than the request.",
    RefusalCode.EXPIRED: "The time for this request has run out.",
    RefusalCode.STALE: ("The card has changed since you opened it. Please look at it as it is now, and click again."),
    RefusalCode.REQUESTER: "You asked for this yourself, so somebody else has to decide it.",
    RefusalCode.EXCLUDED: "Policy excludes you from deciding this request.",
    RefusalCode.REPEATED: "You have voted on this request already. It stands, unless you withdraw it under More.",
    RefusalCode.BROUGHT: "Whoever brought this run in cannot bring an answer to it, too.",
    RefusalCode.GLASS_SPENT: "You have broken the glass as often as policy lets you.",
    RefusalCode.NO_TICKET: "Please name the ticket or incident.",
    RefusalCode.NO_GLASS: "Policy lets nobody do without the others here.",
    RefusalCode.NO_VOTE: "You have no vote on this request that counts, so there is nothing to withdraw.",
    RefusalCode.IN_DOUBT: "This asks what happened, and takes no other answer.",
    RefusalCode.QUESTION_OPEN: "You have asked already, and there is no answer yet. Please wait for it.",
    RefusalCode.QUESTIONS_FULL: "So many questions were asked about this that it takes no more.",
    RefusalCode.NO_QUESTION: "This question was answered already, or is not there any more.",
    RefusalCode.NOT_ASKED: "This is a question to whoever asked for it, so it is not yours to answer.",
    RefusalCode.NOBODY_ANSWERS: (
        "Nobody can answer: neither requester nor submitter is a person who can be reached here, or a program that "
        "fetches questions. Nothing was sent."
    ),
    RefusalCode.NOT_ENTITLED: "This person may not decide this, or has voted on it already. Please choose another.",
    RefusalCode.NO_TASK: "Only a review can be claimed, given back, or answered in this way.",
    RefusalCode.CLAIMED: "Somebody else works on this. You can answer it when they give it back.",
    RefusalCode.CLAIMED_BEFORE: "You have claimed this already.",
    RefusalCode.NOT_CLAIMED: "You have not claimed this, so you cannot give it back.",
    RefusalCode.NOT_EDITABLE: "This cannot be edited.",
    RefusalCode.UNCHANGED: "Nothing of it is another than before. Approve it as it is, or change something.",
    RefusalCode.UNFIT: "What it would be does not fit what can be done.",
    RefusalCode.EDIT_DENIED: "Policy would deny this.",
    RefusalCode.NOT_ENOUGH_APPROVERS: "Not enough eligible approvers would be left.",
    RefusalCode.PASSKEY_NEEDED: "This has to be signed with a passkey. Press Approve on its card for a link to sign.",
    RefusalCode.PASSKEY_UNKNOWN: "This passkey is not registered for you. Please ask an operator.",
    RefusalCode.PASSKEY_REVOKED: "This passkey was revoked. Please use another, or ask an operator.",
    RefusalCode.PASSKEY_WRONG: "The signature is not over this request.",
    RefusalCode.REASON_MISSING: "A reason is needed, in a few words.",
    RefusalCode.OTHER_TEAM: "You belong to another workspace. Only members of this one can decide here.",
    RefusalCode.DEACTIVATED: "This Slack account is deactivated, so it cannot decide.",
    RefusalCode.BOT: "Bots cannot decide. A person has to.",
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
    RefusalCode.UNUSABLE: "This cannot be recorded as it is.",
    RefusalCode.FAILING: "This could not be recorded just now, and will be tried again.",
}
_CLOSED = {
    ApprovalStatus.APPROVED: "This was already approved.",
    ApprovalStatus.REJECTED: "This was already rejected.",
    ApprovalStatus.EXPIRED: "The time for this ran out.",
    ApprovalStatus.CANCELED: "This was canceled.",
}

_CLICK, _UNCHANGED = " Your click changes nothing.", " Nothing has changed."
_AFTER = {
    **dict.fromkeys((RefusalCode.CLOSED, RefusalCode.UNKNOWN, RefusalCode.OTHER_ACTION), _CLICK),
    **dict.fromkeys(
        (
            RefusalCode.EXPIRED,
            RefusalCode.BROUGHT,
            RefusalCode.GLASS_SPENT,
            RefusalCode.NO_TICKET,
            RefusalCode.NO_GLASS,
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
            reason = _CLOSED[ApprovalStatus(about[0])] if about else "This request is closed already."
        case RefusalCode.CLAIMED, (name, *_):
            reason = f"{name} works on this. You can answer it when they give it back."
        case RefusalCode.GLASS_SPENT, (most, *_):
            reason = f"You have broken the glass as often as policy lets you, which is {most}."
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
