"""Services and users of docker-compose.yml, tried without Docker.

The services `policy` and `opa` and the probe of OPA, as docker-compose.yml has them, run without Docker.

The containers' users, tried without Docker: PostgreSQL's logins and MinIO's user.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

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
from policy.contract import PolicyUnavailableError
from policy.keys import load_or_create, load_verification_key
from policy.verifying import verify_bundle
from runtime.clock import utc_now
from runtime.services.policy_bundles import PolicyBundles
from runtime.store.database.pool import Pool
from tests.databases import program_pool
from tests.integration.compose_file import LOGINS, SERVICES, opa_service, postgres_service, probe
from tests.integration.door_stage import TOKEN, activate, door, next_policy
from tests.integration.program_stage import command, environment, rows
from tests.integration.servers import PASSWORD, USER, MinioServer, minio_server
from tests.logins import as_program
from tests.opa_server import PACKS, SHIPPED, copy_policies, opa_program
from tests.patience import until

PROGRAM = f"{sys.executable} -m countersign"
ADDED = """# METADATA
# title: Added
# description: A policy of one's own.
package system.added
"""


@dataclass
class Shop:
    """An operator's folder: secrets, what is their own, and the volumes of the services `policy` and `opa`."""

    folder: Path
    dsn: str

    def __post_init__(self) -> None:
        """Make the secrets; the token is known to tests."""
        (self.folder / "secrets").mkdir()
        (self.folder / "secrets/countersign_policy_token").write_text(f"{TOKEN}\n", encoding="utf-8")
        self.make_secrets()

    def make_secrets(self) -> None:
        """Run docker/secrets.sh, which leaves what is there."""
        subprocess.run(["sh", ROOT / "docker/secrets.sh", self.folder / "secrets"], check=True)

    def policy(self, *words: str, packs: Sequence[Path] = PACKS, **settings: str) -> str:
        """Run the service `policy`, or another command in it; return what it prints."""
        places = {"/own/": f"{self.folder}/own/", "/run/secrets/": f"{self.folder}/secrets/"}
        places |= {f"/{name}/": f"{self.folder}/{name}/" for name in ("policy", "policy_key")}
        for name in ("policy", "policy_key"):
            (self.folder / name).mkdir(exist_ok=True)
        there = re.compile("|".join(map(re.escape, [*places, "countersign "])))
        service = SERVICES["policy"]
        shell, flags, script, name = (word.replace("$$", "$") for word in service["entrypoint"])
        script = there.sub(lambda found: places.get(found[0], f"{PROGRAM} "), script)
        env = {
            **os.environ,
            "COUNTERSIGN_DATABASE_URL": as_program(self.dsn),
            "COUNTERSIGN_OPA": str(opa_program()),
            "COUNTERSIGN_PACKS": json.dumps(list(map(str, packs))),
            **{f"COUNTERSIGN_{setting}": value for setting, value in settings.items()},
        }
        command = [shell, flags, script, name, *(words or service["command"])]
        return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, env=env, text=True).stdout

    def key(self) -> Path:
        """Return a file of the key that signs, readable by its owner alone as keys are."""
        own = self.folder / f"{uuid4()}.pem"
        shutil.copy(self.folder / "secrets/policy_signing_key", own)
        own.chmod(0o600)
        return own

    @asynccontextmanager
    async def opa(self, pool: Pool) -> AsyncIterator["Served"]:
        """Run the service `opa` beside a front that serves what is in force."""
        port = free_port()
        async with door(PolicyBundles(pool)) as front:
            bot = urlsplit(front).port or 0
            with opa_service(self.folder / "policy", self.folder / "secrets", port, bot) as process:
                yield Served(port, process)


@dataclass
class Served:
    """An OPA that runs."""

    port: int
    process: subprocess.Popen[bytes]

    async def digest(self) -> str:
        """Return the digest of the policy that answers, once one does."""
        await until(lambda: probe(self.port) == 0)
        assert self.process.poll() is None
        return (await policy_text(Settings(opa_url=f"http://127.0.0.1:{self.port}"), utc_now)).digest

    async def serves(self, digest: str) -> None:
        """Wait until it serves a policy."""

        async def is_served() -> bool:
            with suppress(PolicyUnavailableError):  # replaced between its answer and its text
                return await self.digest() == digest
            return False

        await until(is_served)


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    async with program_pool(dsn) as found:
        yield found


