"""Brings the checker what it judges: the database, the histories, and every bundle from where it is kept."""

import asyncio
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

from countersign.settings import ROOT
from runtime.clock import utc_now
from runtime.failpoints import Point
from tests.faults.checker.facts import Facts
from tests.faults.checker.locks import unlocked
from tests.faults.checker.report import Report, check
from tests.faults.world.world import World


async def judge(world: World, uncovered: list[Point]) -> Report:
    """Return what the checker says of a world that has been played."""
    facts, report = await asyncio.to_thread(check, world.dsn, world.histories)
    if wrong := await _bundles(world, facts):
        report.wrong["bundles"] = wrong
    if wrong := await asyncio.to_thread(bundles_are_locked, world, facts):
        report.wrong["bundles_are_locked"] = wrong
    if uncovered:
        report.wrong["coverage"] = [f"{point} killed too seldom" for point in uncovered]
    if not report.holds:  # the database ends with the harness
        (world.folder / "tables.json").write_text(json.dumps(facts.tables, default=str, indent=1), encoding="utf-8")
    return report


def bundles_are_locked(world: World, facts: Facts) -> list[str]:
    """Return a sentence for each bundle in the bucket that can be deleted."""
    return list(unlocked(world.parts.minio.client(), facts.tables["bundles"], utc_now()))


async def _bundles(world: World, facts: Facts) -> list[str]:
    """Verify each bundle in a process of its own; return those that do not hold, or are not what was promised."""
    promised = {row["run_id"]: row["sha256"] for row in facts.tables["bundles"] if row["stored_at"] is not None}
    folder = await asyncio.to_thread(_fetch, world, facts)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.checker.bundles", str(folder), str(world.folder / "keys/evidence.pub.pem"),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    said = [line.split(" ", 2) for line in out.decode().splitlines()]
    held = {line[1]: line[2] for line in said if line[0] == "ok"}
    wrong = [" ".join(line) for line in said if line[0] != "ok"]
    missing = [
        f"{run_id} does not stand where it was stored" for run_id in promised if held.get(run_id) != promised[run_id]
    ]
    return wrong + missing


def _fetch(world: World, facts: Facts) -> Path:
    """Copy the bundles of the bucket beside those of the folder."""
    folder = world.folder / "bundles"
    folder.mkdir(exist_ok=True)
    client = world.parts.minio.client()
    for row in facts.tables["bundles"]:
        if row["location"] is None:
            continue
        file = folder / f"{row['run_id']}.zip"
        if row["location"].startswith("s3://"):
            address = urlsplit(row["location"])
            bucket, name = address.netloc, address.path.removeprefix("/")
            file.write_bytes(client.get_object(Bucket=bucket, Key=name)["Body"].read())
        else:
            file.write_bytes(Path(row["location"]).read_bytes())
    return folder
