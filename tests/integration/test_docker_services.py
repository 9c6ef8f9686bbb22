"""The one-shot services, OPA's flags and its probe as docker-compose.yml has them, run without Docker."""

import asyncio
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from countersign.bucket import BucketError, make_bucket
from countersign.doctor.database import policy_text
from countersign.embedded.ports import free_port
from countersign.settings import ROOT, Settings
from policy.bundle import PolicyFolders, build_bundle
from policy.transport import connect
from runtime.clock import utc_now
from tests.integration.compose_file import SERVICES
from tests.integration.compose_servers import opa_service
from tests.integration.minio_server import PASSWORD, USER, MinioServer, minio_server
from tests.integration.program_stage import command, environment
from tests.opa_server import PACKS, SHIPPED, copy_policies, opa_program

ADDED = """# METADATA
# title: Added
# description: A policy of one's own.
package system.added
"""


def write_policies(folder: Path, own: Path) -> Path:
    """Do what the service `policy` does, with what is one's own in another folder; return where the bundle is."""
    script = SERVICES["policy"]["command"][0].replace("$$", "$").replace("/policy/", f"{folder}/")
    script = script.replace("/own/", f"{own}/").replace("python", sys.executable)
    subprocess.run([*SERVICES["policy"]["entrypoint"], script], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """What the service `policy` writes where nothing is one's own."""
    return write_policies(tmp_path, tmp_path / "own")


def test_policies_and_packs_of_ones_own_are_in_the_bundle(tmp_path: Path) -> None:
    own = tmp_path / "own"
    rego = copy_policies(own / "rego")
    (rego / "system/added.rego").write_text(ADDED, encoding="utf-8")
    (own / "packs/desk/verbs").mkdir(parents=True)
    write_policies(tmp_path, own)
    with tarfile.open(tmp_path / "bundle.tar.gz") as bundle:
        manifest = bundle.extractfile(next(name for name in bundle.getnames() if name.endswith(".manifest")))
        assert manifest
        revision = json.load(manifest)["revision"]
    assert revision == build_bundle(PolicyFolders(rego, PACKS)).revision
    assert revision != build_bundle(SHIPPED).revision


def probe(port: int) -> int:
    """Run the health check of the service `opa`; return its exit status."""
    words = [word.replace(":8181", f":{port}") for word in SERVICES["opa"]["healthcheck"]["test"]]
    assert words[:2] == ["CMD", "/opa"]
    return subprocess.run([opa_program(), *words[2:]], check=False, capture_output=True).returncode


async def test_opa_serves_the_bundle_that_the_policy_service_writes(policies: Path) -> None:
    port = free_port()
    assert probe(port) != 0
    with opa_service(policies, port) as process:
        async with connect(f"http://127.0.0.1:{port}", 1.0) as client:
            while not await client.check_health():
                assert process.poll() is None, (policies.parent / "opa.log").read_text()
                await asyncio.sleep(0.02)
        assert probe(port) == 0
        text = await policy_text(Settings(opa_url=f"http://127.0.0.1:{port}"), utc_now)
    assert text.digest == build_bundle(SHIPPED).revision


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
