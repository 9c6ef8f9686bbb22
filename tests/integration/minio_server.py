"""A real MinIO for tests: found, started on a free loopback port, and stopped; or another S3 that is named."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from countersign.embedded.ports import free_port
from countersign.embedded.servers import MINIO, find
from tests.certificates import Pair

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

START_ATTEMPTS = 12
USER, PASSWORD = "countersign-test", "countersign-test-password"
ROOT_USER = {"MINIO_ROOT_USER": USER, "MINIO_ROOT_PASSWORD": PASSWORD}


@dataclass(frozen=True)
class MinioServer:
    """Where it, or another S3, listens, and whom it lets in."""

    endpoint: str
    authority: Path | None = None
    user: str = USER
    password: str = PASSWORD
    region: str = "us-east-1"

    def client(self, password: str | None = None, attempts: int = 5) -> "S3Client":
        """Return a client of it."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.user,
            aws_secret_access_key=password or self.password,
            verify=str(self.authority) if self.authority else None,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": attempts, "mode": "standard"}),
        )

    def make_bucket(self, name: str, *, locked: bool = True) -> str:
        """Make a bucket, with Object Lock (and so versioning) if wanted."""
        self.client().create_bucket(Bucket=name, ObjectLockEnabledForBucket=locked)
        return name


def find_minio() -> str:
    """Return the pinned program, or the one that the environment names."""
    program = os.environ.get("COUNTERSIGN_TEST_MINIO") or find(MINIO)
    if not program:
        raise FileNotFoundError("minio is missing: `make test` sets it up")
    return str(program)


@contextmanager
def s3_server(folder: Path) -> Iterator[MinioServer]:
    """Give the S3 that COUNTERSIGN_TEST_S3_ENDPOINT, _ACCESS_KEY, _SECRET_KEY and _REGION name, else run MinIO."""
    names = ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY", "REGION")
    endpoint, user, password, region = (os.environ.get(f"COUNTERSIGN_TEST_S3_{name}", "") for name in names)
    if endpoint:
        yield MinioServer(endpoint, None, user, password, region or "us-east-1")
        return
    with minio_server(folder) as server:
        yield server


@contextmanager
def minio_server(
    folder: Path,
    pair: Pair | None = None,
    authority: Path | None = None,
    root: Mapping[str, str] = ROOT_USER,
) -> Iterator[MinioServer]:
    """Run MinIO on a data folder until the block ends; over TLS where it has a certificate. `root` says who is that."""
    port, console = free_port(), free_port()
    if pair is not None:
        certificates = folder / ".minio/certs"  # where it looks for them
        certificates.mkdir(parents=True)
        shutil.copy(pair.certificate, certificates / "public.crt")
        shutil.copy(pair.key, certificates / "private.key")
    command = [find_minio(), "server", "--address", f"127.0.0.1:{port}", "--console-address", f"127.0.0.1:{console}"]
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        **root,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    log = folder / "minio.log"
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, str(folder / "data")], env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            server = MinioServer(f"{'https' if pair else 'http'}://127.0.0.1:{port}", authority)
            server.client(attempts=START_ATTEMPTS).list_buckets()  # asks again, with back-off, until it listens
            yield server
        finally:
            process.terminate()
