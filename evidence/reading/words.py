"""The words for codes, moments and lengths of time. Of a code that has no word here, the code itself is told."""

import re
from collections.abc import Sequence

_MOMENT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})\.[0-9]{6}Z", re.ASCII)
_DURATION = re.compile(
    r"P(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})S)?)?", re.ASCII
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS = ("week", "day", "hour", "minute", "second")

STATUSES = {
    "succeeded": "succeeded",
    "failed_terminal": "failed",
    "canceled": "canceled",
}
ENDINGS = {
    "approved": "approved",
    "rejected": "rejected",
    "expired": "expired without a decision",
    "canceled": "canceled",
    "requested": "not decided",
}
AFTER_ENDINGS = {"approved": "reviewed: justified", "rejected": "reviewed: not justified"}
DOUBT_ENDINGS = {"approved": "settled: it happened", "rejected": "settled: it did not happen"}
VERDICTS = {"approve": "approved", "reject": "rejected", "changes": "asked for changes"}
AFTER_VERDICTS = {"approve": "found it justified", "reject": "found it not justified"}
DOUBT_VERDICTS = {"approve": "stated that it happened", "reject": "stated that it did not happen"}

AGAINST_VERDICTS = {"reject": "voted no", "changes": "asked for changes"}
AGAINST_MEANINGS = {
    "reject": "is against this action, which did not end the request",
    "changes": "says what should change, which did not end the request",
}
"""What is said of a no that ended nothing, since policy gave the veto to others."""

MEANINGS = {
    ("effect", "approve"): "authorizes exactly this action, once",
    ("effect", "reject"): "forbids this action",
    ("effect", "changes"): "forbids this action as it is and says what should change",
    ("task", "approve"): "has reviewed and accepts it",
    ("task", "reject"): "has reviewed and does not accept it",
    ("task", "changes"): "has reviewed it and says what should change",
    ("in_doubt", "approve"): "states that it happened",
    ("in_doubt", "reject"): "states that it did not happen",
    ("afterwards", "approve"): "has reviewed it afterwards and finds it justified",
    ("afterwards", "reject"): "has reviewed it afterwards and finds it not justified",
}
"""What a signature means, by what was asked and what was answered (21 CFR 11.50), after the name of who signed."""

IN_CONSOLE = " in the console"
WITHDRAWN, NO_MORE = ", then withdrew it", "no longer counts"
"""What stands behind the answer of a vote that was withdrawn, and what its signature means since."""

ALONE = ", without the required signatures"
"""What is added for a vote that uses break-glass."""

KINDS = {
    "effect": "An action that needs approval",
    "task": "A review",
    "in_doubt": "Did an attempt happen?",
    "afterwards": "Break-glass review",
}
OUTCOMES = {
    "success": "done",
    "failure": "failed",
    "refusal": "not done",
    "in_doubt": "no answer: it may have been done",
}
ANSWERS = {"allow": "allowed", "deny": "denied", "needs_approval": "needs approval for"}

REFUSALS = {
    "vote.requester": "requested it, so someone else has to decide",
    "vote.excluded": "is excluded by policy",
    "vote.not_in_group": "is in none of the groups that were asked",
    "vote.repeated": "had already voted",
    "vote.reason_missing": "gave no reason where one is required",
    "vote.brought": "answered through the caller that started the run",
    "break_glass.none": "tried break-glass where policy allows none",
    "break_glass.ticket": "named no ticket",
    "break_glass.spent": "had no emergency overrides left",
    "vote.none": "had no counted vote",
    "vote.in_doubt": "gave an answer that was not asked for",
    "question.open": "had asked before and had no answer yet",
    "question.too_many": "asked one question too many",
    "question.none": "answered a question that was closed",
    "question.nobody": "asked a question nobody could answer",
    "question.not_asked": "answered a question put to others",
    "hand.not_entitled": "chose someone who may not decide it",
    "task.none": "used an act that only reviews have",
    "task.claimed": "answered a review that someone else had claimed",
    "task.claimed_before": "had already claimed it",
    "task.not_claimed": "had not claimed it",
    "edit.not_editable": "tried to edit what cannot be edited",
    "edit.unchanged": "changed nothing",
    "edit.unfit": "entered values that do not fit the operation",
    "edit.denied": "entered values that policy denies",
    "approvers.too_few": "would have left too few eligible approvers",
    "vote.closed": "came after the decision",
    "vote.expired": "came after it expired",
    "vote.stale": "answered an outdated card",
    "vote.other_action": "answered a card of another action",
    "vote.unknown": "answered an unknown request",
    "identity.other_team": "belongs to another workspace",
    "identity.deactivated": "has a deactivated account",
    "identity.bot": "is a bot",
    "identity.guest": "is a guest",
    "identity.unclear": "may not be a full member of the workspace",
    "identity.unknown": "is not in the directory",
    "identity.ambiguous": "has an account shared by two people of the directory",
    "identity.lookup_failed": "could not be identified then",
    "inbox.unusable": "sent something that cannot be recorded",
    "inbox.failing": "sent something that could not be recorded then",
}
"""Why a vote did not count, for a sentence that begins with who sent it."""


def ending(kind: str, status: str) -> str:
    """Return how a request of a kind ended."""
    own = {"in_doubt": DOUBT_ENDINGS, "afterwards": AFTER_ENDINGS}
    return own.get(kind, {}).get(status) or ENDINGS.get(status, status)


def by_break_glass(ticket: str) -> str:
    """Return what is added to a verdict that uses break-glass by a ticket; "" where there is none."""
    return f" by break-glass ({ticket})" if ticket else ""


def verdict(kind: str, code: str, *, leaves_open: bool = False) -> str:
    """Return what a person answered, for a sentence that begins with the name; a no may have ended nothing."""
    if leaves_open:
        return AGAINST_VERDICTS.get(code, code)
    own = {"in_doubt": DOUBT_VERDICTS, "afterwards": AFTER_VERDICTS}
    return own.get(kind, VERDICTS).get(code, code)


def meaning(kind: str, code: str, *, leaves_open: bool = False) -> str:
    """Return what a signature means, after the name of who signed; a no may have ended nothing."""
    return AGAINST_MEANINGS.get(code, "") if leaves_open else MEANINGS.get((kind, code), "")


def moment(text: str) -> str:
    """Return a moment as `21 Nov 2026, 14:03:07 UTC`; "" where the text is none of ours."""
    found = _MOMENT.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= len(_MONTHS):
        return ""
    return f"{day_in_words(text)}, {found[4]} UTC"


def day_in_words(text: str) -> str:
    """Return the day of a moment as `21 Nov 2026`; "" where the text is none of ours."""
    found = _MOMENT.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= len(_MONTHS):
        return ""
    return f"{int(found[3])} {_MONTHS[int(found[2]) - 1]} {found[1]}"


def duration(text: str) -> str:
    """Return an ISO 8601 duration as `8 hours`; the text itself where it is another one."""
    found = _DURATION.fullmatch(text)
    parts = [counted(int(n), unit) for n, unit in zip(found.groups(), _UNITS, strict=True) if n] if found else []
    return " and ".join(parts) or text


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def listed(parts: Sequence[str], last: str = "and") -> str:
    """Return `one, two and three`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def plain(code: str) -> str:
    """Return a code as words: `file_report` as `file report`."""
    return code.replace("_", " ").replace(".", " ")
