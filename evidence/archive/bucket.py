"""What a bucket answers, in our words: its errors, and whether it has Object Lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from evidence.archive.archive import ArchiveConflictError, ArchiveError, ArchiveNotFoundError, UnlockedError
from evidence.archive.retention import NO_LOCK, BucketLock, lock_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

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
