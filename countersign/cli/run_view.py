"""`runs show`: a run, its steps, what it waits for, what it does outside, and the runs that it started."""

from collections.abc import Mapping, Sequence
from typing import Any

from countersign.cli.command import out
from countersign.cli.run_steps import in_few_lines
from countersign.cli.tables import show_one, show_rows
from runtime.model.effect import Purpose
from runtime.model.states import EffectStatus
from runtime.model.subscription import CONNECTOR

Row = Mapping[str, Any]

_PARTS = ("steps", "costs", "waits", "effects", "reviews", "questions", "runs")
_SAID_ABOVE = {"run_id", "definition_name"}
_FIRST = ("reference", "runbook", "status", "outcome", "requested_by", "submitted_by", "created_at", "finished_at")
_SAID_OTHERWISE = {"definition_name", "definition_version", "requester_name"}


def in_words(run: Row) -> dict[str, Any]:
    """Return a run for people: its reference, runbook and requester by their names first, and its ids last."""
    named = {
        **{name: value for name, value in run.items() if name not in _SAID_OTHERWISE},
        "reference": run["reference"] or run["trigger_ref"],
        "runbook": f"{run['definition_name']} v{run['definition_version']}",
        "requested_by": run["requester_name"],
    }
    ids = ("trigger_ref", "run_id")
    middle = [name for name in named if name not in (*_FIRST, *ids)]
    return {name: named[name] for name in (*_FIRST, *middle, *ids)}


def show_run(found: Row) -> None:
    """Print a run for people. What is empty everywhere is left out, and what was said in the chat is counted."""
    show_one(in_words({name: value for name, value in found.items() if name not in _PARTS}), as_json=False)
    said = [one for one in found["effects"] if _was_said(one)]
    hooks = sum(one["connector"] == CONNECTOR for one in said)
    tables = {
        "steps": in_few_lines(found["steps"]),
        "costs": found["costs"],
        "waits": found["waits"],
        "effects": [one for one in found["effects"] if not _was_said(one)],
    }
    for name, rows in tables.items():
        _show(name, rows, _SAID_ABOVE)
    for number, what in ((len(said) - hooks, "messages in the chat"), (hooks, "deliveries to subscribers")):
        if number:
            out.print(f"\n{number} {what}: countersign effects list --run {found['run_id']}")
    _show("open reviews of break-glass", [_in_words(one) for one in found["reviews"]], set())
    _show("questions", found["questions"], set())
    _show("runs", found["runs"], set())


def _show(name: str, rows: Sequence[Row], but: set[str]) -> None:
    columns = [one for one in (rows[0] if rows else ()) if one not in but and any(row[one] for row in rows)]
    if columns:
        out.print(f"\n{name}")
        show_rows(rows, columns, as_json=False)


def _in_words(review: Row) -> Row:
    """Return a review with its groups and people in a row each, as a table has room for them."""
    return {**review, "may_close": ", ".join(review["may_close"]), "but": ", ".join(review["but"])}


def _was_said(effect: Row) -> bool:
    return (effect["purpose"], effect["status"]) == (Purpose.MESSAGE, EffectStatus.DISPATCHED)
