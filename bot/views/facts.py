"""Facts of a request: what it sets and changes, and what the author of its verb or step declared for the card.

A card shows as many as it has room for. Labels are the author's; values are data. Values are formatted as the author
wants: a number with thousands separators, a date in the reader's time zone, code.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from bot.views.blocks import Block, bold, context, mrkdwn_text, plain_text, rows_of, section, utc
from bot.views.blocks import date as date_of
from bot.views.blocks import table as slack_table
from bot.views.text import Shown, inline, inline_mrkdwn, short
from bot.views.value_blocks import (
    Level,
    change_blocks,
    change_line,
    fact_rows,
    grid_blocks,
    left_out,
    message_grid,
    rows_and_grids,
    under_heading,
)
from bot.views.values import Diff, Grid, Piece, diff, in_line, is_for_machines, label, laid_out, line_of, text_of
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView, DeclaredTable

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")


def formatted(value: Any, form: str, level: Level) -> Block:
    """Return a value alone in a cell; one that is not of the form is shown as any other."""
    if form == "date" and (moment := _moment(value)):
        return mrkdwn_text(date_of(moment))
    if form == "code" and (text := text_of(value)):
        return mrkdwn_text(Shown(f"`{inline_mrkdwn(text, level.chars)}`"))
    written = _written(value, form)
    return level.cell(value) if written is None else plain_text(written)


def formatted_part(value: Any, form: str, limit: int) -> Shown:
    """Return a value as a part of a line."""
    written = _written(value, form)
    return in_line(value, limit) if written is None else written


def _written(value: Any, form: str) -> Shown | None:
    """Return a number or a date in our own words, None for everything else."""
    number = value if isinstance(value, str) else str(value)
    is_number = not isinstance(value, bool) and _NUMBER.fullmatch(number)
    if form == "number" and is_number:
        whole, dot, rest = number.partition(".")
        return Shown(f"{int(whole):,}{dot}{rest}" if whole != "-0" else number)
    if form == "percent" and is_number:
        return Shown(f"{number} %")
    if form == "date" and (moment := _moment(value)):
        return Shown(utc(moment))
    if form == "date" and (day := _day(value)):
        return Shown(f"{day.day} {day:%B} {day.year}")
    return None


def _moment(value: Any) -> datetime | None:
    """Return the moment that a text in the form of ISO 8601 says, None where it names no time zone."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment if moment and moment.tzinfo and moment.timestamp() >= 0 else None
    except (ValueError, OverflowError):
        return None


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def author_label(words: str) -> Block:
    """Return an author's label in bold, without the marks that would end it."""
    return mrkdwn_text(Shown(f"*{inline_mrkdwn(words, 60)}*"))


def author_title(words: str) -> Shown:
    """Return an author's label as a part of a line."""
    return inline(words, 60)


_DECLARED_CELL = 40


def summary_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what it means, in the author's words."""
    return [section(short(view.declared.summary, level.chars, level.lines))] if view.declared.summary else []


def field_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the declared fields."""
    fields = view.declared.fields
    shown = [(author_label(one.label), formatted(one.value, one.format, level)) for one in fields[: level.facts]]
    return [*rows_of(shown), *left_out(len(fields) - len(shown), "value")]


def table_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the declared tables: the first column, and all the others in a line."""
    return [block for table in view.declared.tables for block in _declared_table(table, level)]


def message_table(table: DeclaredTable, level: Level) -> list[Block]:
    """Return a table as Slack's own, for a message that has no other; what is left out is counted."""
    lines = table.lines[: level.grid]
    forms = [form for _, form in table.columns]
    body = [
        [formatted_part(value, form, _DECLARED_CELL) for value, form in zip(line, forms, strict=True)] for line in lines
    ]
    right = {at for at, form in enumerate(forms) if form in ("number", "percent")}
    shown = slack_table([[author_title(words) for words, _ in table.columns], *body], right=right)
    titled: Block = {"type": "section", "text": author_label(table.title)}
    return [titled, shown, *left_out(table.count - len(lines), "line")]


def _declared_table(table: DeclaredTable, level: Level) -> list[Block]:
    lines = table.lines[: level.grid]
    (first, form), *others = table.columns
    head = (author_label(first), plain_text(_joined_parts([author_title(label) for label, _ in others])))
    body = [
        (
            formatted(line[0], form, level),
            plain_text(
                _joined_parts(
                    [formatted_part(line[at], form, _DECLARED_CELL) for at, (_, form) in enumerate(others, 1)]
                )
            ),
        )
        for line in lines
    ]
    titled: Block = {"type": "section", "text": author_label(table.title)}
    return [titled, *rows_of([head, *body]), *left_out(table.count - len(lines), "line")]


def _joined_parts(parts: list[Shown]) -> Shown:
    return Shown(" · ".join(parts) or "—")


_KEY, _IN_LINE = 120, 60
"""Characters of a key fact, and of one in a line."""


