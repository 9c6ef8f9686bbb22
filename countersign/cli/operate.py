"""What an operator does to a running system from the command line. What is large is imported where it is needed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countersign.connection import connected, naming
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from receipts.checkpoint import LogKeys
from receipts.note import VerifierKey
from receipts.register import Entry
from runtime.clock import utc_now
from runtime.model.limits import json_fault
from runtime.services import keys, log
from runtime.services.operator import OperatorService
from runtime.services.people import person_of

APPLY_SECONDS = 10.0
"""How long a command waits for a worker to do what it asks for; it is on record before that."""


def read_json(file: Path) -> Any:
    """Return the JSON in a file, or raise OperateError."""
    from policy.bundle import strict_json

    try:
        return strict_json(file.read_bytes().decode())
    except OSError as error:
        raise OperateError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise OperateError(f"{file} is not JSON: {error}") from error


def expect_recordable(given: Any, what: str) -> dict[str, Any]:
    """Return an object that can be put on record, or raise OperateError."""
    if wrong := json_fault(given):
        raise OperateError(f"{what}: {wrong}")
    return dict(given)


async def perform(settings: Settings, record: Callable[[OperatorService], Awaitable[str]]) -> dict[str, Any]:
    """Record what an operator wants, through the inbox like everything else; return what became of it.

    As long as no worker has applied it, its status is `received`. Raise OperateError where it was not to be done.
    """
    from countersign.storage import open_storage

    async with open_storage(settings) as storage:
        desk = OperatorService(storage.pool, storage.clock, settings.tenant)
        with naming():
            notification_id = await record(desk)
        facts = await desk.outcome(notification_id, APPLY_SECONDS) or {"status": "received"}
    if facts["status"] not in ("applied", "received", "early"):
        raise OperateError(f"nothing was done: {_why(facts)}")
    return {"notification_id": notification_id, **facts}


def _why(facts: Mapping[str, Any]) -> str:
    """Return why something was not done."""
    from runtime.model.votes import Refusal, RefusalCode
    from runtime.services.refusal_words import refusal_reason

    if "reason" in facts:
        return str(facts["reason"])
    return refusal_reason(Refusal(RefusalCode(facts["code"]), tuple(facts["about"])))


async def perform_each(
    settings: Settings, subjects: Sequence[str], record: Callable[[OperatorService, str], Awaitable[str]]
) -> dict[str, dict[str, Any]]:
    """Record an act on each subject, and return what became of each, whatever that was; raise OperateError."""
    from countersign.storage import open_storage

    async with open_storage(settings) as storage:
        desk = OperatorService(storage.pool, storage.clock, settings.tenant)
        with naming():
            recorded = {subject: await record(desk, subject) for subject in subjects}
        found, until = {}, time.monotonic() + APPLY_SECONDS
        for subject, one in recorded.items():
            facts = await desk.outcome(one, max(until - time.monotonic(), 0.0)) or {"status": "received"}
            found[subject] = {"notification_id": one, **facts}
        return found


async def rotate_key(settings: Settings, by: str) -> Sequence[Entry]:
    """Have a new key seal what is begun from now on, as the act of a person; return the register.

    Raise OperateError where the key that seals now is not: workers would not have the one that follows it.
    """
    from evidence.key_ring import KeyRing

    async with connected(settings) as conn:
        with naming():
            actor = await person_of(conn, settings.tenant, by)
        register = await keys.register_of(conn, settings.tenant)
        ring = KeyRing(settings.key_path)
        if register and not (settings.key_path.exists() and register[-1].id in ring.keys().ids):
            raise OperateError(
                f"{settings.key_path} is not the key that seals now, {register[-1].id}: rotate where it is"
            )
        await keys.register_key(conn, settings.tenant, ring.keys().current, utc_now())
        return await keys.register_key(conn, settings.tenant, ring.rotate(), utc_now(), actor)


async def revoke_key(settings: Settings, key_id: str, by: str, why: str) -> Sequence[Entry]:
    """Put on record that a key counts no more from now on; return the register. Raise RegisterError, OperateError."""
    from evidence.key_ring import KeyRing

    async with connected(settings) as conn:
        with naming():
            actor = await person_of(conn, settings.tenant, by)
        current = KeyRing(settings.key_path).keys().current
        return await keys.revoke_key(conn, settings.tenant, key_id, current, utc_now(), why, actor)


async def rotate_log(settings: Settings, by: str) -> LogKeys:
    """Replace the key that signs the log, once that is on record as the act of a person; return all keys."""
    from countersign.log_key import rotate_log_key

    loop = asyncio.get_running_loop()
    async with connected(settings) as conn:
        with naming():
            actor = await person_of(conn, settings.tenant, by)

        def record(key: VerifierKey) -> None:
            put = log.note_key(conn, settings.tenant, str(key), actor, utc_now())
            asyncio.run_coroutine_threadsafe(put, loop).result()

        return await asyncio.to_thread(rotate_log_key, settings, record)
