"""App Home: requests waiting for the person, their own requests, their decisions, and steps that need attention.

Its upper part has the sections, the menus that narrow them, the search, and the buttons that turn the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.views.blocks import Block, bold, button, context, date, header, mrkdwn_text, plain_text, section
from bot.views.buttons import show_all_button
from bot.views.card import open_buttons, votes_so_far
from bot.views.facts import key_line
from bot.views.home_state import (
    ALL,
    CLEAR,
    GROUP,
    LONGEST_TEXT,
    METRICS,
    PREFIX,
    RUNBOOK,
    SEARCH,
    SEVERAL,
    TIER,
    TURNS,
    Corner,
    HomeState,
    Section,
)
from bot.views.links import card_link, joined_links
from bot.views.states import signed_title
from bot.views.step_repair import repair_item
from bot.views.text import Shown, inline, mrkdwn, one_line, plain, render, short
from bot.views.values import is_for_machines
from bot.views.wording import (
    FINAL,
    headline,
    is_final,
    progress_words,
    requirement,
    status_words,
    until_word,
    verdict_word,
)
from runtime.model.action import Tier
from runtime.model.search import COUNTED, Page, PageEdge
from runtime.services.approval_view import ApprovalView
from runtime.services.home import AskedFor, Choices, Entry, Waiting
from runtime.services.step_repair import StepsNeedingAttention

_LINE, _SIGNERS = 300, 3


def waiting_blocks(entry: Entry, workspace: str, now: datetime) -> list[Block]:
    """Return a request with all that decides it."""
    view = entry.view
    asked = Shown(f"{signed_title(view, now)}: {short(headline(view), _LINE, lines=1)}")
    why = short(f"{_known_by(view)} · {view.tier} risk · {requirement(view)}", _LINE)
    key = [plain_text(found)] if (found := key_line(view)) else []
    final = [plain_text(FINAL)] if is_final(view) else []
    signed = [plain_text(votes_so_far(view, _SIGNERS))] if view.votes else []
    card = card_link(workspace, entry.card) or mrkdwn("No card in its channel right now.")
    place = joined_links(card, view.link)
    claim = f" · {inline(view.assignee_name, 60)} has claimed it" if view.assignee is not None else ""
    expiry = Shown(f"{progress_words(view)} · {until_word(view)} {date(view.expires_at)}")
    return [
        section(asked),
        context(
            *key,
            *final,
            *signed,
            plain_text(why),
            mrkdwn_text(expiry),
            mrkdwn_text(place),
            *([plain_text(Shown(claim[3:]))] if claim else []),
        ),
        {
            "type": "actions",
            "block_id": f"home-{view.approval_id}-{view.revision}",
            "elements": open_buttons(view),
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
    known = context(plain_text(short(asked.run_id, _LINE)), mrkdwn_text(joined_links(since, asked.link)))
    entry = asked.waits_for
    if entry is None:
        how = f"{status_words(asked.ending)}: {one_line(asked.error)}" if asked.error else status_words(asked.ending)
        return [line, section(short(how, _LINE, lines=2)), known, {"type": "divider"}]
    view = entry.view
    more = f" · and {asked.more:,} more request{'' if asked.more == 1 else 's'}" if asked.more else ""
    waits = short(f"{signed_title(view, now)}: {headline(view)}", _LINE, lines=1)
    progress = mrkdwn_text(Shown(f"{progress_words(view)}{more} · {until_word(view)} {date(view.expires_at)}"))
    place = card_link(workspace, entry.card)
    small = [plain_text(short(requirement(view), _LINE)), progress, *([mrkdwn_text(place)] if place else [])]
    return [line, {**section(waits), "accessory": show_all_button(view)}, context(*small), known, {"type": "divider"}]


def decided_blocks(entry: Entry, workspace: str, now: datetime) -> list[Block]:
    """Return a request that the person voted on, with how it stands."""
    view = entry.view
    word = verdict_word(view.kind, entry.own, leaves_open=entry.leaves_open) if entry.own else "voted"
    said = f"You {word}"
    line = section(Shown(f"{said}: {short(headline(view), _LINE, lines=1)}"))
    why = short(f"{_known_by(view)} · {view.tier} risk", _LINE)
    stands = Shown(f"{signed_title(view, now)} · {progress_words(view)}")
    place = joined_links(card_link(workspace, entry.card), view.link)
    small = [plain_text(why), plain_text(stands), *([mrkdwn_text(place)] if place else [])]
    return [{**line, "accessory": show_all_button(view)}, context(*small), {"type": "divider"}]


_SECTIONS = {
    Section.WAITING: "Waiting for me",
    Section.LATE: "Due soon",
    Section.MINE: "My requests",
    Section.DECIDED: "What I decided",
}
_OPTION, _VALUE = 60, 150
"""Units of an option's words, beside what says that they are cut, and characters of its value."""


