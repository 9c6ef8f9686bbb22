"""Comparison: what several requests share and where they differ, for a person who decides them all by one act."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.views.blocks import Block, bold, plain_text, rows_of
from bot.views.text import Shown, inline, units
from bot.views.values import MISSING, Grid, Piece, has_id, in_line, label, laid_out, line_of
from bot.views.wording import headline, requirement, undone_by
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView

Name = tuple[bool, str]
"""What a value is of: a word of ours, or (False) the path of a field in words."""


class Fact(NamedTuple):
    """A value: the whole of it, by which two are told apart, as it is shown in one line, and whether it is an id."""

    whole: str
    shown: Shown
    is_id: bool = False


class Comparison(NamedTuple):
    """What several requests share and in what they differ, as rows; and in one line each what tells it apart."""

    same: list[Block]
    other: list[Block]
    lines: list[Shown]


_VALUE, _LINE, _MOST, _TELLING = 120, 400, 12, 2
_NONE = Fact("", Shown("—"))
_TITLE = (True, "Title")


def facts_of(view: ApprovalView) -> dict[Name, Fact]:
    """Return what a request is about, field by field."""
    is_review = view.kind is AskKind.TASK
    own = {
        _TITLE[1]: headline(view),
        "Runbook": view.run_title,
        "Operation": view.operation,
        "Target": view.target,
        "Tier": "" if is_review else view.tier,
        "To undo": undone_by(view),
        "Needed": requirement(view),
        "Requested by": view.requester,
    }
    known = {(True, name): Fact(value, inline(value, _VALUE), has_id(value)) for name, value in own.items() if value}
    pieces = (piece for field in view.fields for piece in laid_out(field.after, (field.name,)))
    return {**known, **{(False, label(piece.path)): _fact(piece) for piece in pieces}}


def _fact(piece: Piece) -> Fact:
    """Return a value of a field; of a table, what its lines are called by."""
    if isinstance(piece, Grid):
        cells = [[None if value is MISSING else value for value in line] for line in piece.lines]
        return Fact(json.dumps([piece.columns, cells]), line_of([line[0] for line in piece.lines], _VALUE))
    is_list = isinstance(piece.value, list) and piece.value
    shown = line_of(piece.value, _VALUE) if is_list else in_line(piece.value, _VALUE)
    return Fact(json.dumps(piece.value), shown, has_id(piece.value))


def compare(views: Sequence[ApprovalView]) -> Comparison:
    """Return in what all are alike, and in what they differ with some of the values; the rest is counted."""
    facts = [facts_of(view) for view in views]
    names = list(dict.fromkeys(name for one in facts for name in one))
    values = {name: list(dict.fromkeys(one.get(name, _NONE) for one in facts)) for name in names}
    same = [(_named(name), plain_text(found[0].shown)) for name, found in values.items() if len(found) == 1]
    differing = {name: found for name, found in values.items() if len(found) > 1 and name != _TITLE}
    other = [(_named(name), plain_text(_values_in_line(found))) for name, found in differing.items()]
    telling = [name for name, found in differing.items() if not _are_ids(found)]
    return Comparison(_bounded(same), _bounded(other), [_telling(one, telling[:_TELLING]) for one in facts])


def _are_ids(facts: Sequence[Fact]) -> bool:
    return all(fact.is_id for fact in facts if fact is not _NONE)


def _telling(facts: Mapping[Name, Fact], names: Sequence[Name]) -> Shown:
    """Return in one line what tells a request apart from the others."""
    return Shown(" · ".join(f"{words}: {facts.get((is_ours, words), _NONE).shown}" for is_ours, words in names))


def _named(name: Name) -> Block:
    is_ours, words = name
    return bold(words) if is_ours else plain_text(Shown(words))


def _values_in_line(facts: Sequence[Fact]) -> Shown:
    """Return some of the values in a line and count the rest; of ids their number alone."""
    if _are_ids(facts):
        return Shown(f"{len(facts):,} different")
    shown = list[Shown]()
    for value in dict.fromkeys(fact.shown for fact in facts):
        if sum(map(units, shown)) + units(value) > _LINE:
            break
        shown.append(value)
    rest = len(facts) - len(shown)
    return Shown(f"{' · '.join(shown)}{f' · … {rest:,} more' if rest else ''}")


def _bounded(pairs: list[tuple[Block, Block]]) -> list[Block]:
    rest = len(pairs) - _MOST
    more = [(bold("And more"), plain_text(Shown(f"… {rest:,} more fields — Show all")))] if rest > 0 else []
    return rows_of([*pairs[:_MOST], *more])
