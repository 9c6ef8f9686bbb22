"""What a bucket answers, in our words: its errors, and whether it has Object Lock.

For the doctor it is tried out, and asked about versions and Object Lock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

from botocore.exceptions import BotoCoreError, ClientError

from evidence.archive import (
    ArchiveConflictError,
    ArchiveError,
    ArchiveFact,
    ArchiveNotFoundError,
    UnlockedError,
)
from evidence.retention import NO_LOCK, BucketLock, Retention, lock_of
from runtime.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectLockRetentionTypeDef


_LOCK_ABSENT = "ObjectLockConfigurationNotFoundError"
"""The one answer that means a bucket without Object Lock: a gateway says 404 of anything while its store restarts."""
_ABSENT = {"NoSuchKey", "NoSuchVersion", "404"}
_TAKEN = {"PreconditionFailed", "ConditionalRequestConflict"}


def bucket_lock(client: "S3Client", bucket: str) -> BucketLock:
    """Ask for the bucket's Object Lock, or raise: what is not known must not be taken for 'none'."""
    unknown = f"whether the bucket {bucket} has Object Lock is not known"
    try:
        lock = lock_of(client.get_object_lock_configuration(Bucket=bucket))
    except ClientError as error:
        if _code(error) == _LOCK_ABSENT:
            return NO_LOCK
        raise ArchiveError(f"{unknown}: {error}") from error
    except BotoCoreError as error:
        raise ArchiveError(f"{unknown}: {error}") from error
    if lock is None:
        raise ArchiveError(f"{unknown}: its answer does not say")
    return lock


def check_locked(lock: BucketLock, client: "S3Client", bucket: str) -> None:
    """Raise UnlockedError where the bucket has no Object Lock, and another ArchiveError where there is no bucket."""
    if not lock.is_on:
        with errors(f"the bucket {bucket}"):
            client.head_bucket(Bucket=bucket)
        raise UnlockedError(f"the bucket {bucket} has no Object Lock: whatever is in it can be deleted")


@contextmanager
def errors(what: str) -> Iterator[None]:
    """Turn what boto3 raises into what an archive raises."""
    try:
        yield
    except ClientError as error:
        code = _code(error)
        if code in _TAKEN:
            raise ArchiveConflictError(what) from error
        if code in _ABSENT:
            raise ArchiveNotFoundError(f"{what} does not exist") from error
        raise ArchiveError(f"{what}: {error}") from error
    except BotoCoreError as error:
        raise ArchiveError(f"{what}: {error}") from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


_PROBE = "countersign-probe"
_MINUTE = timedelta(minutes=1)


class _Address(TypedDict):
    Bucket: str
    Key: str


@dataclass(frozen=True)
class Probe:
    """Looks at a bucket. `retention` says what an upload gets under the bucket's lock."""

    client: "S3Client"
    bucket: str
    prefix: str
    retention: Callable[[BucketLock], Retention | None]
    clock: Clock

    def __call__(self) -> list[ArchiveFact]:
        """Return what was found, up to the first thing that cannot be found out."""
        facts = []
        looks = (("writable", self._writable), ("written once", self._written_once), ("versioned", self._versioned))
        for name, look in (*looks, ("locked", self._locked)):
            try:
                facts.append(look())
            except ArchiveError as error:
                return [*facts, ArchiveFact(name, ok=False, text=str(error))]
        return facts

    def _writable(self) -> ArchiveFact:
        with suppress(ArchiveConflictError):  # it stands there already, and only who may write is told so
            self._put(b"")
        return ArchiveFact("writable", ok=True, text=f"the bucket {self.bucket} can be written to")

    def _written_once(self) -> ArchiveFact:
        """Put another body under the name that is taken: a store that does not look at the condition takes it."""
        try:
            self._put(b"another")
        except ArchiveConflictError:
            text = f"the bucket {self.bucket} overwrites nothing that it holds"
            return ArchiveFact("written once", ok=True, text=text)
        text = f"the bucket {self.bucket} overwrites what it holds: it does not know If-None-Match"
        return ArchiveFact("written once", ok=False, text=text)

    def _put(self, body: bytes) -> None:
        with errors(f"s3://{self.bucket}/{self.prefix}{_PROBE}"):
            self.client.put_object(Bucket=self.bucket, Key=self.prefix + _PROBE, Body=body, IfNoneMatch="*")

    def _versioned(self) -> ArchiveFact:
        with errors(self.bucket):
            on = self.client.get_bucket_versioning(Bucket=self.bucket).get("Status") == "Enabled"
        return ArchiveFact(
            "versioned", ok=on, text=f"the bucket {self.bucket} {'keeps' if on else 'keeps no'} versions"
        )

    def _locked(self) -> ArchiveFact:
        lock = bucket_lock(self.client, self.bucket)
        if not lock.is_on:
            return ArchiveFact("locked", ok=False, text=f"the bucket {self.bucket} has no Object Lock")
        retention = self.retention(lock)
        if retention and not self._keeps_retention():
            text = f"the bucket {self.bucket} says that it has Object Lock, and shows no retention that is set"
            return ArchiveFact("locked", ok=False, text=text)
        own = "" if lock.default else ", and no default retention of its own"
        stay = f"; bundles stay for {retention.days} days ({retention.mode})" if retention else ""
        return ArchiveFact("locked", ok=True, text=f"the bucket {self.bucket} has Object Lock{own}{stay}")

    def _keeps_retention(self) -> bool:
        """Lock the probe for a minute unless it is locked, and look: a store may take a retention and ignore it."""
        address: _Address = {"Bucket": self.bucket, "Key": self.prefix + _PROBE}
        now = self.clock()
        with errors(f"s3://{self.bucket}/{self.prefix}{_PROBE} cannot be locked"):
            if self._is_locked(address, now):
                return True
            hold: ObjectLockRetentionTypeDef = {"Mode": "GOVERNANCE", "RetainUntilDate": now + _MINUTE}
            self.client.put_object_retention(**address, Retention=hold)
            return self._is_locked(address, now)

    def _is_locked(self, address: _Address, now: datetime) -> bool:
        until = self.client.head_object(**address).get("ObjectLockRetainUntilDate")
        return until is not None and until > now