def sections(state: HomeState, *, leads: bool = False) -> Block:
    """Return a button for each section, of which the one that is shown is coloured, and one for metrics."""
    marked = {state.section: {"style": "primary"}}
    elements = [button(f"{PREFIX}{one}", words, one, **marked.get(one, {})) for one, words in _SECTIONS.items()]
    elements += [button(METRICS, "Metrics", state.section)] if leads else []
    return {"type": "actions", "block_id": "home-sections", "elements": elements}


def menus(state: HomeState, choices: Choices, *, can_choose: bool) -> list[Block]:
    """Return what narrows the section. What a person asked for has neither tier nor group."""
    offered = [_menu(RUNBOOK, "All runbooks", choices.runbooks, state.runbook)]
    if state.section is not Section.MINE:
        offered.append(_menu(TIER, "All tiers", list(Tier), state.tier))
        offered.append(_menu(GROUP, "All groups", choices.groups, state.group))
    several = [button(SEVERAL, "Decide several …", state.section)] if can_choose else []
    clear = [button(CLEAR, "Clear filters", state.section)] if state.is_narrowed else []
    return [{"type": "actions", "block_id": "home-menus", "elements": [*offered, *several, *clear]}, _search(state)]


def _menu(action_id: str, words: str, names: Sequence[str], chosen: str) -> Block:
    every = {"text": plain_text(Shown(words)), "value": ALL}
    kept = names if chosen in names or not chosen else [chosen, *names]
    fitting = (name for name in kept if 0 < len(name) <= _VALUE)
    options = [every, *({"text": plain_text(inline(name, _OPTION)), "value": name} for name in fitting)]
    shown = next((one for one in options if one["value"] == chosen), every)
    return {"type": "static_select", "action_id": action_id, "options": options, "initial_option": shown}


def _search(state: HomeState) -> Block:
    element: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": SEARCH,
        "max_length": LONGEST_TEXT,
        "placeholder": plain_text(Shown("Reference, customer or runbook, then Enter")),
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
        **({"initial_value": state.text} if state.text else {}),
    }
    return {
        "type": "input",
        # another id where it is cleared: Slack keeps what was typed as long as the id stays
        "block_id": f"home-search-{'of' if state.text else 'any'}",
        "dispatch_action": True,
        "optional": True,
        "label": plain_text(Shown("Search")),
        "element": element,
    }


def turns(page: Page[Any]) -> list[Block]:
    """Return what turns the page, where there is another."""
    ways = zip(TURNS, ("Back", "Next"), (page.has_before, page.has_after), (page.first, page.last), strict=True)
    buttons = [button(action, words, _corner(edge)) for action, words, there, edge in ways if there and edge]
    return [{"type": "actions", "block_id": "home-turns", "elements": buttons}] if buttons else []


def _corner(edge: PageEdge) -> str:
    return Corner(at=edge.at, id=edge.id, back=edge.back).model_dump_json()


