"""Services and users of docker-compose.yml, tried without Docker.

The one-shot services, OPA's flags and its probe as docker-compose.yml has them, run without Docker.

The containers' users, tried without Docker: PostgreSQL's logins and MinIO's user.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest
from botocore.exceptions import ClientError

from countersign.bucket import BucketError, make_bucket
from countersign.doctor.database import policy_text
from countersign.embedded.ports import free_port
from countersign.settings import ROOT, Settings
from evidence.retention import Retention
from evidence.s3 import S3Archive
from policy.bundle import PolicyFolders, build_bundle, read_policy
from policy.keys import load_verification_key
from policy.transport import connect
from policy.verifying import verify_bundle
from runtime.clock import utc_now
from tests.integration.compose_file import LOGINS, SERVICES, opa_service, postgres_service
from tests.integration.program_stage import command, environment
from tests.integration.servers import PASSWORD, USER, MinioServer, minio_server
from tests.opa_server import PACKS, SHIPPED, copy_policies, opa_program
from tests.patience import MINUTE
from tests.spoiled_bundles import SPOILED

PROGRAM = f"{sys.executable} -m countersign"
ADDED = """# METADATA
# title: Added
# description: A policy of one's own.
package system.added
"""


def write_policies(folder: Path, own: Path, packs: Sequence[Path] = PACKS) -> Path:
    """Do what the service `policy` does, with what is one's own in another folder; return where the bundle is."""
    subprocess.run(["sh", ROOT / "docker/secrets.sh", folder / "secrets"], check=True)
    places = {"/own/": f"{own}/", "/run/secrets/": f"{folder}/secrets/", "countersign ": f"{PROGRAM} "}
    for name in ("policy", "policy_key", "tmp"):
        (folder / name).mkdir(exist_ok=True)
        places[f"/{name}/"] = f"{folder}/{name}/"
    there = re.compile("|".join(map(re.escape, places)))
    script = there.sub(lambda found: places[found[0]], SERVICES["policy"]["command"][0].replace("$$", "$"))
    env = {**os.environ, "COUNTERSIGN_PACKS": json.dumps(list(map(str, packs)))}
    words = [*SERVICES["policy"]["entrypoint"], script]
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=env)
    return folder / "policy"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """What the service `policy` writes where nothing is one's own."""
    return write_policies(tmp_path, tmp_path / "own")


def test_policies_and_packs_of_ones_own_are_in_the_bundle(tmp_path: Path) -> None:
    own = tmp_path / "own"
    rego = copy_policies(own / "rego")
    (rego / "countersign/added.rego").write_text(ADDED, encoding="utf-8")
    desk = own / "packs/desk"
    (desk / "rego").mkdir(parents=True)
    (desk / "rego/rules.rego").write_text(ADDED.replace("system.added", "countersign_pack.desk"), encoding="utf-8")
    bundle = write_policies(tmp_path, own, (*PACKS, desk)) / "bundle.tar.gz"
    key = load_verification_key(tmp_path / "policy_key/policy.pub.pem")
    assert verify_bundle(bundle.read_bytes(), [key]).text == read_policy(PolicyFolders(rego, (*PACKS, desk)))


async def test_a_new_key_and_a_new_policy_wait_for_the_next_start_of_opa(tmp_path: Path) -> None:
    served, port = write_policies(tmp_path, tmp_path / "own"), free_port()
    with opa_service(served, port) as process:
        assert await served_digest(port, process) == build_bundle(SHIPPED).revision
        rego = copy_policies(tmp_path / "own/rego")
        (rego / "countersign/added.rego").write_text(ADDED, encoding="utf-8")
        (tmp_path / "secrets/policy_signing_key").unlink()
        (tmp_path / "tmp/policy.pub.pem").unlink()  # a container begins with nothing there
        write_policies(tmp_path, tmp_path / "own")
        assert await served_digest(port, process) == build_bundle(SHIPPED).revision
    with opa_service(served, port) as process:
        assert await served_digest(port, process) == build_bundle(PolicyFolders(rego, PACKS)).revision


def test_opa_does_not_start_with_a_bundle_that_the_policy_service_did_not_write(policies: Path) -> None:
    bundle = policies / "bundle.tar.gz"
    for spoil, _ in SPOILED.values():
        spoiled = spoil(bundle.read_bytes())
        genuine = bundle.read_bytes()
        bundle.write_bytes(spoiled)
        with opa_service(policies, free_port()) as process:
            assert process.wait(MINUTE) == 1
        bundle.write_bytes(genuine)


