"""Archives to try: in buckets of a real S3, with lock or without, reached through a proxy or not."""

import hashlib
import itertools
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from evidence.archive import Archive, Stored
from evidence.retention import Retention
from evidence.s3 import S3Archive
from runtime.clock import Clock, utc_now
from tests.integration.network import Answer, FaultProxy
from tests.integration.servers import MinioServer

DATA = b"PK a bundle"
DIGEST = hashlib.sha256(DATA).hexdigest()
OTHER = b"PK another bundle"
NAME = "acme/run-1.zip"
NUMBERS = itertools.count()
RUN = secrets.token_hex(4)
"""Tells the buckets of this run from those of others, where a server is kept."""


def new_bucket(server: MinioServer, kind: str, *, locked: bool) -> str:
    """Make a bucket and return its name, which is no other's."""
    return server.make_bucket(f"{kind}-{RUN}-{next(NUMBERS)}", locked=locked)


def s3(server: MinioServer, bucket: str, retention: Retention | None = None, password: str | None = None) -> S3Archive:
    client = server.client(password) if password else server.client()
    return S3Archive(client, bucket, "evidence/", retention, utc_now, must_lock=False)


def behind(
    proxy: FaultProxy, server: MinioServer, bucket: str, retention: Retention | None, clock: Clock = utc_now
) -> S3Archive:
    """Return an archive that reaches its bucket through the proxy, and asks once."""
    client = replace(server, endpoint=proxy.endpoint).client(attempts=1)
    return S3Archive(client, bucket, "evidence/", retention, clock, must_lock=False)


def keys(server: MinioServer, bucket: str) -> list[str]:
    return [item["Key"] for item in server.client().list_objects_v2(Bucket=bucket).get("Contents", [])]


def give_default(server: MinioServer, bucket: str, mode: Any, days: int) -> None:
    server.client().put_object_lock_configuration(
        Bucket=bucket,
        ObjectLockConfiguration={
            "ObjectLockEnabled": "Enabled",
            "Rule": {"DefaultRetention": {"Mode": mode, "Days": days}},
        },
    )


def lasts(stored: Stored) -> float:
    """Return for how many days the retention lasts."""
    assert stored.retention_until is not None
    return (stored.retention_until - utc_now()) / timedelta(days=1)


def deleted(server: MinioServer, stored: Stored, *, bypass: bool) -> bool:
    """Try to delete the very version, past GOVERNANCE if wished, and return whether it is gone."""
    bucket, key = stored.location.partition("?")[0].removeprefix("s3://").split("/", 1)
    named: Any = {"Bucket": bucket, "Key": key} | ({"VersionId": stored.version_id} if stored.version_id else {})
    past: Any = {"BypassGovernanceRetention": True} if bypass else {}
    with suppress(ClientError):
        server.client().delete_object(**named, **past)
    try:
        server.client().head_object(**named)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    return False


def facts(archive: Archive) -> dict[str, bool]:
    return {fact.name: fact.ok for fact in archive.check()}


def forgetful(method: str, _path: str, answer: Answer) -> Answer:
    """Answer as a store that takes a retention and keeps none."""
    kept = [header for header in answer.headers if not header[0].lower().startswith("x-amz-object-lock")]
    return replace(answer, headers=kept) if method == "HEAD" else answer
