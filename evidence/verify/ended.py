"""How a run ended, as its own bundle tells it to the bundle of a run that waited for it."""

from dataclasses import dataclass
from typing import Any

from evidence.verify.material.contents import Contents
from receipts.chain import RUN_ENDED


@dataclass(frozen=True)
class EndedRun:
    """A run, the hash of the leaf with which it ended, and the run and step that started it, where some did."""

    run_id: str
    end: str
    succeeded: bool
    started_by: tuple[str, str] | None


def ended_run(contents: Contents) -> EndedRun:
    """Return how the run of a bundle that holds ended."""
    end = next(leaf for leaf in reversed(contents.leaves) if leaf.event in RUN_ENDED)
    return EndedRun(contents.run.run_id, end.hash, end.event == "run.succeeded", _started_by(contents.leaves[0].data))


def _started_by(data: dict[str, Any]) -> tuple[str, str] | None:
    parent = data.get("parent")
    return (str(parent.get("run_id")), str(parent.get("step"))) if isinstance(parent, dict) else None
