"""The modal before somebody breaks the glass: what is done without others, what follows, why, and by which ticket."""

from typing import Any, Literal

from bot.views import references
from bot.views.blocks import bold, plain_text, rows, section
from bot.views.modals import reason_input, summary
from bot.views.text import Shown, render, short, visible_length
from bot.views.wording import requirement
from runtime.services.approval_view import ApprovalView

TICKET = "ticket"
LONGEST_TICKET = 200
_MEANS = (
    "For emergencies only. This is done with your signature alone. Security is notified immediately, and another "
    "person reviews it afterwards. You have {} left, including this one."
)


class GlassRef(references.CardRef):
    """The modal's private metadata: the request as the person saw it, and where to answer."""

    act: Literal["break_glass"] = "break_glass"
    channel: str | None
    over: bool


def glass_modal(view: ApprovalView, channel: str | None, *, left: int, over: bool) -> dict[str, Any]:
    """Return the modal; `left` is how many overrides the person has, `over` says that it lies over the details."""
    overrides = f"{left:,} emergency override{'' if left == 1 else 's'}"
    ref = GlassRef(**references.of(view), channel=channel, over=over)
    without = rows([(bold("Without"), short(render(requirement(view)), 300))])
    ticket = {"type": "plain_text_input", "action_id": TICKET, "min_length": 1, "max_length": LONGEST_TICKET}
    return {
        "type": "modal",
        "callback_id": references.MORE_MODAL,
        "title": plain_text(Shown("Break the glass")),
        "submit": plain_text(Shown("Break the glass")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *summary(view),
            *without,
            section(Shown(_MEANS.format(overrides))),
            reason_input("What is the emergency?"),
            {
                "type": "input",
                "block_id": TICKET,
                "label": plain_text(Shown("Ticket or incident")),
                "element": ticket,
            },
        ],
    }


def ticket_fault(ticket: str) -> str | None:
    """Say what is wrong with a ticket, or None."""
    if not visible_length(ticket):
        return "Please name the ticket or incident."
    return f"Please use at most {LONGEST_TICKET} characters." if len(ticket) > LONGEST_TICKET else None
