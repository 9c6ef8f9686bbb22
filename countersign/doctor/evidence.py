"""What doctor and command line say of evidence: bundles not stored yet and why, what can be deleted, time stamps."""

import asyncio
from datetime import timedelta

from bot.doctor import Fact
from countersign.archive import make_archive
from countersign.connection import connected
from countersign.doctor.unsealed import describe
from countersign.settings import Settings
from evidence.archive import Archive, ArchiveError
from receipts.stamp import load_authority
from runtime.clock import Clock
from runtime.services import health as inspection
from runtime.services.log import unstamped_since

_SHOWN = 5
LATE = timedelta(minutes=15)
"""After so long, a log that has grown and is not signed is shown as failing."""
_LOOKED_AT = 50
"""Bundles without retention whose objects are asked once more: somebody may have given them one since."""


async def evidence(settings: Settings, clock: Clock) -> list[Fact]:
    """Check that finished runs are sealed in time, and that what a bucket has cannot be deleted."""
    async with connected(settings) as conn:
        waiting = await inspection.open_bundles(conn, settings.tenant)
        untold = await inspection.untold_holds(conn, settings.tenant, _LOOKED_AT)
        unretained = await inspection.unretained_bundles(conn, settings.tenant, _LOOKED_AT)
    overdue = [bundle for bundle in waiting if bundle.is_overdue]
    deletable = await asyncio.to_thread(
        _deletable, settings, clock, {row["run_id"]: row["location"] for row in unretained}
    )
    return [
        Fact(
            "evidence sealed",
            ok=not overdue,
            detail=_some([f"{bundle.run_id} ({describe(bundle)})" for bundle in overdue], "stuck or overdue")
            or f"{len(waiting)} to be stored, none stuck or overdue",
            remedy="Repair what each reason names; check that a worker runs; `countersign evidence list --state"
            " unsealed --state sealing --state stuck` shows them all.",
        ),
        Fact(
            "evidence retention",
            ok=not deletable,
            detail=_some(deletable, "stored in a bucket without retention") or "nothing was stored in a bucket without",
            remedy="Anyone who may delete objects can delete these: give each version its retention"
            " (`aws s3api put-object-retention`).",
        ),
        Fact(
            "legal holds",
            ok=not untold,
            detail=_some([f"{row['run_id']}: {row['error']}" for row in untold], "the archive does not take")
            or "the archive applies all of them",
            remedy="Let the worker's key set legal holds (s3:PutObjectLegalHold, s3:GetObjectLegalHold), and see that"
            " the bucket has Object Lock.",
        ),
    ]


async def audit_log(settings: Settings) -> list[Fact]:
    """Check that leaves are given their places, and that the log is signed, while it grows."""
    async with connected(settings) as conn:
        found = await inspection.log_standing(conn, settings.tenant)
    late = found.unsigned_for is not None and found.unsigned_for > LATE
    state = f"{found.size:,} leaves, {found.signed:,} of them signed"
    waiting = f"; {found.pending:,} transactions wait to be sequenced" if found.pending else ""
    return [
        Fact(
            "audit log",
            ok=not late and not found.fault,
            detail=f"{state}{waiting}"
            + (f"; not signed for {found.unsigned_for}" if late else "")
            + (f"; {found.fault}" if found.fault else ""),
            remedy="Check that a worker runs, and what its log says about the audit log; `countersign log verify` finds"
            " changes.",
        )
    ]


def _deletable(settings: Settings, clock: Clock, locations: dict[str, str]) -> list[str]:
    """Return the runs whose object has no retention now either, as far as the archive says."""
    if not locations:
        return []
    archive = make_archive(settings, clock)
    return [run_id for run_id, location in locations.items() if not _is_retained(archive, location)]


def _is_retained(archive: Archive, location: str) -> bool:
    try:
        return archive.head(location).retention_until is not None
    except ArchiveError:
        return False  # not known to be safe


def _some(items: list[str], what: str) -> str:
    """Return the count and the first few, or nothing."""
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{len(items)} {what}: {'; '.join(items[:_SHOWN])}{more}" if items else ""


async def time_stamps(settings: Settings, clock: Clock) -> list[Fact]:
    """Check that checkpoints are stamped in time; nothing where no authority is named."""
    if settings.tsa_url is None or settings.tsa_ca is None:
        return []
    load_authority(settings.tsa_ca)
    async with connected(settings) as conn:
        since = await unstamped_since(conn, settings.tenant)
    late = since is not None and clock() - since > LATE + timedelta(seconds=settings.stamp_seconds)
    waiting = f"what was signed since {since.isoformat(timespec='seconds')} awaits one" if since else "all is stamped"
    return [
        Fact(
            "time stamps",
            ok=not late,
            detail=f"{waiting}, from {settings.tsa_url}",
            remedy="See what the worker's log says of the authority, and whether COUNTERSIGN_TSA_CA is its root.",
        )
    ]
