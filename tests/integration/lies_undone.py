"""What somebody tells who holds the signing key, about what a run took back: each lie bends the bundle of the undo."""

from collections.abc import Mapping
from typing import Any

from tests.integration.forger import Bend, Forged

Json = dict[str, Any]


def _named(forged: Forged) -> Json:
    """Return what the trigger of an undo has to say."""
    found: Json = forged.definition["trigger"]["schema"]["properties"]
    return found


def _of_another_run(forged: Forged) -> None:
    _named(forged)["run_id"]["const"] = "run_other"


def _with_another_digest(forged: Forged) -> None:
    _named(forged)["receipts"]["const"][0]["digest"] = "0" * 64


def _another_receipt(forged: Forged) -> None:
    _named(forged)["receipts"]["const"][0]["receipt_id"] = "rcp_other"


def _one_unnamed(forged: Forged) -> None:
    """Let one receipt that was undone not have been named."""
    del _named(forged)["receipts"]["const"][0]


def _unnamed(forged: Forged) -> None:
    del _named(forged)["receipts"]["const"]


UNDONE: Mapping[str, tuple[str, Bend]] = {
    "an undo of another run": ("receipts.undone", _of_another_run),
    "another receipt than was written": ("receipts.undone", _with_another_digest),
    "a receipt of nobody": ("receipts.undone", _another_receipt),
    "something undone that is not named": ("receipts.undone", _one_unnamed),
    "no receipts named": ("receipts.undone", _unnamed),
}
"""Lies that each bundle hides by itself, and the other shows."""
