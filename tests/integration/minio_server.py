"""A real MinIO for tests: found, started on a free loopback port, and stopped."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from countersign.servers import MINIO, find

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

START_SECONDS = 60
USER, PASSWORD = "countersign-test", "countersign-test-password"


@dataclass(frozen=True)
class MinioServer:
    """Where it listens."""

    endpoint: str

    def client(self, password: str = PASSWORD) -> "S3Client":
        """Return a client of it."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=USER,
            aws_secret_access_key=password,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 5, "mode": "standard"}),
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
def minio_server(folder: Path) -> Iterator[MinioServer]:
    """Run MinIO on a data folder until the block ends."""
    port, console = _free_port(), _free_port()
    command = [find_minio(), "server", "--address", f"127.0.0.1:{port}", "--console-address", f"127.0.0.1:{console}"]
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "MINIO_ROOT_USER": USER,
        "MINIO_ROOT_PASSWORD": PASSWORD,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    with subprocess.Popen(
        [*command, str(folder / "data")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            _wait_until_it_listens(process)
            yield MinioServer(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _wait_until_it_listens(process: subprocess.Popen[bytes]) -> None:
    """Read what MinIO prints until it says where it listens; a thread reads on, lest the pipe fill up."""
    assert process.stdout is not None
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    said = []
    for line in process.stdout:
        said.append(line.decode())
        if line.startswith(b"API:"):
            limit.cancel()
            threading.Thread(target=process.stdout.readlines, daemon=True).start()
            return
    limit.cancel()
    raise RuntimeError(f"MinIO ended, or was stopped after {START_SECONDS} s, before it listened: {''.join(said)}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
