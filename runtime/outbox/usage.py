"""Reads what a handler told beside its result, strictly. Whatever it told, its result stands."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from receipts.usage import Metadata, Told, Usage, amount
from runtime import handlers
from runtime.handlers import Answer, HandlerError
from runtime.model.json_limits import error_text
from runtime.store.run_tx import RunTx

Clean = Callable[[str], str]
"""What takes secrets out of a text."""


async def told_in(tx: RunTx, said: Answer | HandlerError | None) -> Told | None:
    """Return what was told as a run puts it on record; None where nothing was, or its format has no place for it."""
    if said is None or (said.metadata is None and not said.usage) or tx.evidence_format == 1:
        return None
    return told_by(said, (await tx.privacy()).text)


def told_by(said: Answer | HandlerError, clean: Clean) -> Told:
    """Return what was told: all of it, or a note of the first thing that is wrong."""
    try:
        metadata = None if said.metadata is None else _metadata(said.metadata, clean)
        return Told(metadata=metadata, usage=[_usage(one, clean) for one in said.usage], not_recorded=None)
    except Exception as error:  # noqa: BLE001 - whatever was told, it must not cost the result
        return Told(metadata=None, usage=[], not_recorded=error_text(clean(_wrong(error))))


def _metadata(told: handlers.Metadata, clean: Clean) -> Metadata:
    return Metadata(status=told.status, request_id=_clean(told.request_id, clean), requests=told.requests)


def _usage(told: handlers.Usage, clean: Clean) -> Usage:
    return Usage(
        provider=clean(told.provider),
        model=_clean(told.model, clean),
        units={unit: amount(number) for unit, number in told.units.items()},
        cost=None if told.cost is None else amount(told.cost),
        currency=told.currency,
    )


def _clean(text: str | None, clean: Clean) -> str | None:
    return None if text is None else clean(text)


def _wrong(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first: Any = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'usage'}: {first['msg']}"
