"""What people are told on these pages: why a link leads nowhere, and why what they signed does not count."""

from runtime.model.votes import Refusal, RefusalCode
from runtime.services.passkeys_model import Closed

CLOSED = {
    Closed.UNKNOWN: "There is no such page",
    Closed.USED: "This page was used before",
    Closed.EXPIRED: "The time for this page has run out",
}
REMEDY = (
    "A link is for one person and for one time. If you were about to sign, start again from the card. If you "
    "were about to register a passkey, ask the person who invited you for another link."
)
SIGNED = "Signed. Your approval counts, and the card in Slack says so. You can close this page."
REGISTERED = "Your passkey is registered. You can close this page."
NOT_REGISTERED = "Your passkey is not registered: {}."

_REFUSED = {
    RefusalCode.STALE: "The request has changed since you opened this page. Look at its card as it is now.",
    RefusalCode.CLOSED: "This request is already closed. Your signature changes nothing.",
    RefusalCode.EXPIRED: "This request has expired. Nothing has changed.",
    RefusalCode.REQUESTER: "You requested this yourself, so someone else has to decide it.",
    RefusalCode.EXCLUDED: "Policy excludes you from deciding this request.",
    RefusalCode.NOT_IN_GROUP: "This request is for members of other groups than yours.",
    RefusalCode.REPEATED: "You have voted on this request already. Your first vote stands.",
    RefusalCode.NO_GLASS: "No one person may do without the others here. Nothing has changed.",
    RefusalCode.GLASS_SPENT: "You have broken the glass as often as policy lets you for now. Nothing has changed.",
    RefusalCode.REASON_MISSING: "A reason is needed. Start again from the card.",
    RefusalCode.PASSKEY_UNKNOWN: "This passkey is not registered for you. Use another, or ask an operator.",
    RefusalCode.PASSKEY_REVOKED: "This passkey was revoked. Use another, or ask an operator.",
    RefusalCode.PASSKEY_WRONG: "The signature is not over this request as it is. Start again from the card.",
    RefusalCode.FAILING: "This could not be counted just now, and is tried again. The card says when it is.",
}


def refusal_words(refusal: Refusal) -> str:
    """Return what the person is told; what is rare has its code, for whoever is asked about it."""
    return _REFUSED.get(refusal.code, f"This does not count ({refusal.code}). Nothing has changed.")
