"""What changes between two versions of a runbook, place by place, for people who decide about it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document
from runtime.definitions.model import Definition

_KEYS = ("id", "name")
_IDENTITY = ("format", "version")
"""What differs between any two versions, and says nothing."""
_NOTHING: Mapping[str, Any] = {"steps": {}, "verbs": {}}
"""What a first version is compared with, so that each of its steps and verbs has a line."""
_WIDE = 400
"""Characters of a line on a card."""


@dataclass(frozen=True)
class Change:
    """A difference at one place, such as ``steps.ask.params.documents`` or ``verbs.ask_client.effect.tier``.

    `before` and `after` are canonical JSON; None where the place was not there before, or is not any more.
    """

    path: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        """Return what happened to the place."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    def lines(self) -> list[str]:
        """Return the change as a diff writes it: what was after a minus, what is after a plus."""
        sides = (("-", self.before), ("+", self.after))
        return [f"{sign} {self.path}: {value}" for sign, value in sides if value is not None]


def changes(before: Definition | None, after: Definition) -> list[Change]:
    """Return what changes from one version to the other, in the order of the later one; or all of a first version."""
    old = definition_document(before) if before else _NOTHING
    return list(_walk((), _said(old), _said(definition_document(after))))


def _said(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a version says, its edges by name: each is a thing of its own, and the list's order says nothing."""
    said = {key: value for key, value in document.items() if key not in _IDENTITY}
    edges = said.pop("edges", ())
    return {**said, "edges": {f"{edge['source']} → {edge['target']}": edge["kind"] for edge in edges}}


def _walk(path: tuple[str, ...], before: Any, after: Any) -> Iterator[Change]:
    if before == after:
        return
    old, new = _members(before), _members(after)
    if old is None or new is None:
        yield Change(".".join(path), _text(before), _text(after))
        return
    for key in dict.fromkeys((*new, *old)):
        if key in old and key in new:
            yield from _walk((*path, key), old[key], new[key])
        elif key in new:
            yield Change(".".join((*path, key)), None, _text(new[key]))
        else:
            yield Change(".".join((*path, key)), _text(old[key]), None)


def _members(value: Any) -> Mapping[str, Any] | None:
    """Return what a value has by name: a mapping's keys, a list's named things; or None where it has no names."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and value:
        key = next((key for key in _KEYS if all(isinstance(one, Mapping) and key in one for one in value)), None)
        named = {str(one[key]): one for one in value} if key else {}
        return named if len(named) == len(value) else None
    return None


def _text(value: Any) -> str:
    return dumps(value).decode()


def summary(found: Sequence[Change], most: int) -> list[str]:
    """Return the changes as lines for a card, at most so many; the last then says how many more there are."""
    lines = [line if len(line) <= _WIDE else f"{line[:_WIDE]}…" for change in found for line in change.lines()]
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines: see countersign definitions diff"]
