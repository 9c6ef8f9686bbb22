"""The shapes that fields of records share: identifiers, digests and moments."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from receipts import piecewise
from receipts.canonical import Apart, built

_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


class Exact(BaseModel):
    """Frozen, strict, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@lru_cache(maxsize=256)  # what is written in one transaction has one moment
def timestamp(moment: datetime) -> str:
    """Return an aware moment as RFC 3339 in UTC with microseconds, so that order of text is order of time."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone cannot be put on record")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@lru_cache(maxsize=256)
def _must_be_timestamp(text: str) -> str:
    """Return `text` if `timestamp` could have written it."""
    try:
        is_moment = _TIMESTAMP.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        is_moment = False
    if is_moment:
        return text
    raise ValueError("must be RFC 3339 in UTC with microseconds, such as 2026-01-31T09:00:00.000000Z")


def in_parts(texts: list[str]) -> Iterator[list[str]]:
    """Give a list of texts, some at a time where it stands apart."""
    yield from piecewise.items_of(texts) if isinstance(texts, Apart) else [texts]


def _must_be_texts(value: Any, plainly: ValidatorFunctionWrapHandler) -> Any:
    """Return a list of texts, which may stand apart; `plainly` says what is wrong with another."""
    if not isinstance(value, Apart):
        return plainly(value)
    if value.data[0] != ord("["):
        return plainly({})
    before = 0
    for part in piecewise.items_of(value):
        if not all(isinstance(item, str) for item in part):
            return plainly([*[""] * before, *part])
        before += len(part)
    return value


def _must_be_object(value: Any, plainly: ValidatorFunctionWrapHandler) -> Any:
    """Return an object, which may stand apart; `plainly` says what is wrong with anything else."""
    return value if isinstance(value, Apart) and value.data[0] == ord("{") else plainly(value)


Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""An identifier of ours; it may stand in a file name as it is."""

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Object = Annotated[dict[str, Any], WrapValidator(_must_be_object), PlainSerializer(built)]
"""An object of JSON, which may stand apart."""
Sha256Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Texts = Annotated[list[str], WrapValidator(_must_be_texts)]
"""A list of texts, to be read by `in_parts`: one of any length may stand apart."""
Timestamp = Annotated[str, AfterValidator(_must_be_timestamp)]
