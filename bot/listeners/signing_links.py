"""What a click does that wants to approve what has to be signed: hand out a link to the page where one signs."""

from dataclasses import dataclass
from typing import Any

from bot.listeners.identity import Identity
from bot.views.signing import has_to_be_signed, signing_modal
from runtime.model.votes import ClaimAct, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.desk_model import Desk
from runtime.services.signing_model import SigningWish


@dataclass(frozen=True)
class SigningLinks:
    """Hands them out. The vote comes from the page: until then nothing is recorded, and nothing counts."""

    desk: Desk

    async def modal(
        self,
        identity: Identity,
        view: ApprovalView | None,
        verdict: VoteVerdict | ClaimAct,
        reason: str,
        ticket: str = "",
    ) -> dict[str, Any] | None:
        """Return the modal with the link, None where a click will do. `view` is None where a click cannot count.

        With a `ticket` it is to break the glass.
        """
        if view is None or identity.person is None or not has_to_be_signed(view, verdict):
            return None
        wish = SigningWish(view.approval_id, view.stamp, reason, identity.person.id, identity.account, ticket)
        return signing_modal(view, await self.desk.signing.link(wish), breaks_glass=bool(ticket))
