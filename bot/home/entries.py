"""The entries of a Home: a request that waits, a run that was asked for, a decision."""

from datetime import datetime

from bot.views.asked import asked_buttons, so_far
from bot.views.blocks import Block, context, date, mrkdwn_text, plain_text, section
from bot.views.buttons import show_all_button
from bot.views.facts import key_line
from bot.views.states import signed_title
from bot.views.text import Shown, inline, mrkdwn, one_line, render, short
from bot.views.values import is_for_machines
from bot.views.ways import to_message, ways
from bot.views.wording import FINAL, headline, how_far, is_final, requirement, stands, until_word, verdict_word
from runtime.services.approval_view import ApprovalView
from runtime.services.home_model import AskedFor, Entry

_LINE, _SIGNERS = 300, 3


def waiting_blocks(entry: Entry, workspace: str, now: datetime) -> list[Block]:
    """Return a request with all that decides it."""
    view = entry.view
    asked = Shown(f"{signed_title(view, now)}: {short(headline(view), _LINE, lines=1)}")
    why = short(f"{_known_by(view)} · {view.tier} risk · {requirement(view)}", _LINE)
    key = [plain_text(found)] if (found := key_line(view)) else []
    final = [plain_text(FINAL)] if is_final(view) else []
    signed = [plain_text(so_far(view, _SIGNERS))] if view.votes else []
    card = to_message(workspace, entry.card) or mrkdwn("No card in its channel right now.")
    place = ways(card, view.link)
    held = f" · {inline(view.assignee_name, 60)} has claimed it" if view.assignee is not None else ""
    expiry = Shown(f"{how_far(view)} · {until_word(view)} {date(view.expires_at)}")
    return [
        section(asked),
        context(
            *key,
            *final,
            *signed,
            plain_text(why),
            mrkdwn_text(expiry),
            mrkdwn_text(place),
            *([plain_text(Shown(held[3:]))] if held else []),
        ),
        {
            "type": "actions",
            "block_id": f"home-{view.approval_id}-{view.revision}",
            "elements": asked_buttons(view),
        },
        {"type": "divider"},
    ]


def _known_by(view: ApprovalView) -> str:
    """Return by what people know the run; an id says nothing here."""
    reference = "" if is_for_machines(view.reference) else one_line(view.reference)
    return " · ".join(filter(None, (reference, render(view.run_title))))


def asked_for_blocks(asked: AskedFor, workspace: str, now: datetime) -> list[Block]:
    """Return a run that the person asked for, with how it stands and for whom it waits."""
    line = section(short(f"{one_line(asked.reference)} · {one_line(asked.title)}", _LINE, lines=1))
    since = Shown(f"requested {date(asked.created_at)}")
    known = context(plain_text(short(asked.run_id, _LINE)), mrkdwn_text(ways(since, asked.link)))
    entry = asked.waits_for
    if entry is None:
        how = f"{stands(asked.ending)}: {one_line(asked.error)}" if asked.error else stands(asked.ending)
        return [line, section(short(how, _LINE, lines=2)), known, {"type": "divider"}]
    view = entry.view
    more = f" · and {asked.more:,} more request{'' if asked.more == 1 else 's'}" if asked.more else ""
    waits = short(f"{signed_title(view, now)}: {headline(view)}", _LINE, lines=1)
    progress = mrkdwn_text(Shown(f"{how_far(view)}{more} · {until_word(view)} {date(view.expires_at)}"))
    place = to_message(workspace, entry.card)
    small = [plain_text(short(requirement(view), _LINE)), progress, *([mrkdwn_text(place)] if place else [])]
    return [line, {**section(waits), "accessory": show_all_button(view)}, context(*small), known, {"type": "divider"}]


def decided_blocks(entry: Entry, workspace: str, now: datetime) -> list[Block]:
    """Return a request that the person voted on, with how it stands."""
    view = entry.view
    said = f"You {verdict_word(view.kind, entry.own)}" if entry.own else "You voted"
    line = section(Shown(f"{said}: {short(headline(view), _LINE, lines=1)}"))
    why = short(f"{_known_by(view)} · {view.tier} risk", _LINE)
    stands = Shown(f"{signed_title(view, now)} · {how_far(view)}")
    place = ways(to_message(workspace, entry.card), view.link)
    small = [plain_text(why), plain_text(stands), *([mrkdwn_text(place)] if place else [])]
    return [{**line, "accessory": show_all_button(view)}, context(*small), {"type": "divider"}]
