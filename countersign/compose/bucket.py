"""Makes the bucket of evidence, with Object Lock, which it must have from its first day."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from countersign.compose.archive import make_archive, make_s3
from countersign.config.errors import CountersignError
from countersign.config.settings import Settings, required

_OWN = "BucketAlreadyOwnedByYou"
_HOME_REGION = "us-east-1"
"""The one region that must not be named when a bucket is made in it."""


class BucketError(CountersignError):
    """The bucket could not be made, or the one that is there cannot keep evidence."""


def make_bucket(settings: Settings) -> list[str]:
    """Make the bucket if it is not there; return what holds of it, or raise BucketError."""
    bucket = required(settings, "s3_bucket")
    try:
        _create(settings, bucket)
    except (ClientError, BotoCoreError) as error:
        raise BucketError(f"the bucket {bucket} could not be made: {error}") from error
    facts = make_archive(settings).check()
    if faults := [fact.text for fact in facts if not fact.ok]:
        raise BucketError(f"{'; '.join(faults)}: name another bucket, and it will be made as it must be")
    return [fact.text for fact in facts]


def _create(settings: Settings, bucket: str) -> None:
    client, region = make_s3(settings), settings.s3_region
    try:
        place: Any = {} if region == _HOME_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True, **place)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != _OWN:
            raise
