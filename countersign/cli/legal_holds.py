"""Sets and lifts legal holds, and has the archive carry them out while the person waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from countersign.archive import make_archive
from countersign.cli.operate import OperateError
from countersign.privacy import make_privacy
from countersign.settings import Settings
from countersign.storage import open_storage
from evidence.archive.keeper import Keeper
from runtime.services.holds import HoldDesk, HoldError, Subject
from runtime.services.operator import UnknownPersonError


async def set_hold(settings: Settings, subject: Subject, by: str, reason: str) -> tuple[str, int]:
    """Set a hold; return its id, and how many bundles the archive holds now that it did not. Raise OperateError.

    Nothing is put on record where the archive keeps nothing from being deleted.
    """
    async with _keeper(settings) as keeper:
        await asyncio.to_thread(keeper.archive.check_lock)
        hold_id = await keeper.desk.hold(by, subject, reason)
        return hold_id, await _carried_out(keeper)


async def lift_hold(settings: Settings, subject: Subject, by: str, reason: str) -> tuple[str, int]:
    """Lift a hold; return its id, and of how many bundles the archive was told. Raise OperateError."""
    async with _keeper(settings) as keeper:
        hold_id = await keeper.desk.lift(by, subject, reason)
        return hold_id, await _carried_out(keeper)


async def list_holds(settings: Settings, *, lifted: bool) -> list[dict[str, Any]]:
    """Return the tenant's holds."""
    async with _keeper(settings) as keeper:
        return await keeper.desk.listed(lifted=lifted)


async def _carried_out(keeper: Keeper) -> int:
    """Tell the archive until it knows all, or does not take it; workers do what is left."""
    done = 0
    while await keeper():
        done += 1
    return done


@asynccontextmanager
async def _keeper(settings: Settings) -> AsyncIterator[Keeper]:
    async with open_storage(settings) as storage:
        desk = HoldDesk(storage.pool, storage.clock, settings.tenant, make_privacy(settings))
        try:
            yield Keeper(desk, make_archive(settings, storage.clock))
        except (HoldError, UnknownPersonError) as error:
            raise OperateError(str(error)) from error
