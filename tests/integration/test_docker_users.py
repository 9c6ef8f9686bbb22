"""The containers' users, tried without Docker: PostgreSQL's logins and MinIO's user."""

import base64
import hashlib
import hmac
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest
from botocore.exceptions import ClientError

from countersign.settings import ROOT
from evidence.archive.retention import Retention
from evidence.archive.s3 import S3Archive
from runtime.clock import utc_now
from tests.integration.compose_file import SERVICES
from tests.integration.compose_servers import LOGINS, postgres_service
from tests.integration.minio_server import PASSWORD, USER, MinioServer, minio_server
from tests.integration.program_stage import command


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    """A MinIO whose root is in files, as the service's is."""
    folder = tmp_path_factory.mktemp("minio")
    files = {}
    for name, value in (("MINIO_ROOT_USER_FILE", USER), ("MINIO_ROOT_PASSWORD_FILE", PASSWORD)):
        file = folder / Path(SERVICES["minio"]["environment"][name]).name
        file.write_text(f"{value}\n", encoding="utf-8")
        files[name] = str(file)
    with minio_server(folder, root=files) as server:
        yield server


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `docker/secrets.sh` makes."""
    folder = tmp_path_factory.mktemp("secrets")
    subprocess.run(["sh", ROOT / "docker/secrets.sh", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def logins(secrets: Path) -> Iterator[dict[str, str]]:
    """A PostgreSQL that ran `docker/logins.sh`; gives the DSN of each login, by the name of its secret."""
    with postgres_service(secrets) as host:
        users = {name: urlsplit((secrets / name).read_text(encoding="utf-8")).username for name in LOGINS}
        yield {name: f"postgresql://{user}@/countersign?host={host}" for name, user in users.items()}


async def test_the_programs_login_works_with_what_migrate_made_and_deletes_no_record(logins: dict[str, str]) -> None:
    made = await command("migrate", env={"COUNTERSIGN_DATABASE_URL": logins["migrate_database_url"]})
    assert (made.code, made.err) == (0, "")
    with psycopg.connect(logins["countersign_database_url"]) as conn:
        assert conn.execute("SELECT count(*) FROM actors").fetchone() == (0,)
        for table in ("receipts", "actors"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), conn.transaction():
                conn.execute(f"DELETE FROM {table}".encode())
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": logins["countersign_directory_database_url"]}
    loaded = await command("people", "load", str(ROOT / "docker/directory.yaml"), env=env)
    assert (loaded.code, loaded.err) == (0, "")


def test_the_logins_have_the_passwords_of_their_addresses(logins: dict[str, str], secrets: Path) -> None:
    with psycopg.connect(logins["countersign_database_url"], user="postgres") as conn:
        verifiers: dict[Any, Any] = dict(
            conn.execute("SELECT rolname, rolpassword FROM pg_authid WHERE rolcanlogin").fetchall()
        )
    for name in LOGINS:
        address = urlsplit((secrets / name).read_text(encoding="utf-8"))
        assert address.password
        assert _fits(address.password, verifiers[address.username])


def _fits(password: str, verifier: str) -> bool:
    """Return whether a SCRAM verifier, as PostgreSQL keeps it, is of this password (RFC 5802)."""
    _, count, keys = verifier.split("$")
    rounds, _, salt = count.partition(":")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(rounds))
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return base64.b64decode(keys.partition(":")[0]) == stored


def test_the_workers_user_adds_and_reads_evidence_and_deletes_none(minio: MinioServer) -> None:
    """MinIO's own way to hand out a part of one's rights stands in for the user that `docker/keeper.sh` makes."""
    policy = (ROOT / "docker/keeper.json").read_text(encoding="utf-8").replace(":::BUCKET", ":::kept")
    minio.make_bucket("kept")
    reach: dict[str, Any] = {"endpoint_url": minio.endpoint, "region_name": "us-east-1"}
    sts = boto3.client("sts", **reach, aws_access_key_id=USER, aws_secret_access_key=PASSWORD)
    part = sts.assume_role(RoleArn="arn:minio:iam:::role/keeper", RoleSessionName="keeper", Policy=policy)[
        "Credentials"
    ]
    client = boto3.client(
        "s3",
        **reach,
        aws_access_key_id=part["AccessKeyId"],
        aws_secret_access_key=part["SecretAccessKey"],
        aws_session_token=part["SessionToken"],
    )
    archive = S3Archive(client, "kept", "evidence/", Retention("GOVERNANCE", 1), utc_now)
    assert [fact.text for fact in archive.check() if not fact.ok] == []
    stored = archive.put("run_1.zip", b"bundle", hashlib.sha256(b"bundle").hexdigest())
    assert archive.get(stored.location) == b"bundle"
    assert stored.retention_until
    assert stored.version_id
    with pytest.raises(ClientError, match="AccessDenied"):
        client.delete_object(Bucket="kept", Key="evidence/run_1.zip")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.delete_object(Bucket="kept", Key="evidence/run_1.zip", VersionId=stored.version_id)
    for on in (True, False):
        archive.set_hold(stored.location, on=on)
    with pytest.raises(ClientError, match="AccessDenied"):
        client.delete_bucket(Bucket="kept")
