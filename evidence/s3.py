"""An archive in a bucket that speaks S3, locked where the bucket has Object Lock."""

import base64
import hashlib
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from evidence.archive import ArchiveConflictError, ArchiveError, ArchiveFact, Stored, check_name, check_put
from evidence.bucket import Probe, bucket_lock, check_locked, errors
from evidence.retention import BucketLock, Hold, Retention, stricter, wanted
from runtime.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ON: Literal["ON"] = "ON"
_OFF: Literal["OFF"] = "OFF"
_LOCK_LASTS = timedelta(minutes=1)
"""How long what was seen of a bucket's Object Lock counts: another default retention counts so much later."""
_TOLERANCE = timedelta(days=1)
"""By how much a retention may be shorter than wanted: what was stored on an earlier try stays as it is.

Of a retention of two days or less half of it: one that has almost run out holds nothing.
"""


class S3Archive:
    """Objects that carry their SHA-256 and are never overwritten.

    A location names the version, because a lock protects a version: later ones, and delete markers, hide it from
    those who ask for the name alone. Where the bucket has Object Lock, what is stored stays for `retention` and the
    bucket's own default (as it was seen within the last minute), whichever is stricter, and that is looked at
    afterwards. Whether it has one must be known before anything is stored; where it `must_lock` and the bucket has
    none, nothing is.
    """

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        prefix: str,
        retention: Retention | None,
        clock: Clock,
        *,
        must_lock: bool = True,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._retention = retention
        self._clock = clock
        self._must_lock = must_lock
        self._lock_seen: tuple[BucketLock, datetime] | None = None  # one that is on, and when it was seen

    @property
    def root(self) -> str:
        """Return the address of the bucket and the prefix in it."""
        return self._location(self._prefix, None)

    def put(self, name: str, data: bytes, sha256: str, retain_days: int | None = None) -> Stored:
        """Upload with a checksum that the server checks, on condition that the name is free; then look at the lock."""
        check_put(name, data, sha256)
        key, retention = self._prefix + name, self._applicable(self._good_lock(), retain_days)
        if retention is None:
            return self._upload(key, data, sha256, None)
        hold = retention.starting(self._clock())
        stored = self._upload(key, data, sha256, hold)
        return stored if _lasts(stored, hold, self._clock()) else self._prolong(stored, hold)

    def replace(self, name: str, data: bytes) -> None:
        """Upload another version of the object; those before stay for as long as their locks say."""
        check_name(name)
        key, retention = self._prefix + name, self._applicable(self._good_lock())
        hold = retention.starting(self._clock()) if retention else None
        self._put(key, data, hashlib.sha256(data).hexdigest(), hold)

    def _upload(self, key: str, data: bytes, sha256: str, hold: Hold | None) -> Stored:
        try:
            version = self._put(key, data, sha256, hold, IfNoneMatch="*")
            return self.head(self._location(key, version))
        except ArchiveConflictError:
            return self._existing(key, sha256)

    def _put(self, key: str, data: bytes, sha256: str, hold: Hold | None, **condition: Any) -> str | None:
        """Upload with a checksum that the server checks; return the version."""
        lock: Any = {"ObjectLockMode": hold.mode, "ObjectLockRetainUntilDate": hold.until} if hold else {}
        with errors(f"s3://{self._bucket}/{key}"):
            answer = self._client.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=data,
                ContentType="application/zip" if key.endswith(".zip") else "application/octet-stream",
                ChecksumSHA256=_checksum(sha256),
                Metadata={"sha256": sha256},
                **condition,
                **lock,
            )
        return answer.get("VersionId")

    def locate(self, name: str) -> str:
        """Return the location without a version."""
        check_name(name)
        return self._location(self._prefix + name, None)

    def get(self, location: str) -> bytes:
        """Fetch the very version and compare it with the digest in its metadata."""
        kept = self.head(location)
        with errors(location):
            data = self._client.get_object(**self._address(location))["Body"].read()
        if hashlib.sha256(data).hexdigest() != kept.sha256:
            raise ArchiveError(f"{location} is not what was stored: its SHA-256 differs")
        return data

    def check_lock(self) -> None:
        """Ask for the bucket's Object Lock; raise UnlockedError where it has none."""
        check_locked(bucket_lock(self._client, self._bucket), self._client, self._bucket)

    def set_hold(self, location: str, *, on: bool) -> None:
        """Give the very version a legal hold, or lift it, and look again."""
        address, status = self._address(location), _ON if on else _OFF
        with errors(f"{location} cannot be {'held' if on else 'released'}"):
            self._client.put_object_legal_hold(**address, LegalHold={"Status": status})
            found = self._client.get_object_legal_hold(**address)["LegalHold"].get("Status")
        if found != status:
            raise ArchiveError(f"{location}: its legal hold should be {status} and is {found or 'missing'}")

    def check(self) -> list[ArchiveFact]:
        """Try to create an object, always the same, and another in its place; ask for versioning and Object Lock."""
        return Probe(self._client, self._bucket, self._prefix, self._applicable, self._clock)()

    def head(self, location: str) -> Stored:
        """Ask for metadata, retention and the server's own checksum, which must agree with ours."""
        address = self._address(location)
        with errors(location):
            answer = self._client.head_object(**address, ChecksumMode="ENABLED")
        sha256 = answer["Metadata"].get("sha256", "")
        if not _SHA256.fullmatch(sha256):
            raise ArchiveError(f"{location} was not stored by this program: its metadata have no SHA-256")
        if answer.get("ChecksumSHA256") not in (None, _checksum(sha256)):
            raise ArchiveError(f"{location} is not what was stored: its metadata and its checksum disagree")
        version = answer.get("VersionId")
        return Stored(self._location(address["Key"], version), version, answer.get("ObjectLockRetainUntilDate"), sha256)

    def _good_lock(self) -> BucketLock:
        """Return the bucket's Object Lock, or raise; also where there is none and must be one.

        One that is on can never be taken off a bucket, so it is asked for again only for its default retention.
        """
        now, seen = self._clock(), self._lock_seen
        if seen and abs(now - seen[1]) <= _LOCK_LASTS:
            return seen[0]
        lock = bucket_lock(self._client, self._bucket)
        if self._must_lock:
            check_locked(lock, self._client, self._bucket)
        self._lock_seen = (lock, now) if lock.is_on else None
        return lock

    def _applicable(self, lock: BucketLock, days: int | None = None) -> Retention | None:
        """Return the retention that an upload must have."""
        return stricter(wanted(self._retention, days), lock.default) if lock.is_on else None

    def _prolong(self, stored: Stored, hold: Hold) -> Stored:
        """Lock what was stored without its lock, or for too short a time, and look again."""
        with errors(f"{stored.location} is stored without its retention, which cannot be set"):
            self._client.put_object_retention(
                **self._address(stored.location), Retention={"Mode": hold.mode, "RetainUntilDate": hold.until}
            )
        found = self.head(stored.location)
        if not _lasts(found, hold, self._clock()):
            raise ArchiveError(
                f"{stored.location} can be deleted: its retention should last until {hold.until.date()}"
                f" and {f'ends {found.retention_until.date()}' if found.retention_until else 'is missing'}"
            )
        return found

    def _existing(self, key: str, sha256: str) -> Stored:
        """Return what stands under the name, if its bytes are those that were to be stored."""
        with errors(self._location(key, None)):
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            data = answer["Body"].read()
        location = self._location(key, answer.get("VersionId"))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ArchiveConflictError(location)
        return self.head(location)

    def _location(self, key: str, version: str | None) -> str:
        location = f"s3://{self._bucket}/{quote(key)}"
        return f"{location}?versionId={quote(version)}" if version else location

    def _address(self, location: str) -> dict[str, Any]:
        """Return the bucket, key and version of a location in this archive."""
        path, _, version = location.partition("?versionId=")
        start = f"s3://{self._bucket}/"
        key = unquote(path.removeprefix(start))
        if not path.startswith(start) or not key.startswith(self._prefix):
            raise ArchiveError(f"{location} is not in {start}{self._prefix}")
        return {"Bucket": self._bucket, "Key": key} | ({"VersionId": unquote(version)} if version else {})


def _lasts(stored: Stored, hold: Hold, now: datetime) -> bool:
    shorter = min(_TOLERANCE, (hold.until - now) / 2)
    return stored.retention_until is not None and stored.retention_until >= hold.until - shorter


def _checksum(sha256: str) -> str:
    """Return a digest as S3 writes it."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()
