"""Recorded runs as files: what planning a run again takes, kept so that a planner that decides otherwise is found."""

from pathlib import Path
from typing import Any

from receipts.chain import Leaf
from runtime.definitions.canonical import from_canonical
from runtime.services.run_replay import Recorded

CORPUS = Path(__file__).parent / "recorded_runs"

_AS_THEY_ARE = ("run_id", "tenant", "salt", "trigger", "trigger_is_whole", "started_at", "results")


def recorded_of(document: dict[str, Any]) -> Recorded:
    """Return the run that a file tells."""
    return Recorded(
        definition=from_canonical(document["definition"].encode()),
        leaves=[Leaf.model_validate(leaf) for leaf in document["leaves"]],
        **{name: document[name] for name in _AS_THEY_ARE},
    )
