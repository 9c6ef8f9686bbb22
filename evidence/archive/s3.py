"""An archive in a bucket that speaks S3, locked where the bucket has Object Lock."""

import base64
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from botocore.exceptions import BotoCoreError, ClientError

from evidence.archive.archive import (
    ArchiveConflictError,
    ArchiveError,
    ArchiveFact,
    ArchiveNotFoundError,
    Stored,
    check_put,
)
from runtime.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PROBE = "countersign-probe"
_ABSENT = {"NoSuchKey", "NoSuchVersion", "404", "ObjectLockConfigurationNotFoundError", "NotImplemented"}
_TAKEN = {"PreconditionFailed", "ConditionalRequestConflict"}


@dataclass(frozen=True)
class Retention:
    """For how long a bundle must stay, and whether anyone at all (GOVERNANCE) can shorten that."""

    mode: Literal["COMPLIANCE", "GOVERNANCE"]
    days: int


class S3Archive:
    """Objects that carry their SHA-256 and are never overwritten.

    A location names the version, because a lock protects a version: later ones, and delete markers, hide it from
    those who ask for the name alone. `retention` applies where the bucket has Object Lock; else the bucket's own
    default does, if any.
    """

    def __init__(self, client: "S3Client", bucket: str, prefix: str, retention: Retention | None, clock: Clock) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._retention = retention
        self._clock = clock

    def put(self, name: str, data: bytes, sha256: str) -> Stored:
        """Upload with a checksum that the server checks, on condition that the name is free."""
        check_put(name, data, sha256)
        key = self._prefix + name
        try:
            with _errors(f"s3://{self._bucket}/{key}"):
                answer = self._client.put_object(
                    Bucket=self._bucket,
                    Key=key,
                    Body=data,
                    ContentType="application/zip",
                    ChecksumSHA256=_checksum(sha256),
                    Metadata={"sha256": sha256},
                    IfNoneMatch="*",
                    **self._lock(),
                )
            return self.head(self._location(key, answer.get("VersionId")))
        except ArchiveConflictError:
            return self._existing(key, sha256)

    def get(self, location: str) -> bytes:
        """Fetch the very version and compare it with the digest in its metadata."""
        kept = self.head(location)
        with _errors(location):
            data = self._client.get_object(**self._address(location))["Body"].read()
        if hashlib.sha256(data).hexdigest() != kept.sha256:
            raise ArchiveError(f"{location} is not what was stored: its SHA-256 differs")
        return data

    def head(self, location: str) -> Stored:
        """Ask for metadata, retention and the server's own checksum, which must agree with ours."""
        address = self._address(location)
        with _errors(location):
            answer = self._client.head_object(**address, ChecksumMode="ENABLED")
        sha256 = answer["Metadata"].get("sha256", "")
        if not _SHA256.fullmatch(sha256):
            raise ArchiveError(f"{location} was not stored by this program: its metadata have no SHA-256")
        if answer.get("ChecksumSHA256") not in (None, _checksum(sha256)):
            raise ArchiveError(f"{location} is not what was stored: its metadata and its checksum disagree")
        version = answer.get("VersionId")
        return Stored(self._location(address["Key"], version), version, answer.get("ObjectLockRetainUntilDate"), sha256)

    def check(self) -> list[ArchiveFact]:
        """Try to create one empty object, always the same one, and ask for versioning and Object Lock."""
        try:
            return [self._writable(), self._versioned(), self._locked()]
        except ArchiveError as error:
            return [ArchiveFact("writable", ok=False, text=str(error))]

    def _writable(self) -> ArchiveFact:
        try:
            with _errors(f"s3://{self._bucket}/{self._prefix}{_PROBE}"):
                self._client.put_object(Bucket=self._bucket, Key=self._prefix + _PROBE, Body=b"", IfNoneMatch="*")
        except ArchiveConflictError:
            pass  # it stands there already, and only who may write is told so
        return ArchiveFact("writable", ok=True, text=f"the bucket {self._bucket} can be written to")

    def _versioned(self) -> ArchiveFact:
        with _errors(self._bucket):
            on = self._client.get_bucket_versioning(Bucket=self._bucket).get("Status") == "Enabled"
        return ArchiveFact(
            "versioned", ok=on, text=f"the bucket {self._bucket} {'keeps' if on else 'keeps no'} versions"
        )

    def _locked(self) -> ArchiveFact:
        on = self._has_lock()
        text = f"the bucket {self._bucket} has {'' if on else 'no '}Object Lock"
        if on and self._retention:
            text += f"; bundles stay for {self._retention.days} days ({self._retention.mode})"
        return ArchiveFact("locked", ok=on, text=text)

    def _has_lock(self) -> bool:
        """Return whether the bucket has Object Lock; a store that does not know the question has none."""
        try:
            with _errors(self._bucket):
                answer = self._client.get_object_lock_configuration(Bucket=self._bucket)
        except ArchiveNotFoundError:
            return False
        return answer.get("ObjectLockConfiguration", {}).get("ObjectLockEnabled") == "Enabled"

    def _lock(self) -> dict[str, Any]:
        """Return the arguments that lock an upload."""
        if self._retention is None or not self._has_lock():
            return {}
        until = self._clock() + timedelta(days=self._retention.days)
        return {"ObjectLockMode": self._retention.mode, "ObjectLockRetainUntilDate": until}

    def _existing(self, key: str, sha256: str) -> Stored:
        """Return what stands under the name, if its bytes are those that were to be stored."""
        with _errors(self._location(key, None)):
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            data = answer["Body"].read()
        location = self._location(key, answer.get("VersionId"))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ArchiveConflictError(f"{location} already holds something else")
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


@contextmanager
def _errors(what: str) -> Iterator[None]:
    """Turn what boto3 raises into what an archive raises."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _TAKEN:
            raise ArchiveConflictError(f"{what} already exists") from error
        if code in _ABSENT:
            raise ArchiveNotFoundError(f"{what} does not exist") from error
        raise ArchiveError(f"{what}: {error}") from error
    except BotoCoreError as error:
        raise ArchiveError(f"{what}: {error}") from error


def _checksum(sha256: str) -> str:
    """Return a digest as S3 writes it."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()
