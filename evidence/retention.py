"""Retention and legal holds: for how long what is stored must stay, by the settings and by a bucket itself.

The archive holds what legal holds name, and releases what none names any more.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from evidence.archive import Archive
from evidence.errors import EvidenceError
from runtime.failpoints import Point, at
from runtime.services.legal_holds import Due, LegalHolds

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import GetObjectLockConfigurationOutputTypeDef


Mode = Literal["COMPLIANCE", "GOVERNANCE"]

_DAYS_OF_YEAR = 365


@dataclass(frozen=True)
class Hold:
    """What one object gets: until when it must stay."""

    mode: Mode
    until: datetime


@dataclass(frozen=True)
class Retention:
    """For how many days a bundle must stay, and whether anyone at all (GOVERNANCE) can shorten that."""

    mode: Mode
    days: int

    def starting(self, now: datetime) -> Hold:
        """Return the hold of what is stored now."""
        return Hold(self.mode, now + timedelta(days=self.days))


@dataclass(frozen=True)
class BucketLock:
    """A bucket's Object Lock: whether it has one, and the retention that it gives to what asks for none."""

    is_on: bool
    default: Retention | None


NO_LOCK = BucketLock(is_on=False, default=None)


def wanted(own: Retention | None, days: int | None) -> Retention | None:
    """Return the retention of the settings, for as many days as somebody wants who says so."""
    return Retention(own.mode, days) if own and days else own


def lock_of(answer: "GetObjectLockConfigurationOutputTypeDef") -> BucketLock | None:
    """Return what a bucket said about its lock, or None if it did not say that it has one."""
    said = answer.get("ObjectLockConfiguration", {})
    if said.get("ObjectLockEnabled") != "Enabled":
        return None
    rule = said.get("Rule", {}).get("DefaultRetention", {})
    days = rule.get("Days") or _DAYS_OF_YEAR * rule.get("Years", 0)
    return BucketLock(is_on=True, default=Retention(rule.get("Mode", "GOVERNANCE"), days) if days else None)


def stricter(one: Retention | None, other: Retention | None) -> Retention | None:
    """Return what fulfils both, in mode and in days."""
    if one is None or other is None:
        return one or other
    mode: Mode = "COMPLIANCE" if "COMPLIANCE" in (one.mode, other.mode) else "GOVERNANCE"
    return Retention(mode, max(one.days, other.days))


HOLD_LEASE = timedelta(minutes=2)
"""How long telling the archive may take."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Keeper:
    """A worker's job: one bundle at a time, of those in its archive.

    What the archive does not take now, it is told again until it does.
    """

    desk: LegalHolds
    archive: Archive

    async def __call__(self) -> int:
        """Tell the archive of what is due; return how many bundles it holds, or has released, now."""
        due = await self.desk.next_due(HOLD_LEASE, self.archive.root)
        if due is None:
            return 0
        try:
            await asyncio.to_thread(self._tell, due)
        except Exception as error:
            foreseen = isinstance(error, EvidenceError)
            text = " ".join((str(error) if foreseen else repr(error)).split())
            pause = await self.desk.mark_untold(due, text)
            said = "legal hold of %s not carried out (try %d), again in %.0f s: %s"
            shown = None if foreseen else error
            logger.warning(said, due.run_id, due.tries, pause.total_seconds(), text, exc_info=shown)
            return 0
        await self.desk.mark_told(due)
        return 1

    def _tell(self, due: Due) -> None:
        at(Point.ARCHIVE_PUTTING)
        self.archive.set_hold(due.location, on=due.is_wanted)
        at(Point.ARCHIVE_PUT)
