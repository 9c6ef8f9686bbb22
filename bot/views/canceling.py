"""The modal before a request is canceled: which one, what that means, and why."""

from typing import Any

from bot.views import references
from bot.views.blocks import bold, plain_text, rows, section
from bot.views.modals import reason_input
from bot.views.text import Shown, one_line, render, short
from runtime.services.answers_model import CancelView

_MEANS = (
    "Nothing more is done, and open requests close. What was done stays done. Policy decides whether you may cancel. "
    "Your reason is kept as evidence."
)


def cancel_modal(view: CancelView, channel: str | None, *, over: bool) -> dict[str, Any]:
    """Return the modal; `over` says that it lies over the details."""
    ref = references.CancelRef(act="cancel", run_id=view.run_id, channel=channel, over=over)
    facts = (("Request", view.title), ("Reference", view.reference), ("Run", view.run_id))
    return {
        "type": "modal",
        "callback_id": references.MORE_MODAL,
        "title": plain_text(Shown("Cancel the request")),
        "submit": plain_text(Shown("Cancel the request")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *rows([(bold(name), short(render(one_line(value)), 300)) for name, value in facts]),
            section(Shown(_MEANS)),
            reason_input("Why do you cancel it?"),
        ],
    }
