"""The steps of a run as its runbook reads, with iterations in which there is nothing to look at on one line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.model.states import StepStatus

Row = Mapping[str, Any]

_PARTS = re.compile(r"[^.\[]+|\[\d+\]")
_QUIET = {StepStatus.SUCCEEDED, StepStatus.SKIPPED}


def in_few_lines(steps: Sequence[Row]) -> list[dict[str, Any]]:
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
    return [_told(row) for row in rows]


def _is_loud(step: Row) -> bool:
    """Return whether there is something to look at: it has not ended well, or a person has let it go on."""
    return step["status"] not in _QUIET or step["version"] > 0


def _fold(rows: list[dict[str, Any]], iteration: str, step: Row) -> None:
    repeat, _, number = iteration.rpartition("[")
    before = rows[-1] if rows else {}
    if before.get("repeat") == repeat:
        before["last"] = int(number[:-1])
        before["count"] += 1
    else:
        rows.append({**step, "repeat": repeat, "first": int(number[:-1]), "last": int(number[:-1]), "count": 1})


def _told(row: dict[str, Any]) -> dict[str, Any]:
    if "repeat" not in row:
        return row
    repeat, first, last, count = (row.pop(name) for name in ("repeat", "first", "last", "count"))
    path = f"{repeat}[{first}]" if first == last else f"{repeat}[{first}] to [{last}]"
    return dict.fromkeys(row) | {"path": path, "status": "succeeded", "verb": f"{count} steps"}


def _as_a_tree(steps: Sequence[Row]) -> list[Row]:
    """Return each step behind the one in which it stands, siblings as they stand in the definition."""
    order: dict[str, int] = {}
    for step in steps:
        order.setdefault(_node(step["path"]), len(order))

    def place(step: Row) -> list[tuple[int, int]]:
        return [(order.get(_node(one), -1), _number(one)) for one in _prefixes(step["path"])]

    return sorted(steps, key=place)


def _prefixes(path: str) -> list[str]:
    """Return the paths of all in which a step stands, the outermost first, and its own."""
    return [path[: part.end()] for part in _PARTS.finditer(path)]


def _node(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def _number(path: str) -> int:
    return int(path.rpartition("[")[2][:-1]) if path.endswith("]") else -1
