"""How a run ended, as its own bundle tells it to that of a run which waited for it, or undoes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidence.verify.contents import Contents
from receipts.chain import RECEIPT_WRITTEN, RUN_ENDED


@dataclass(frozen=True)
class EndedRun:
    """A run, the hash of the leaf with which it ended, and the run and step that started it, where some did.

    `receipts` are the digests of those that say `success`, by their ids.
    """

    run_id: str
    end: str
    succeeded: bool
    started_by: tuple[str, str] | None
    tenant: str
    receipts: Mapping[str, str]


def ended_run(contents: Contents) -> EndedRun:
    """Return how the run of a bundle that holds ended."""
    end = next(leaf for leaf in reversed(contents.leaves) if leaf.event in RUN_ENDED)
    done = {receipt.receipt_id for receipt in contents.receipts.values() if receipt.outcome == "success"}
    written = {str(leaf.data["receipt_id"]): str(leaf.data["digest"]) for leaf in contents.leaves_of(RECEIPT_WRITTEN)}
    return EndedRun(
        run_id=contents.run.run_id,
        end=end.hash,
        succeeded=end.event == "run.succeeded",
        started_by=_started_by(contents.leaves[0].data),
        tenant=contents.run.tenant,
        receipts={receipt_id: digest for receipt_id, digest in written.items() if receipt_id in done},
    )


def _started_by(data: dict[str, Any]) -> tuple[str, str] | None:
    parent = data.get("parent")
    return (str(parent.get("run_id")), str(parent.get("step"))) if isinstance(parent, dict) else None
