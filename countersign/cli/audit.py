"""What the commands about the audit log do. Large imports come with their use."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from countersign.cli.operate import OperateError
from countersign.connection import connected
from countersign.log_key import log_keys
from countersign.settings import Settings, required
from evidence.later import LaterStamp
from evidence.verify.trust import open_kept
from runtime.services import health as inspection
from runtime.services.bundle_stamps import NoStampError, first_after
from runtime.services.log import LogChangedError

if TYPE_CHECKING:
    from runtime.services.health import Audit


async def newest_checkpoint(settings: Settings) -> str:
    """Return the newest checkpoint; raise OperateError where nothing was signed yet."""
    async with connected(settings) as conn:
        found = await inspection.newest_checkpoint(conn, settings.tenant)
    if found is None:
        raise OperateError("the log has no signature yet: a worker signs it once a minute")
    return found.note


async def later_stamp(settings: Settings, run_id: str) -> LaterStamp:
    """Return the first time stamp that is over a run's bundle; raise OperateError where none can be had."""
    async with connected(settings) as conn:
        try:
            stamped, growth = await first_after(conn, settings.tenant, run_id)
        except (NoStampError, LogChangedError) as error:
            raise OperateError(str(error)) from error
    return LaterStamp(stamped.note.encode(), stamped.stamp, growth)


def audited(settings: Settings, kept: Sequence[Path]) -> "Audit":
    """Return what an audit finds; raise TrustError where a checkpoint that was kept cannot be used."""
    heads = [open_kept(file, log_keys(settings)) for file in kept]
    return inspection.audit(required(settings, "database_url"), settings.tenant, heads)
