"""The production shape: roles in processes of their own, two workers, evidence in MinIO under Object Lock."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.case import Case, step
from countersign.embedded.children import Supervisor
from countersign.embedded.packs import actions, example_of
from countersign.embedded.system import Ports, embedded
from countersign.settings import Settings
from evidence.verify.verify import verify
from sandbox.harness import SandboxUser
from tests.integration.servers import PASSWORD, USER, MinioServer, minio_server
from tests.patience import MINUTE

BUCKET = "evidence"


@dataclass
class Site:
    """A front, two workers, a bucket with Object Lock, and people."""

    case: Case
    minio: MinioServer
    key: Path
    people: dict[str, SandboxUser]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    settings, supervisor = Settings(home=tmp_path / "home"), Supervisor()
    async with AsyncExitStack() as stack:
        minio = stack.enter_context(minio_server(tmp_path))
        minio.make_bucket(BUCKET)
        system = await stack.enter_async_context(embedded(settings, Ports.tried("127.0.0.1", 0, 0), supervisor))
        env = {
            "COUNTERSIGN_S3_BUCKET": BUCKET,
            "COUNTERSIGN_S3_ENDPOINT": minio.endpoint,
            "COUNTERSIGN_S3_ACCESS_KEY": USER,
            "COUNTERSIGN_S3_SECRET_KEY": PASSWORD,
            "COUNTERSIGN_RETENTION_DAYS": "1",
        }
        front = system.serve("front", "edge", "bot", **env)
        await stack.enter_async_context(supervisor.running(front))
        for name in ("worker-1", "worker-2"):
            await stack.enter_async_context(supervisor.running(system.serve(name, "worker", "sweeps", **env)))
        await supervisor.until_answers(front)
        people = {
            name: await stack.enter_async_context(SandboxUser(system.sandbox, user))
            for name, user in (("anna", "U0ANNA"), ("boris", "U0BORIS"))
        }
        case = await system.outside.bring_in("kyc", example_of(system.demos, "kyc", "onboarding"))
        yield Site(case, minio, settings.key_path, people)


async def _sign(site: Site, person: str, *marks: str) -> None:
    def fits(message: dict[str, Any]) -> bool:
        shown = json.dumps([message["text"], message["blocks"]])
        return site.case.run_id[-8:] in shown and '"actions"' in shown and all(mark in shown for mark in marks)

    user = site.people[person]
    await user.click(await user.find_card(fits, timeout=MINUTE), "countersign_approve")
    if "Approval needed" in marks:
        await user.find_modal(timeout=MINUTE)
        await user.submit({"reason": "checked"})


async def test_two_workers_and_a_locked_bucket_bring_one_case_to_its_evidence(site: Site, tmp_path: Path) -> None:
    await site.case.replied()
    await _sign(site, "boris", "Review needed")
    await _sign(site, "anna", "Approval needed", "file_report")
    await _sign(site, "boris", "Approval needed", "1 of 2")
    run = await site.case.until("its evidence", lambda run: bool(run["sha256"]))
    assert run["status"] == "succeeded"
    assert step(run, "filing") == "succeeded"
    assert await actions(site.case.outside.standins["kyc"], "register::file_report") == 1
    client = site.minio.client()
    bundles = [o for o in client.list_objects_v2(Bucket=BUCKET)["Contents"] if o["Key"].endswith(".zip")]
    (stored,) = [o for o in bundles if site.case.run_id in o["Key"]]  # its subsidiaries' runs have their own
    found = client.get_object(Bucket=BUCKET, Key=stored["Key"])
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(found["Body"].read())
    assert found["Metadata"]["sha256"] == run["sha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert found["ObjectLockMode"] == "COMPLIANCE"
    assert verify(bundle, site.key.with_name("evidence.pub.pem")).run_id == site.case.run_id
