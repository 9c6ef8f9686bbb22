"""What authors say about trying again: what must hold beyond its shape, and what it comes to."""

from collections.abc import Iterator

from runtime.definitions.durations import parse_duration
from runtime.definitions.model import Retry
from runtime.definitions.problems import Finding, Path
from runtime.definitions.sources.shapes import RetryShape
from runtime.definitions.waiting import FACTOR, LADDER

_WAYS = ("backoff", "factor", "ladder")
_PAUSES = ("base_delay", "max_delay")
_ANY = "PT1S"
"""Stands for a pause whose key is missing, which is a problem of its own."""


def retry_rules(retry: RetryShape) -> Iterator[Finding]:
    """Yield what is wrong with a `retry`, at paths within it."""
    ways = [way for way in _WAYS if getattr(retry, way) is not None]
    if not ways:
        yield (), "missing_key", "the key 'backoff' is missing (or 'factor', or 'ladder')"
    for way in ways[1:]:
        yield (way,), "rule", f"'{way}' says another time what '{ways[0]}' says: how pauses grow"
    yield from _ladder_rules(retry, retry.ladder) if retry.ladder else _growing_rules(retry)


def _ladder_rules(retry: RetryShape, ladder: list[str]) -> Iterator[Finding]:
    for key in _PAUSES:
        if getattr(retry, key) is not None:
            yield (key,), "rule", f"'{key}' does not go with a ladder, which says every pause"
    if retry.max_attempts is not None and retry.max_attempts <= len(ladder):
        message = f"the ladder has {len(ladder)} pauses, so there are {len(ladder) + 1} attempts at least"
        yield ("max_attempts",), "rule", message
    for index, pause in enumerate(ladder):
        yield from duration_fault(("ladder", index), pause)


def _growing_rules(retry: RetryShape) -> Iterator[Finding]:
    for key in ("max_attempts", *_PAUSES):
        if getattr(retry, key) is None:
            yield (), "missing_key", f"the key '{key}' is missing"
    faults = [fault for key in _PAUSES for fault in duration_fault((key,), getattr(retry, key) or _ANY)]
    yield from faults
    shortest, longest = retry.base_delay or _ANY, retry.max_delay or _ANY
    if not faults and parse_duration(shortest) > parse_duration(longest):
        yield ("base_delay",), "duration", f"{shortest} is longer than max_delay {longest}"


def duration_fault(path: Path, text: str) -> Iterator[Finding]:
    """Yield what is wrong with a duration."""
    try:
        parse_duration(text)
    except ValueError as error:
        yield path, "duration", str(error)


def declared_retry(retry: RetryShape) -> Retry:
    """Return what a `retry` without faults says."""
    pauses = tuple(parse_duration(pause) for pause in retry.ladder or ())
    return Retry(
        max_attempts=retry.max_attempts or len(pauses) + 1,
        backoff=LADDER if pauses else retry.backoff or FACTOR,
        base_delay=pauses[0] if pauses else parse_duration(retry.base_delay or ""),
        max_delay=max(pauses) if pauses else parse_duration(retry.max_delay or ""),
        factor=retry.factor,
        ladder=pauses,
        jitter=retry.jitter,
    )