def probe(port: int) -> int:
    """Run the health check of the service `opa`; return its exit status."""
    words = [word.replace(":8181", f":{port}") for word in SERVICES["opa"]["healthcheck"]["test"]]
    assert words[:2] == ["CMD", "/opa"]
    return subprocess.run([opa_program(), *words[2:]], check=False, capture_output=True).returncode


async def test_opa_serves_the_bundle_that_the_policy_service_writes(policies: Path) -> None:
    port = free_port()
    assert probe(port) != 0
    with opa_service(policies, port) as process:
        assert await served_digest(port, process) == build_bundle(SHIPPED).revision
        assert probe(port) == 0


async def served_digest(port: int, process: subprocess.Popen[bytes]) -> str:
    """Return the digest of the policy that answers at a port, as soon as one does."""
    async with connect(f"http://127.0.0.1:{port}", 1.0) as client:
        while not await client.is_healthy():
            assert process.poll() is None
            await asyncio.sleep(0.02)
    return (await policy_text(Settings(opa_url=f"http://127.0.0.1:{port}"), utc_now)).digest


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with minio_server(tmp_path_factory.mktemp("minio")) as server:
        yield server


def settings_of(minio: MinioServer, **more: Any) -> Settings:
    keys = {"s3_endpoint": minio.endpoint, "s3_access_key": USER, "s3_secret_key": PASSWORD}
    return Settings(**{**keys, "s3_bucket": "evidence", **more})


async def test_the_bucket_service_makes_a_locked_bucket_and_leaves_it_when_it_is_there(minio: MinioServer) -> None:
    env = environment(settings_of(minio))
    first = await command(*SERVICES["bucket"]["command"], env=env)
    again = await command(*SERVICES["bucket"]["command"], env=env)
    assert (first.code, again.code, again.out) == (0, 0, first.out)
    assert "the bucket evidence has Object Lock" in first.out
    lock = minio.client().get_object_lock_configuration(Bucket="evidence")
    assert lock["ObjectLockConfiguration"]["ObjectLockEnabled"] == "Enabled"
    own = lock["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert (own["Mode"], own["Days"]) == ("COMPLIANCE", 2555)


def test_a_default_retention_that_somebody_chose_stays(minio: MinioServer) -> None:
    minio.make_bucket("chosen")
    chosen: Any = {
        "ObjectLockEnabled": "Enabled",
        "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 3}},
    }
    minio.client().put_object_lock_configuration(Bucket="chosen", ObjectLockConfiguration=chosen)
    make_bucket(settings_of(minio, s3_bucket="chosen"), utc_now)
    assert minio.client().get_object_lock_configuration(Bucket="chosen")["ObjectLockConfiguration"] == chosen


def test_a_bucket_without_lock_is_refused(minio: MinioServer) -> None:
    minio.make_bucket("plain", locked=False)
    with pytest.raises(BucketError, match="the bucket plain has no Object Lock"):
        make_bucket(settings_of(minio, s3_bucket="plain"), utc_now)


@pytest.mark.parametrize("change", [{"s3_secret_key": "wrong-password"}, {"s3_endpoint": "http://127.0.0.1:1"}])
def test_a_store_that_cannot_be_used_is_said_in_one_sentence(minio: MinioServer, change: dict[str, str]) -> None:
    with pytest.raises(BucketError, match="the bucket evidence could not be made") as caught:
        make_bucket(settings_of(minio, **change), utc_now)
    assert "wrong-password" not in str(caught.value)


@pytest.mark.parametrize("script", ["logins.sh", "keeper.sh", "secrets.sh"])
def test_scripts_need_nothing_but_a_shell(script: str) -> None:
    subprocess.run(["/bin/sh", "-n", ROOT / "docker" / script], check=True)


@pytest.fixture(scope="module")
def user_minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
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
    loaded = await command("people", "load", str(ROOT / "docker/directory.yaml"), "--as", "omar", env=env)
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


def test_the_workers_user_adds_and_reads_evidence_and_deletes_none(user_minio: MinioServer) -> None:
    """MinIO's own way to hand out a part of one's rights stands in for the user that `docker/keeper.sh` makes."""
    policy = (ROOT / "docker/keeper.json").read_text(encoding="utf-8").replace(":::BUCKET", ":::kept")
    user_minio.make_bucket("kept")
    reach: dict[str, Any] = {"endpoint_url": user_minio.endpoint, "region_name": "us-east-1"}
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
