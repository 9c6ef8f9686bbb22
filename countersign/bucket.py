"""Makes the bucket of evidence, with Object Lock, which it must have from its first day, and a default retention."""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from countersign.archive import make_archive, make_retention, make_s3
from countersign.foreseen_errors import CountersignError
from countersign.settings import Settings, required
from evidence.retention import lock_of
from runtime.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_OWN = "BucketAlreadyOwnedByYou"
_NO_LOCK = "ObjectLockConfigurationNotFoundError"
_HOME_REGION = "us-east-1"
"""The one region that must not be named when a bucket is made in it."""


class BucketError(CountersignError):
    """The bucket could not be made, or the one that is there cannot keep evidence."""


def make_bucket(settings: Settings, clock: Clock) -> list[str]:
    """Make the bucket if it is not there; return what holds of it, or raise BucketError."""
    bucket = required(settings, "s3_bucket")
    client = make_s3(settings)
    try:
        _create(client, bucket, settings.s3_region)
        _give_default(client, bucket, settings)
    except (ClientError, BotoCoreError) as error:
        raise BucketError(f"the bucket {bucket} could not be made: {error}") from error
    facts = make_archive(settings, clock).check()
    if faults := [fact.text for fact in facts if not fact.ok]:
        raise BucketError(f"{'; '.join(faults)}: name another bucket, and it will be made as it must be")
    return [fact.text for fact in facts]


def _create(client: "S3Client", bucket: str, region: str) -> None:
    try:
        place: Any = {} if region == _HOME_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True, **place)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != _OWN:
            raise


def _give_default(client: "S3Client", bucket: str, settings: Settings) -> None:
    """Let what is stored without asking for a lock be locked too; a default that somebody chose stays."""
    try:
        lock = lock_of(client.get_object_lock_configuration(Bucket=bucket))
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != _NO_LOCK:
            raise
        return  # the check of the archive says so, and what to do
    if lock is None or lock.default is not None:
        return
    retention = make_retention(settings)
    client.put_object_lock_configuration(
        Bucket=bucket,
        ObjectLockConfiguration={
            "ObjectLockEnabled": "Enabled",
            "Rule": {"DefaultRetention": {"Mode": retention.mode, "Days": retention.days}},
        },
    )
