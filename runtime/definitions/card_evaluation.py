"""Evaluation of a declared card: what it shows of one request, once, when people are asked. Values in and out.

What cannot be evaluated is left out, piece by piece; then the card shows what it shows where nothing is declared. The
document is bounded: at most about 60 KiB of JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from receipts.canonical import dumps
from runtime.definitions.cards import CardSpec, FieldSpec, TableSpec
from runtime.definitions.cel.expressions import compile_template, render, render_text
from runtime.definitions.cel.outcomes import ExpressionError

Json = Any
Context = Mapping[str, Json]

TITLE, SUMMARY, CHOICE, URL, VALUE, CELL, LINES = 300, 1000, 200, 1500, 2000, 200, 20
"""The longest texts, in characters, the largest value of a field, in bytes of JSON, and the most lines of a table."""


def evaluate_card(card: CardSpec, context: Context) -> dict[str, Json]:
    """Return what the card says, in the form that `runtime.services.approval_view.Declared` reads."""
    texts = {
        "title": _text(card.title, context, TITLE),
        "summary": _text(card.summary, context, SUMMARY),
        "approve": _text(card.approve, context, CHOICE),
        "reject": _text(card.reject, context, CHOICE),
    }
    links = [{"label": link.label, "url": url} for link in card.links if (url := _text(link.url, context, URL))]
    return {
        **{name: text for name, text in texts.items() if text},
        "fields": list(_fields(card.fields, context)),
        "tables": [found for table in card.tables if (found := _table(table, context)) is not None],
        "links": [link for link in links if len(link["url"]) < URL and link["url"].isascii()],
        "hide": list(card.hide),
    }


def _text(text: str | None, context: Context, most: int) -> str:
    try:
        return _cut(render_text(text, context), most) if text else ""
    except ExpressionError:
        return ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fields(fields: Sequence[FieldSpec], context: Context) -> Iterator[dict[str, Json]]:
    for field in fields:
        try:
            value = _bounded(render(field.value, context), VALUE)
        except ExpressionError:
            continue
        if not _is_flat(value):
            continue
        yield {"label": field.label, "value": value, "format": field.format.value}


def _bounded(value: Json, most: int) -> Json:
    """Return a value that is not too large to be shown; a text is cut, anything else that is larger cannot be."""
    if isinstance(value, str):
        return _cut(value, most)
    if len(dumps(value)) > most:
        raise ExpressionError("too large to be shown")
    return value


def _is_flat(value: Json) -> bool:
    """Tell whether a value stands in one place: a text, a number, yes, no, nothing, or a list of these."""
    members = value if isinstance(value, list) else [value]
    return not any(isinstance(member, list | dict) for member in members)


def _table(table: TableSpec, context: Context) -> dict[str, Json] | None:
    try:
        rows = compile_template(table.rows).render(context)
    except ExpressionError:
        return None
    if not isinstance(rows, list):
        return None
    columns = [{"label": column.label, "format": column.format.value} for column in table.columns]
    lines = [[_at(column, {**context, "row": row}) for column in table.columns] for row in rows[:LINES]]
    return {"title": table.title, "columns": columns, "lines": lines, "count": len(rows)}


def _at(column: FieldSpec, context: Context) -> Json:
    """Return a cell; None where it cannot be evaluated."""
    try:
        value = _bounded(render(column.value, context), CELL)
    except ExpressionError:
        return None
    return None if isinstance(value, list | dict) else value
