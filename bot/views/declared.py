"""What the author of a verb or a step declared for its card, as blocks. Labels are the author's; values are data."""

from bot.views.blocks import Block, plain_text, rows_of, section
from bot.views.blocks import table as slack_table
from bot.views.formats import author, formatted, formatted_part, title_of
from bot.views.shown import Level, left_out
from bot.views.text import Shown, short
from runtime.services.approval_view import ApprovalView
from runtime.services.declared_model import DeclaredTable

_CELL = 40


def summary_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what it means, in the author's words."""
    return [section(short(view.declared.summary, level.chars, level.lines))] if view.declared.summary else []


def field_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the declared fields."""
    fields = view.declared.fields
    shown = [(author(one.label), formatted(one.value, one.format, level)) for one in fields[: level.facts]]
    return [*rows_of(shown), *left_out(len(fields) - len(shown), "value")]


def table_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the declared tables: the first column, and all the others in a line."""
    return [block for table in view.declared.tables for block in _table(table, level)]


def message_table(table: DeclaredTable, level: Level) -> list[Block]:
    """Return a table as Slack's own, for a message that has no other; what is left out is counted."""
    lines = table.lines[: level.grid]
    forms = [form for _, form in table.columns]
    body = [[formatted_part(value, form, _CELL) for value, form in zip(line, forms, strict=True)] for line in lines]
    right = {at for at, form in enumerate(forms) if form in ("number", "percent")}
    shown = slack_table([[title_of(words) for words, _ in table.columns], *body], right=right)
    titled: Block = {"type": "section", "text": author(table.title)}
    return [titled, shown, *left_out(table.count - len(lines), "line")]


def _table(table: DeclaredTable, level: Level) -> list[Block]:
    lines = table.lines[: level.grid]
    (first, form), *others = table.columns
    head = (author(first), plain_text(_joined([title_of(label) for label, _ in others])))
    body = [
        (
            formatted(line[0], form, level),
            plain_text(_joined([formatted_part(line[at], form, _CELL) for at, (_, form) in enumerate(others, 1)])),
        )
        for line in lines
    ]
    titled: Block = {"type": "section", "text": author(table.title)}
    return [titled, *rows_of([head, *body]), *left_out(table.count - len(lines), "line")]


def _joined(parts: list[Shown]) -> Shown:
    return Shown(" · ".join(parts) or "—")