@pytest.fixture
def shop(dsn: str, tmp_path: Path) -> Shop:
    return Shop(tmp_path, dsn)


SHIPPED_DIGEST = build_bundle(SHIPPED).revision


def test_policies_and_packs_of_ones_own_come_into_force(shop: Shop) -> None:
    rego = copy_policies(shop.folder / "own/rego")
    (rego / "countersign/added.rego").write_text(ADDED, encoding="utf-8")
    desk = shop.folder / "own/packs/desk"
    (desk / "rego").mkdir(parents=True)
    (desk / "rego/rules.rego").write_text(ADDED.replace("system.added", "countersign_pack.desk"), encoding="utf-8")
    text = read_policy(PolicyFolders(rego, (*PACKS, desk)))
    assert f"policy version 1 is in force: {text.digest}" in shop.policy(packs=(*PACKS, desk))
    (row,) = rows(shop.dsn, "SELECT bundle FROM policy_versions")
    key = load_verification_key(shop.folder / "policy_key/policy.pub.pem")
    assert verify_bundle(bytes(row["bundle"]), [key]).text == text


async def test_opa_serves_what_is_in_force_and_needs_no_new_start(shop: Shop, pool: Pool) -> None:
    shop.policy()
    async with shop.opa(pool) as opa:
        await opa.serves(SHIPPED_DIGEST)
        after = next_policy(shop.folder / "next")
        await activate(pool, after, load_or_create(shop.key()))
        await opa.serves(read_policy(after).digest)


async def test_opa_is_in_order_once_it_has_what_is_in_force(shop: Shop, pool: Pool) -> None:
    assert probe(free_port()) != 0
    shop.policy()
    token = shop.folder / "secrets/countersign_policy_token"
    token.write_text("another-token", encoding="utf-8")
    async with shop.opa(pool) as opa:
        log = shop.folder / "opa.log"
        await until(lambda: "server replied with Unauthorized" in log.read_text(encoding="utf-8"))
        assert probe(opa.port) != 0
        token.write_text(TOKEN, encoding="utf-8")
        assert await opa.digest() == SHIPPED_DIGEST


async def test_another_start_changes_nothing_that_is_in_force(shop: Shop, pool: Pool) -> None:
    shop.policy()
    rego = copy_policies(shop.folder / "own/rego")
    (rego / "countersign/added.rego").write_text(ADDED, encoding="utf-8")
    assert "`countersign policy propose` proposes it" in shop.policy()
    (rego / "countersign/added.rego").write_text("no policy", encoding="utf-8")
    shop.policy()
    async with shop.opa(pool) as opa:
        assert await opa.digest() == SHIPPED_DIGEST


def test_other_commands_on_policies_run_where_the_key_is(shop: Shop) -> None:
    bundle = shop.folder / "bundle.tar.gz"
    assert SHIPPED_DIGEST in shop.policy("build", "-o", str(bundle))
    assert verify_bundle(bundle.read_bytes(), [load_or_create(shop.key()).public]).text == read_policy(SHIPPED)
    assert list((shop.folder / "policy").iterdir()) == []


async def test_the_key_of_policies_rotates_without_a_gap(shop: Shop, pool: Pool) -> None:
    """As docs/operator.md says."""
    shop.policy()
    published = shop.folder / "policy_key/policy.pub.pem"
    before = shutil.copy(published, shop.folder / "policy-before.pub.pem")
    (shop.folder / "secrets/policy_signing_key").unlink()
    shop.make_secrets()
    shop.policy(POLICY_KEYS=json.dumps([str(published), str(before)]))
    async with shop.opa(pool) as opa:
        await opa.serves(SHIPPED_DIGEST)  # which the old key has signed
        after = next_policy(shop.folder / "next")
        await activate(pool, after, load_or_create(shop.key()))
        await opa.serves(read_policy(after).digest)
    shop.policy()
    async with shop.opa(pool) as opa:
        await opa.serves(read_policy(after).digest)


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
