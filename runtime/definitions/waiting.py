"""The canonical forms of when to try again. A key that an author did not give is not in them."""

from collections.abc import Mapping
from typing import Any

from runtime.definitions.durations import format_duration, parse_duration
from runtime.definitions.model import Retry

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
