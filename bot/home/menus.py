"""The upper part of a Home: its sections, the menus that narrow it, the search, and what turns the page."""

from collections.abc import Sequence
from typing import Any

from bot.home.state import (
    ALL,
    CLEAR,
    FIGURES,
    GROUP,
    LONGEST_TEXT,
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
from bot.views.blocks import Block, bold, button, context, plain_text
from bot.views.text import Shown, inline
from runtime.model.action import Tier
from runtime.model.pages import Edge, Page
from runtime.services.home_model import Choices

_SECTIONS = {
    Section.WAITING: "Waiting for me",
    Section.LATE: "Due soon",
    Section.MINE: "My requests",
    Section.DECIDED: "What I decided",
}
_OPTION, _VALUE = 60, 150
"""Units of an option's words, beside what says that they are cut, and characters of its value."""


def sections(state: HomeState, *, leads: bool = False) -> Block:
    """Return a button for each section, of which the one that is shown is coloured, and one for figures."""
    marked = {state.section: {"style": "primary"}}
    elements = [button(f"{PREFIX}{one}", words, one, **marked.get(one, {})) for one, words in _SECTIONS.items()]
    elements += [button(FIGURES, "Figures", state.section)] if leads else []
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


def _corner(edge: Edge) -> str:
    return Corner(at=edge.at, id=edge.id, back=edge.back).model_dump_json()


def narrowed_to(state: HomeState) -> list[Block]:
    """Say what a list is narrowed to, where the menus alone might be overlooked."""
    if not state.is_narrowed:
        return []
    return [context(bold("Filtered. “Clear filters” shows everything."))]
