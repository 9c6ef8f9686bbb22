"""What the doctor says of the time stamps over the audit log."""

from datetime import timedelta

from bot.slack.doctor import Fact
from countersign.connection import connected
from countersign.doctor.evidence import LATE
from countersign.settings import Settings
from receipts.stamp import load_authority
from runtime.clock import Clock
from runtime.services.bundle_stamps import unstamped_since


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
