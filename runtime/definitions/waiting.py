"""The canonical forms of when to try again, and of who is asked next. A key that nobody gave is not in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.definitions.durations import format_duration, parse_duration
from runtime.definitions.model import Escalation, Retry

LADDER, FACTOR = "ladder", "factor"
"""The `backoff` of what is not told by a word."""

Document = Mapping[str, Any]


def retry_document(retry: Retry) -> dict[str, Any]:
    """Return when to try again, as a definition says it."""
    said: dict[str, Any] = {"max_attempts": retry.max_attempts, "backoff": retry.backoff}
    if retry.ladder:
        said["ladder"] = [format_duration(pause) for pause in retry.ladder]
    else:
        said |= {"base_delay": format_duration(retry.base_delay), "max_delay": format_duration(retry.max_delay)}
    if retry.factor is not None:
        said["factor"] = retry.factor
    if retry.jitter is not None:
        said["jitter"] = retry.jitter
    return said


def retry_of(document: Document) -> Retry:
    """Return when to try again; raise LookupError, TypeError or ValueError where the document does not say it."""
    pauses = tuple(parse_duration(pause) for pause in document.get("ladder", ()))
    if (document["backoff"] == LADDER) != bool(pauses) or (document["backoff"] == FACTOR) != ("factor" in document):
        raise ValueError(f"a retry by {document['backoff']!r} does not say its pauses")
    return Retry(
        max_attempts=document["max_attempts"],
        backoff=document["backoff"],
        base_delay=pauses[0] if pauses else parse_duration(document["base_delay"]),
        max_delay=max(pauses) if pauses else parse_duration(document["max_delay"]),
        factor=document.get("factor"),
        ladder=pauses,
        jitter=document.get("jitter"),
    )


def escalation_document(entries: Sequence[Escalation]) -> list[dict[str, Any]] | dict[str, Any] | None:
    """Return what happens as time runs short: one entry that only asks groups by itself, as it stood before lists."""
    said = [_entry_document(entry) for entry in entries]
    if len(said) == 1 and said[0].keys() == _PLAIN:
        return said[0]
    return said or None


def escalation_of(document: Sequence[Document] | Document | None) -> tuple[Escalation, ...]:
    """Return what happens as time runs short."""
    if isinstance(document, Mapping):
        return (_entry(document),)
    return tuple(_entry(entry) for entry in document or ())


_PLAIN = {"after", "to"}


def _entry_document(entry: Escalation) -> dict[str, Any]:
    said: dict[str, Any] = {"after": format_duration(entry.after)}
    if entry.to:
        said["to"] = list(entry.to)
    if entry.extend is not None:
        said["extend"] = format_duration(entry.extend)
    if entry.start is not None:
        said["start"] = entry.start
    return said


def _entry(document: Document) -> Escalation:
    return Escalation(
        after=parse_duration(document["after"]),
        to=tuple(document.get("to", ())),
        extend=parse_duration(document["extend"]) if "extend" in document else None,
        start=document.get("start"),
    )