def narrowed_to(state: HomeState) -> list[Block]:
    """Say what a list is narrowed to, where the menus alone might be overlooked."""
    if not state.is_narrowed:
        return []
    return [context(bold("Filtered. “Clear filters” shows everything."))]


SHOWN, ATTENTION_SHOWN = 10, 8
"""Entries of a page, and steps that need attention: five blocks and three each, within a view's hundred."""

_NONE = {
    Section.WAITING: "When your signature is needed, the request appears here and in its channel.",
    Section.LATE: "Nothing is due soon: each request has more than a quarter of its time left.",
    Section.MINE: "Your requests appear here. /countersign request opens a form.",
    Section.DECIDED: "What you approve or reject appears here.",
}
_HEADINGS = {Section.MINE: "My requests", Section.DECIDED: "What I decided"}


@dataclass(frozen=True)
class HomeContent:
    """What there is to draw: the page of the section, by what it may be narrowed, and which steps need attention.

    `workspace` is the address of the workspace, as Slack gives it.
    """

    state: HomeState
    found: Waiting | Page[AskedFor] | Page[Entry]
    choices: Choices
    attention: StepsNeedingAttention
    workspace: str
    leads: bool = False  # there are metrics for the person


def home(seen: HomeContent, *, now: datetime) -> dict[str, Any]:
    """Return the Home tab of a person."""
    state = seen.state
    page = seen.found.page if isinstance(seen.found, Waiting) else seen.found
    is_open = isinstance(seen.found, Waiting)
    blocks = [
        sections(state, leads=seen.leads),
        header(Shown(_heading(seen))),
        *menus(state, seen.choices, can_choose=is_open and len(page.entries) > 1),
        *narrowed_to(state),
        {"type": "divider"},
        *_entries(seen, page.entries, now),
        *turns(page),
        *_attention(seen),
    ]
    return {"type": "home", "private_metadata": state.model_dump_json(), "blocks": blocks}


def _heading(seen: HomeContent) -> str:
    if not isinstance(seen.found, Waiting):
        return _HEADINGS[seen.state.section]
    return waiting_count(
        seen.found.total, is_late=seen.state.section is Section.LATE, attention=bool(seen.attention.total)
    )


def waiting_count(total: int, *, is_late: bool = False, attention: bool = False) -> str:
    """Return in words how many requests wait for a person."""
    if not total:
        return (
            "Nothing is due soon"
            if is_late
            else "No requests are waiting for you"
            if attention
            else "Nothing is waiting for you"
        )
    many = f"{COUNTED:,}+" if total > COUNTED else f"{total:,}"
    return f"{many} request{'s' if total != 1 else ''} for you{', due soon' if is_late else ''}"


def _entries(seen: HomeContent, entries: Sequence[AskedFor | Entry], now: datetime) -> list[Block]:
    if not entries:
        return [section(Shown("No matches." if seen.state.is_narrowed else _NONE[seen.state.section]))]
    return [block for entry in entries for block in _entry(seen, entry, now)]


def _entry(seen: HomeContent, entry: AskedFor | Entry, now: datetime) -> list[Block]:
    if isinstance(entry, AskedFor):
        return asked_for_blocks(entry, seen.workspace, now)
    shown = decided_blocks if seen.state.section is Section.DECIDED else waiting_blocks
    return shown(entry, seen.workspace, now)


def _attention(seen: HomeContent) -> list[Block]:
    attention = seen.attention
    if not attention.total:
        return []
    words = "1 step needs attention" if attention.total == 1 else f"{attention.total:,} steps need attention"
    more = attention.total - len(attention.views)
    left_out = [context(bold(f"… {more:,} more appear as these are settled"))] if more else []
    return [header(Shown(words)), *(block for view in attention.views for block in repair_item(view)), *left_out]


def home_refusal(text: str) -> dict[str, Any]:
    """Return the Home tab for someone who may not decide anything."""
    return {"type": "home", "blocks": [header(Shown("Countersign")), section(plain(text))]}
