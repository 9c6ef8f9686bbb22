"""What stands between Approve and a vote that has to be signed: a link to the page where one signs."""

from typing import Any

from bot.views import references
from bot.views.blocks import context, link, mrkdwn_text, plain_text, section
from bot.views.modals import summary
from bot.views.text import Shown
from runtime.model.votes import ClaimAct, VoteVerdict
from runtime.services.approval_view import ApprovalView

_WHY = Shown(
    "This has to be signed with your passkey. The page shows what you sign, and your device or security key confirms "
    "that it is you. Your approval counts once you have signed there."
)
_ALONE = Shown(
    "This has to be signed with your passkey. The page shows what you sign, with your reason and your ticket, and your "
    "device or security key confirms that it is you. Nothing is done until you have signed there."
)
_SMALL = Shown("This link is for you only. It works once, within five minutes.")
_NOWHERE = Shown(
    "This has to be signed with a passkey, and this installation has no page for it. Nothing was recorded. Please tell "
    "its operator, who sets COUNTERSIGN_PUBLIC_URL."
)


def has_to_be_signed(view: ApprovalView, verdict: VoteVerdict | ClaimAct) -> bool:
    """Say whether a click with this verdict is not enough."""
    return bool(view.sign_with) and verdict is VoteVerdict.APPROVE


def signing_modal(view: ApprovalView, url: str | None, *, breaks_glass: bool = False) -> dict[str, Any]:
    """Return the modal with the link, or what is told where there is none."""
    there = link(Shown("Open the page to sign"), url) if url else None
    why = section(_ALONE if breaks_glass else _WHY)
    way = [why, {"type": "section", "text": mrkdwn_text(Shown(f"*{there}*"))}, context(plain_text(_SMALL))]
    return {
        "type": "modal",
        "callback_id": references.SIGNING_MODAL,
        "title": plain_text(Shown("Sign to break glass" if breaks_glass else "Sign to approve")),
        "close": plain_text(Shown("Close")),
        "blocks": [*summary(view), *(way if there else [section(_NOWHERE)])],
    }
