"""Cancel and undo: the modals before a request is canceled or an action undone.

They say which request it is, what canceling means, and ask why. An undo lists what would be undone and what not, each
with its reason, before anybody confirms.
"""

from collections.abc import Sequence
from typing import Any

from bot.views import references
from bot.views.blocks import Block, bold, heading, plain_text, rows, section
from bot.views.text import Shown, one_line, render, short
from bot.views.vote_modals import reason_input
from runtime.services.compensation import Item, Standing, UndoView
from runtime.services.request_actions import CancelView

_CANCEL_MEANS = (
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
            section(Shown(_CANCEL_MEANS)),
            reason_input("Why do you cancel it?"),
        ],
    }


MOST_SHOWN = 20

_PROMISE = (
    "A separate run undoes this at your request. Policy decides, and others may have to sign. Your reason is kept as "
    "evidence."
)
_WAYS = {
    Standing.UNDONE: "is undone already",
    Standing.BEING_UNDONE: "is being undone",
    Standing.IRREVERSIBLE: "cannot be undone",
    Standing.NOT_KNOWN: "cannot be undone: how is not known",
    Standing.ELSEWHERE: "was done for another run",
    Standing.IN_DOUBT: "may not have happened",
    Standing.UNDER_WAY: "is under way",
    Standing.NOT_PERFORMED: "was not done",
    Standing.SUPPLIED: "was supplied by a person, who must undo it",
}


def undo_modal(view: UndoView, channel: str | None) -> dict[str, Any]:
    """Return the modal; without a button to submit where nothing can be undone."""
    ref = references.UndoRef(run_id=view.run_id, step=view.step, channel=channel)
    asked = {"submit": plain_text(Shown("Undo"))} if view.is_possible else {}
    return {
        "type": "modal",
        "callback_id": references.UNDO_MODAL,
        "title": plain_text(Shown("Undo")),
        **asked,
        "close": plain_text(Shown("Close")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [*_will(view), *_stays(view), *_question(view)],
    }


def _will(view: UndoView) -> list[Block]:
    possible = [item for item in view.items if item.standing is Standing.POSSIBLE]
    if not possible:
        return [section(Shown("Nothing here can be undone."))]
    values = (render(f"{_deed(item)} on {item.target}, by {_spaced(item.by)}") for item in possible[:MOST_SHOWN])
    listed = rows([(bold("Undoes"), short(value, 300)) for value in values])
    return [heading("Will be undone"), *listed, *_left_out(possible)]


def _stays(view: UndoView) -> list[Block]:
    rest = [item for item in view.items if item.standing is not Standing.POSSIBLE]
    if not rest:
        return []
    listed = rows([(bold(_WAYS[item.standing].capitalize()), _why(item)) for item in rest[:MOST_SHOWN]])
    return [heading("Stays as it is"), *listed, *_left_out(rest)]


def _why(item: Item) -> Shown:
    where = f" on {one_line(item.target)}" if item.target else ""
    return short(render(f"{_deed(item)}{where}: {one_line(item.why)}"), 300)


def _deed(item: Item) -> str:
    """Return what was done, in words: the operation, and of which connector."""
    connector, _, operation = one_line(item.what).partition("::")
    return f"{_spaced(operation)} ({connector})" if operation else connector


def _spaced(name: str) -> str:
    """Return a name as words."""
    return name.replace("::", " ").replace("_", " ")


def _left_out(items: Sequence[Item]) -> list[Block]:
    more = len(items) - MOST_SHOWN
    return [section(Shown(f"… and {more:,} more"))] if more > 0 else []


def _question(view: UndoView) -> list[Block]:
    return [section(Shown(_PROMISE)), reason_input("Why do you undo it?")] if view.is_possible else []
