"""Whether each bundle in a bucket can be deleted: a bundle that was promised to stay has its retention."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.faults.checker.facts import Row

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def unlocked(client: "S3Client", bundles: list[Row], now: datetime) -> Iterator[str]:
    """Yield a sentence for each stored bundle whose version in the bucket is not locked beyond now."""
    for row in bundles:
        address = urlsplit(row["location"] or "")
        if address.scheme != "s3" or row["stored_at"] is None:
            continue
        (version,) = parse_qs(address.query)["versionId"]
        head = client.head_object(Bucket=address.netloc, Key=address.path.removeprefix("/"), VersionId=version)
        until = head.get("ObjectLockRetainUntilDate")
        if head.get("ObjectLockMode") is None or until is None or until <= now:
            yield f"the bundle of {row['run_id']} can be deleted: it is stored without its lock"
