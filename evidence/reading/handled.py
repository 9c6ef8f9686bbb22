"""Failures that a runbook had provided for: what failed, and what took it up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evidence.reading.material import Material, text
from evidence.reading.paths import block_of


@dataclass(frozen=True)
class Handled:
    """A step that failed, when and why, and the steps that came instead."""

    step: str
    at: str
    error: str
    by: Sequence[str]


def handled_of(material: Material) -> list[Handled]:
    """Return the failures for which there was a branch, in their order."""
    taken = _taken(material)
    return [
        Handled(
            step=material.in_words(path := text(leaf, "correlation", "step")),
            at=text(leaf, "at"),
            error=text(leaf, "data", "error"),
            by=taken.get(path, []),
        )
        for leaf in material.leaves_of("step.failed_handled")
    ]


def _taken(material: Material) -> dict[str, list[str]]:
    """Return for each step those that stand in a branch of it and of which there is word, as people read them."""
    found: dict[str, dict[str, None]] = {}
    for path in _paths(material):
        if block_of(block_of(path)) and material.is_branch(block_of(path)):
            found.setdefault(block_of(block_of(path)), {})[material.in_words(path)] = None
    return {path: list(steps) for path, steps in found.items()}


def _paths(material: Material) -> Iterator[str]:
    for leaf in material.leaves:
        if text(leaf, "event").startswith("step."):
            yield text(leaf, "correlation", "step")