def pieces_of(view: ApprovalView) -> list[Piece]:
    """Return what is set, or looked at, without a value before, and is not hidden by its author."""
    shown = [one for one in view.fields if one.before is None and one.name not in view.declared.hide]
    return [piece for one in shown for piece in laid_out(one.after, (one.name,))]


def diff_of(view: ApprovalView) -> Diff:
    """Return what changes, of the fields whose present value is known."""
    return _together([found for _, found in _diffs(view)])


def _diffs(view: ApprovalView) -> list[tuple[str, Diff]]:
    """Return what changes in each of these fields, beside its name."""
    return [(one.name, diff(one.before, one.after, (one.name,))) for one in view.fields if one.before is not None]


def _together(found: Sequence[Diff]) -> Diff:
    return Diff(tuple(change for one in found for change in one.changes), sum(one.same for one in found))


def key_blocks(view: ApprovalView, level: Level, *, in_message: bool = False) -> list[Block]:
    """Return the facts by which one decides: those that its author wants seen, else what changes, else what is set.

    A message that has no table yet takes a list of objects as one.
    """
    short = replace(level, chars=min(level.chars, _KEY), lines=min(level.lines, 2))
    declared = [*field_blocks(view, short), *table_blocks(view, short)]
    return declared or changing(view, short) or fact_blocks(view, short, in_message=in_message)


def card_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the same for a message, with the first of its tables as Slack's own."""
    found = view.declared.tables
    if not found:
        return key_blocks(view, level, in_message=True)
    rest = key_blocks(replace(view, declared=replace(view.declared, tables=found[1:])), level)
    fields = field_blocks(view, level)
    return [*rest[: len(fields)], *message_table(found[0], level), *rest[len(fields) :]]


def other_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what a request changes and sets, as far as `key_blocks` does not show it."""
    if view.declared.fields or view.declared.tables:
        return changing(view, level)
    return fact_blocks(view, level) if changing(view, level) else []


def key_line(view: ApprovalView) -> Shown:
    """Return the first of these facts in one line, "" where there is none."""
    if view.declared.fields:
        field = view.declared.fields[0]
        return Shown(f"{author_title(field.label)}: {formatted_part(field.value, field.format, _IN_LINE)}")
    if changes := diff_of(view).changes:
        return Shown(f"{label(changes[0].path)}: {change_line(changes[0], _IN_LINE)}")
    facts = sorted(rows_and_grids(pieces_of(view))[0], key=lambda fact: is_for_machines(fact.value))
    return Shown(f"{label(facts[0].path)}: {_in_line(facts[0].value)}") if facts else Shown("")


def _in_line(value: Any) -> Shown:
    return line_of(value, _IN_LINE) if isinstance(value, list) and value else in_line(value, _IN_LINE)


def count_fields(view: ApprovalView) -> int:
    """Return how many values a request sets."""
    return _count(view, {one.name for one in view.fields})


def fact_blocks(view: ApprovalView, level: Level, *, in_message: bool = False) -> list[Block]:
    """Return the first of what is set, and how much there is beside it."""
    facts, grids = rows_and_grids(pieces_of(view))
    # what changes says more than a table of what does not
    seen = 1 if grids and not diff_of(view).changes else 0
    facts.sort(key=lambda fact: is_for_machines(fact.value))
    lay = message_grid if in_message else grid_blocks
    shown = [block for grid in grids[:seen] for block in lay(grid, plain_text(label(grid.path)), level)]
    hidden = len(facts[level.facts :]) + sum(grid.count for grid in grids[seen:])
    hidden += 0 if in_message else sum(_hidden(grid, level) for grid in grids[:seen])
    hidden += _count(view, {one.name for one in view.fields if one.before is None and one.name in view.declared.hide})
    words = "To review" if view.kind is AskKind.TASK else "New values"
    return under_heading(words, [*fact_rows(facts[: level.facts], level), *shown, *left_out(hidden, "value")])


def _count(view: ApprovalView, names: set[str]) -> int:
    """Return how many values there are in these fields."""
    pieces = (piece for one in view.fields if one.name in names for piece in laid_out(one.after, (one.name,)))
    return sum(piece.count for piece in pieces)


def _hidden(grid: Grid, level: Level) -> int:
    return max(grid.count - level.grid, 0)


def changing(view: ApprovalView, level: Level) -> list[Block]:
    """Return what changes, and how much stays."""
    every = _diffs(view)
    found = _together([one for name, one in every if name not in view.declared.hide])
    same = [context(bold(f"{found.same:,} {'value' if found.same == 1 else 'values'} unchanged"))]
    shown = change_blocks(found.changes[: level.changes], level)
    count = sum(len(one.changes) for _, one in every)
    rest = left_out(count - len(found.changes[: level.changes]), "change")
    return under_heading("Changes", [*shown, *rest, *(same if found.same else [])])
