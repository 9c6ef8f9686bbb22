"""Every service of docker-compose.yml that runs our image starts from that file, as its user, on its read-only root.

PostgreSQL, OPA and MinIO are real. OPA downloads the version that the service `policy` brought into force, from the
service `bot`, which runs before it. Slack is the sandbox, whose address stands in `.env`. No other variable is the
test's: behind the names and ports of Compose's networks are those servers. Workers have MinIO's root in the place of
the user that `docker/keeper.sh` makes with MinIO's own program.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest

from countersign.embedded.ports import free_port
from countersign.settings import ROOT
from policy.vetting import sample_question
from tests.integration.compose_file import Container, Project, opa_service, postgres_service, probe
from tests.integration.container import PORT, WAY, Inside, Peer, on_loopback, relayed, running
from tests.integration.program_stage import SLACK_SECRET, WORKSPACE, Finished, sandbox
from tests.integration.servers import PASSWORD, USER, minio_server
from tests.patience import MINUTE, until

ONE_SHOT = ("migrate", "bucket", "people", "policy")
ROLES = {"bot": ("edge", "bot"), "console": ("console",), "worker": ("worker", "sweeps")}
ENV = """\
COUNTERSIGN_TENANT=acme
COUNTERSIGN_SLACK_CHANNEL=C0APPROVALS
COUNTERSIGN_SLACK_CHANNELS='{"compliance": "C0COMPLIANCE", "incident-managers": "C0INCIDENTS"}'
COUNTERSIGN_SLACK_API_URL=http://slack:80/api/
COUNTERSIGN_PACKS='["/app/packs/access-request", "/app/packs/kyc"]'
COUNTERSIGN_PUBLIC_URL=https://countersign.example
DIRECTORY_FILE=./directory.yaml
DIRECTORY_LOADED_BY=omar
"""


@dataclass(frozen=True)
class Site:
    """An operator's folder, how the services ended that run once, and the servers that the others reach."""

    project: Project
    ended: dict[str, Finished]
    peers: list[Peer]

    def container(self, name: str) -> Container:
        """Return a service's container."""
        return self.project.container(name)


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    """Run what runs once, and keep the servers until the last test."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="compose-")))
        folder.chmod(0o755)  # the containers' user passes
        project = _prepared(folder)
        limits = limited(folder / "once", cores=1, memory=project.container("migrate").memory)
        data = stack.enter_context(postgres_service(folder / "secrets"))
        minio = stack.enter_context(minio_server(folder))
        slack = await stack.enter_async_context(sandbox("http://127.0.0.1:1/slack/events"))
        opa = free_port()
        peers = [
            Peer("postgres", 5432, "data", str(data / ".s.PGSQL.5432")),
            Peer("opa", 8181, "policy", ("127.0.0.1", opa)),
            Peer("minio", 9000, "store", _address(minio.endpoint)),
            Peer("slack", 80, "out", _address(slack)),
        ]
        ended = list(await asyncio.gather(*(_run(project.container(name), peers, limits) for name in ONE_SHOT[:2])))
        # each needs what the one before has done
        ended += [await _run(project.container(name), peers, limits) for name in ONE_SHOT[2:]]
        assert [one.err for one in ended if one.code] == []
        front = await stack.enter_async_context(running(project.container("bot"), peers, limits))
        await front.serves()
        assert await front.probe() == 0
        (bot,) = await stack.enter_async_context(relayed([Peer("bot", PORT, "policy", front.address)], on_loopback))
        stack.enter_context(opa_service(folder / "volumes/policy", folder / "secrets", opa, bot))
        await until(lambda: probe(opa) == 0)
        yield Site(project, dict(zip(ONE_SHOT, ended, strict=True)), peers)


def _prepared(folder: Path) -> Project:
    """Do what docs/operator.md has the operator do before the start."""
    given = {
        "minio_root_user": USER,
        "minio_root_password": PASSWORD,
        "countersign_s3_access_key": USER,
        "countersign_s3_secret_key": PASSWORD,
        "countersign_slack_bot_token": WORKSPACE["app"]["bot_token"],
        "countersign_slack_signing_secrets": json.dumps([SLACK_SECRET]),
    }
    (folder / "secrets").mkdir()
    (folder / "own").mkdir()
    for name, value in given.items():
        (folder / "secrets" / name).write_text(f"{value}\n", encoding="utf-8")
    subprocess.run(["sh", ROOT / "docker/secrets.sh", folder / "secrets"], check=True)
    (folder / ".env").write_text(ENV, encoding="utf-8")
    shutil.copy(ROOT / "docker/directory.yaml", folder)
    return Project(folder)


def limited(folder: Path, *, cores: int, memory: int) -> Path:
    """Write the files of a cgroup with these limits; return its folder."""
    folder.mkdir()
    (folder / "cpu.max").write_text(f"{cores * 100_000} 100000\n", encoding="ascii")
    (folder / "memory.max").write_text(f"{memory}\n", encoding="ascii")
    return folder


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 0)


async def _run(container: Container, peers: list[Peer], limits: Path) -> Finished:
    async with running(container, peers, limits) as inside, asyncio.timeout(MINUTE):
        out, err = await inside.process.communicate()
        return Finished(int(inside.process.returncode or 0), out.decode(), err.decode())


@pytest.mark.parametrize("name", ONE_SHOT)
def test_what_runs_once_does_its_work(name: str, site: Site) -> None:
    sys.stdout.write(f"{name} in {WAY}\n")
    assert (site.ended[name].code, site.ended[name].err) == (0, "")


@pytest.mark.parametrize("cores", [1, 16])
async def test_what_serves_is_in_order_and_stays_within_its_memory_on_any_number_of_cores(
    cores: int, site: Site
) -> None:
    await asyncio.gather(*(_serves(name, cores, site) for name in ROLES))


async def _serves(name: str, cores: int, site: Site) -> None:
    container = site.container(name)
    limits = limited(site.project.folder / f"{name}-{cores}", cores=cores, memory=container.memory)
    async with running(container, site.peers, limits) as inside:
        count = await inside.serves()
        taken = inside.memory()
        sizes = [one >> 20 for one in taken.values()]
        sys.stdout.write(f"{name} in {WAY} with {cores} cores: {count} serving; the processes take {sizes} MiB\n")
        assert sum(taken.values()) < container.memory
        assert count == (min(cores, 2) if name == "worker" else 1)
        assert await inside.probe() == 0
        if cores == 1:
            await _is_in_order(inside)
        if name == "bot":
            await _tries_policies(inside)
        inside.process.terminate()
        _, err = await inside.process.communicate()
        assert inside.process.returncode == 0, err


async def _tries_policies(inside: Inside) -> None:
    """Try a policy with the image's own `opa`, confined as that of a preview is."""
    asked = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
    tried = await inside.run("countersign", "policy", "try", "-", "--json", stdin=asked.model_dump_json())
    assert (tried.code, tried.err) == (0, "")
    assert json.loads(tried.out)["result"]["outcome"] == "needs_approval"


async def _is_in_order(inside: Inside) -> None:
    """Ask doctor in the container, as docs/operator.md does: again while policy is too busy to answer."""
    roles = [f"--role={role}" for role in ROLES[inside.container.name]]

    async def holds() -> bool:
        checked = await inside.run("countersign", "doctor", *roles)
        sys.stdout.write(checked.out)
        assert checked.err == ""
        return checked.code == 0

    await until(holds)
