"""What `runs show` prints: a run, its steps, waits, effects outside, and child runs.

Steps stand in the order of the runbook; iterations that ended well and lie side by side share one line.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from countersign.cli.command import out, show_one, show_rows
from runtime.model.effect import Purpose
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.subscription import CONNECTOR

StepRow = Mapping[str, Any]

_PATH_PARTS = re.compile(r"[^.\[]+|\[\d+\]")
_QUIET = {StepStatus.SUCCEEDED, StepStatus.SKIPPED}


def in_few_lines(steps: Sequence[StepRow]) -> list[dict[str, Any]]:
    """Return the steps in the order of the tree; iterations that have ended well and lie side by side are one row.

    `steps` come in the order of their nodes in the definition, as `find_steps` returns them.
    """
    loud = {prefix for step in steps if _is_loud(step) for prefix in _prefixes(step["path"])}
    rows: list[dict[str, Any]] = []
    for step in _as_a_tree(steps):
        iteration = next((one for one in _prefixes(step["path"]) if one.endswith("]") and one not in loud), None)
        if iteration is None:
            rows.append({**step})
        else:
            _fold(rows, iteration, step)
    return [_named_iterations(row) for row in rows]


def _is_loud(step: StepRow) -> bool:
    """Return whether there is something to look at: it has not ended well, or a person has let it go on."""
    return step["status"] not in _QUIET or step["version"] > 0


def _fold(rows: list[dict[str, Any]], iteration: str, step: StepRow) -> None:
    repeat, _, number = iteration.rpartition("[")
    before = rows[-1] if rows else {}
    if before.get("repeat") == repeat:
        before["last"] = int(number[:-1])
        before["count"] += 1
    else:
        rows.append({**step, "repeat": repeat, "first": int(number[:-1]), "last": int(number[:-1]), "count": 1})


def _named_iterations(row: dict[str, Any]) -> dict[str, Any]:
    if "repeat" not in row:
        return row
    repeat, first, last, count = (row.pop(name) for name in ("repeat", "first", "last", "count"))
    path = f"{repeat}[{first}]" if first == last else f"{repeat}[{first}] to [{last}]"
    return dict.fromkeys(row) | {"path": path, "status": "succeeded", "verb": f"{count} steps"}


def _as_a_tree(steps: Sequence[StepRow]) -> list[StepRow]:
    """Return each step behind the one in which it stands, siblings as they stand in the definition."""
    order: dict[str, int] = {}
    for step in steps:
        order.setdefault(_node(step["path"]), len(order))

    def place(step: StepRow) -> list[tuple[int, int]]:
        return [(order.get(_node(one), -1), _number(one)) for one in _prefixes(step["path"])]

    return sorted(steps, key=place)


def _prefixes(path: str) -> list[str]:
    """Return the paths of all in which a step stands, the outermost first, and its own."""
    return [path[: part.end()] for part in _PATH_PARTS.finditer(path)]


def _node(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def _number(path: str) -> int:
    return int(path.rpartition("[")[2][:-1]) if path.endswith("]") else -1


RunRow = Mapping[str, Any]

_TABLES = ("steps", "costs", "waits", "effects", "reviews", "questions", "runs")
_SHOWN_ABOVE = {"run_id", "definition_name"}
_FIRST = ("reference", "runbook", "status", "outcome", "requested_by", "submitted_by", "created_at", "finished_at")
_SHOWN_OTHERWISE = {"definition_name", "definition_version", "requester_name"}


def in_words(run: RunRow) -> dict[str, Any]:
    """Return a run for people: its reference, runbook and requester by their names first, and its ids last."""
    named = {
        **{name: value for name, value in run.items() if name not in _SHOWN_OTHERWISE},
        "reference": run["reference"] or run["trigger_ref"],
        "runbook": f"{run['definition_name']} v{run['definition_version']}",
        "requested_by": run["requester_name"],
    }
    ids = ("trigger_ref", "run_id")
    middle = [name for name in named if name not in (*_FIRST, *ids)]
    return {name: named[name] for name in (*_FIRST, *middle, *ids)}


def show_run(found: RunRow) -> None:
    """Print a run for people. What is empty everywhere is left out, and what was said in the chat is counted."""
    show_one(in_words({name: value for name, value in found.items() if name not in _TABLES}), as_json=False)
    said = [one for one in found["effects"] if _is_sent_message(one)]
    hooks = sum(one["connector"] == CONNECTOR for one in said)
    tables = {
        "steps": in_few_lines(found["steps"]),
        "costs": found["costs"],
        "waits": found["waits"],
        "effects": [one for one in found["effects"] if not _is_sent_message(one)],
    }
    for name, rows in tables.items():
        _show_table(name, rows, _SHOWN_ABOVE)
    for number, what in ((len(said) - hooks, "messages in the chat"), (hooks, "deliveries to subscribers")):
        if number:
            out.print(f"\n{number} {what}: countersign effects list --run {found['run_id']}")
    _show_table("open reviews of break-glass", [_review_in_words(one) for one in found["reviews"]], set())
    _show_table("questions", found["questions"], set())
    _show_table("runs", found["runs"], set())


def _show_table(name: str, rows: Sequence[RunRow], but: set[str]) -> None:
    columns = [one for one in (rows[0] if rows else ()) if one not in but and any(row[one] for row in rows)]
    if columns:
        out.print(f"\n{name}")
        show_rows(rows, columns)


def _review_in_words(review: RunRow) -> RunRow:
    """Return a review with its groups and people in a row each, as a table has room for them."""
    return {**review, "may_close": ", ".join(review["may_close"]), "but": ", ".join(review["but"])}


def _is_sent_message(effect: RunRow) -> bool:
    return (effect["purpose"], effect["status"]) == (Purpose.MESSAGE, EffectStatus.DISPATCHED)
