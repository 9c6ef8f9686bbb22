"""In what several requests are alike, and in what they differ: what a person has to see who decides them by one act."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from bot.cards.blocks import Block, bold, plain_text, rows_of
from bot.cards.layout.values import MISSING, Grid, Piece, in_line, label, laid_out, line_of
from bot.cards.text import Shown, inline, units
from bot.cards.wording import headline, requirement, undone_by
from runtime.desk.model import ApprovalView
from runtime.model.approvals.approval import AskKind

Name = tuple[bool, str]
"""What a value is of: a word of ours, or (False) the path of a field in words."""


class Fact(NamedTuple):
    """A value: the whole of it, by which two are told apart, and as it is shown in one line."""

    whole: str
    shown: Shown


_VALUE, _LINE, _MOST = 120, 400, 12
_NONE = Fact("", Shown("—"))


def facts_of(view: ApprovalView) -> dict[Name, Fact]:
    """Return what a request is about, field by field."""
    is_review = view.kind is AskKind.TASK
    own = {
        "What happens": headline(view),
        "Runbook": view.run_title,
        "Operation": view.operation,
        "Target": view.target,
        "Tier": "" if is_review else view.tier,
        "Undone by": undone_by(view),
        "Needed": requirement(view),
        "Asked by": view.requester,
    }
    known = {(True, name): Fact(value, inline(value, _VALUE)) for name, value in own.items() if value}
    pieces = (piece for field in view.fields for piece in laid_out(field.after, (field.name,)))
    return {**known, **{(False, label(piece.path)): _fact(piece) for piece in pieces}}


def _fact(piece: Piece) -> Fact:
    """Return a value of a field; of a table, what its lines are called by."""
    if isinstance(piece, Grid):
        cells = [[None if value is MISSING else value for value in line] for line in piece.lines]
        return Fact(json.dumps([piece.columns, cells]), line_of([line[0] for line in piece.lines], _VALUE))
    is_list = isinstance(piece.value, list) and piece.value
    return Fact(json.dumps(piece.value), line_of(piece.value, _VALUE) if is_list else in_line(piece.value, _VALUE))


def alike(views: Sequence[ApprovalView]) -> tuple[list[Block], list[Block]]:
    """Return as rows in what all are alike, and in what they differ with some of the values; the rest is counted."""
    facts = [facts_of(view) for view in views]
    names = list(dict.fromkeys(name for one in facts for name in one))
    values = {name: list(dict.fromkeys(one.get(name, _NONE) for one in facts)) for name in names}
    same = [(_named(name), plain_text(found[0].shown)) for name, found in values.items() if len(found) == 1]
    other = [(_named(name), plain_text(_several(found))) for name, found in values.items() if len(found) > 1]
    return _bounded(same), _bounded(other)


def _named(name: Name) -> Block:
    is_ours, words = name
    return bold(words) if is_ours else plain_text(Shown(words))


def _several(facts: Sequence[Fact]) -> Shown:
    values = [fact.shown for fact in facts]
    words, shown = f"{len(values):,} values: ", list[Shown]()
    for value in values:
        if sum(map(units, shown)) + units(value) > _LINE:
            break
        shown.append(value)
    rest = len(values) - len(shown)
    return Shown(f"{words}{' · '.join(shown)}{f' · … {rest:,} more' if rest else ''}")


def _bounded(pairs: list[tuple[Block, Block]]) -> list[Block]:
    rest = len(pairs) - _MOST
    more = [(bold("And more"), plain_text(Shown(f"… {rest:,} more fields — Show all")))] if rest > 0 else []
    return rows_of([*pairs[:_MOST], *more])
