"""Exports forged by somebody who has the key of evidence and not the log's: a documented table says what finds them."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.settings import ROOT, Settings
from evidence.local import LocalArchive
from receipts import canonical
from receipts.acts import CommandRefused, RequestRefused, Tried
from receipts.chain import Actor
from receipts.fields import timestamp
from receipts.signing import load_or_create
from runtime.services.sealing import SealingService
from runtime.services.sequencer import Sequencer
from runtime.store.tenants import put_act
from tests.bench import TENANT, Bench
from tests.integration.evidence_stage import Auditor, ForgedExport, Genuine, entries_of, later
from tests.integration.forger import Forged
from tests.integration.program_stage import command, environment
from tests.once import Once
from tests.sealing import notary_of, sealer_of

FILE = {"company": "ACME", "text": "report"}
SETTINGS = ("bundles", "log", "bundles and log", "neither")


def _empty_month(f: ForgedExport) -> None:
    f.drop("early", "file", "asked")


def _made_before(f: ForgedExport) -> None:
    """Say that it was made before the last run was queued, of which the log's checkpoint of then knows nothing."""
    f.drop("asked")
    f.checkpoint = f.old_checkpoint
    size = int(f.old_checkpoint.splitlines()[1])
    f.index["made_at"] = later(f.line("file")["finished_at"], hours=1)
    f.index["log"].update(size=size, until=f.line("file")["finished_at"])


def _made_between(f: ForgedExport) -> None:
    f.index["made_at"] = later(f.line("asked")["created_at"], minutes=-1)
    f.index["log"]["until"] = f.line("file")["finished_at"]


def _old_checkpoint(f: ForgedExport) -> None:
    f.drop("asked")
    f.checkpoint = f.old_checkpoint
    f.index["log"]["size"] = int(f.old_checkpoint.splitlines()[1])


def _turn_round(f: ForgedExport) -> None:
    f.vote("file").update(decision="rejected", meaning="forbids this action")


def _invent_run(f: ForgedExport) -> None:
    made = {"run_id": "run_invented", "log_index": None, "created_at": later(f.line("asked")["created_at"], minutes=1)}
    f.index["runs"].append({**f.line("asked"), **made})


def _invent_vote(f: ForgedExport) -> None:
    told = f.vote("file")
    f.votes.append({**told, "at": later(told["at"], seconds=1), "person": "eve", "name": "Eve"})


def _drop_vote(f: ForgedExport) -> None:
    f.votes.remove(f.vote("file"))


def _longer(f: ForgedExport) -> None:
    f.index["last_day"] = "2026-01-08"


def _shorter(f: ForgedExport) -> None:
    f.index["last_day"] = "2026-01-06"


def _reseal(f: ForgedExport) -> None:
    f.reseal("file", f.resealed)
    f.vote("file")["reason"] = "I never said so"


def _unsealed(f: ForgedExport) -> None:
    f.bundles.pop(f"bundles/{f.runs['file']}.zip")
    f.say("file", state="unsealed", sha256=None, size=None, why="not sealed: no worker has claimed it yet")


def _refused_fewer(f: ForgedExport) -> None:
    assert f.refused is not None
    said = {**canonical.loads(f.refused[1]["data"].encode()), "count": 1}
    f.refused[1].update(count="1", data=canonical.dumps(said).decode())


def _says(name: str, **change: Any) -> Any:
    return lambda f: f.say(name, **change)


def _vote(**change: str) -> Any:
    return lambda f: f.vote("file").update(change)


FORGED: dict[str, Any] = {
    "a run left out": lambda f: f.drop("file"),
    "a run left out that has no bundle": lambda f: f.drop("asked"),
    "a run of another day left out": lambda f: f.drop("early"),
    "an empty period": _empty_month,
    "an older checkpoint, and a run after it left out": _old_checkpoint,
    "made earlier, and a run after that left out": _made_before,
    "made earlier, with every run": _made_between,
    "the last day later": _longer,
    "the last day earlier": _shorter,
    "a run invented": _invent_run,
    "the outcome": _says("file", outcome="failed_terminal"),
    "the outcome of an open run": _says("asked", outcome="running"),
    "who asked": _says("file", requested_by="eve"),
    "the reference": _says("file", reference="case-9"),
    "the trigger's type": _says("file", trigger_type="bench.other"),
    "when it was triggered": lambda f: f.say("file", created_at=later(f.line("file")["created_at"], seconds=-1)),
    "when it ended": lambda f: f.say("file", finished_at=later(f.line("file")["finished_at"], seconds=1)),
    "the runbook": _says("file", definition="bench-other"),
    "the runbook's version": _says("file", definition_version=9),
    "the runbook's digest": _says("file", definition_digest="0" * 64),
    "an open run as ended": lambda f: f.say(
        "asked", state="unsealed", outcome="succeeded", finished_at=f.line("asked")["created_at"]
    ),
    "a sealed run as not sealed": _unsealed,
    "why a run has no bundle": _says("asked", why="not ended: waiting for the customer"),
    "fewer leaves of an open run": _says("asked", leaves=3),
    "the place in the log": lambda f: f.say("file", log_index=f.line("file")["log_index"] + 1),
    "a vote turned round": _turn_round,
    "a vote's person": _vote(person="eve", name="Eve"),
    "a vote's printed name": _vote(name="Eve"),
    "a vote's reason": _vote(reason="I never said so"),
    "when a vote was given": lambda f: _vote(at=later(f.vote("file")["at"], seconds=-1))(f),
    "what a vote was about": _vote(target="another target"),
    "what a vote changed": _vote(change="company: Beta"),
    "the rule behind a vote": _vote(rule="writes.two: Nobody has to sign."),
    "who had to sign": _vote(required="1 of operations"),
    "a vote's account": _vote(account="T0ACME UEVE"),
    "a vote left out": _drop_vote,
    "a vote invented": _invent_vote,
    "a refused attempt left out": lambda f: f.refused.pop(0),
    "a refused attempt changed": _refused_fewer,
    "who made a refused attempt": lambda f: f.refused[0].update(actor="eve"),
    "a refused attempt invented": lambda f: f.refused.append({**f.refused[0], "leaf": int(f.refused[-1]["leaf"]) + 1}),
    "all refused attempts left out, as of format 1": lambda f: setattr(f, "refused", None),
    "the number of refused attempts": lambda f: f.counts.update(refused=7),
    "the number of runs": lambda f: f.counts.update(runs=7),
    "the number of votes": lambda f: f.counts.update(votes=7),
    "a bundle sealed again with another reason": _reseal,
}
"""Each lie, told as well as somebody can who has the key of evidence."""


async def _play(bench: Bench, folder: Path) -> Genuine:
    """Play three runs of two days and one of the day before, export the two, and publish the log with that."""
    settings = Settings(database_url=bench.superuser, home=folder, tenant=TENANT)
    load_or_create(settings.key_path)
    archive = LocalArchive(folder / "evidence")
    notary = replace(notary_of(bench.engine, archive, settings.key_path), every=timedelta())
    bench.clock.now = bench.clock.now.replace(hour=23, minute=55)
    runs = {"early": (await bench.start("bench.file", FILE, ref="early")).run_id}
    await bench.settle()
    bench.clock.move(minutes=10)
    assert (await bench.click("ann", await bench.approval_id(), "reject", "wrong company")).counted
    runs["file"] = (await bench.start("bench.file", FILE, ref="file")).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
        bench.clock.move(minutes=1)
    await bench.settle()
    sealer = sealer_of(bench.engine, archive, settings.key_path)
    assert await sealer() == 2
    await _publish(bench, notary)
    old = (folder / f"evidence/log/{TENANT}/checkpoint").read_text()
    await _refuse(bench)
    bench.clock.move(days=1)
    runs["asked"] = (await bench.start("bench.file", FILE, ref="asked")).run_id
    await bench.settle()
    assert (await bench.click("ann", await bench.approval_id())).counted
    bench.clock.move(days=1)
    runs["late"] = (await bench.start("bench.file", FILE, ref="late")).run_id
    await bench.settle()
    await _publish(bench, notary)
    days = ("--since", "2026-01-06", "--until", "2026-01-07", "--as", "omar", "--bundles")
    made = await command("evidence", "export", *days, "-o", str(folder / "export"), env=environment(settings))
    assert (made.code, made.err) == (0, "")
    await _publish(bench, notary)
    files = {path.relative_to(folder / "export").as_posix(): path for path in (folder / "export").rglob("*.*")}
    return Genuine(
        files={name: path.read_bytes() for name, path in files.items()},
        entries=entries_of(folder / f"evidence/log/{TENANT}"),
        old_checkpoint=old,
        runs=runs,
        resealed=await _resealed(bench, settings, runs["file"]),
    )


async def _refuse(bench: Bench) -> None:
    """Put two records of refused attempts into the tenant's chain."""
    at = timestamp(bench.clock())
    at_slack = CommandRefused(team="T1", user="U1", command="show", code="identity.guest")
    tried = [Tried(subject="sena", path="/v1/tasks/apr_1/answer")]
    requests = RequestRefused(
        route="GET /v1/tasks", rule="caller.answers_for", count=1200, first_at=at, last_at=at, tried=tried
    )
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await put_act(conn, TENANT, at_slack, Actor(id="slack:T1:U1", kind="person"), bench.clock())
        await put_act(conn, TENANT, requests, Actor(id="portal", kind="agent"), bench.clock())


async def _publish(bench: Bench, notary: Any) -> None:
    while await Sequencer(bench.engine)():
        pass
    await notary()


async def _resealed(bench: Bench, settings: Settings, run_id: str) -> bytes:
    """Seal a run again in which a reason is another."""
    forged = Forged.of(await SealingService(bench.engine).story(run_id))
    forged.approval()["votes"][0]["reason"] = "I never said so"
    return forged.seal(load_or_create(settings.key_path))


OFFICE = Once(_play)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
async def auditor(bench: Bench, home: Path, tmp_path: Path) -> Auditor:
    genuine = await OFFICE.on(bench, home)
    return Auditor(genuine, Settings(database_url=bench.superuser, home=home).key_path, tmp_path)


def documented() -> dict[str, tuple[str, ...]]:
    """Return the table of the page: for each lie, what is said of it in each setting."""
    text = (
        (ROOT / "docs/evidence-format.md")
        .read_text(encoding="utf-8")
        .split("### What forged exports are refused by")[1]
    )
    rows = [re.findall(r"[^|]+", line) for line in text.split("\n## ")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip().strip("`") for cell in row] for row in rows]
    return {name: tuple(said) for name, *said in cells[2:]}


@pytest.mark.parametrize("setting", SETTINGS)
async def test_the_genuine_export_holds(auditor: Auditor, setting: str) -> None:
    assert auditor.judge(lambda _: None, setting, on_record=True) == "not seen"


async def test_each_lie_is_refused_as_the_page_says_although_it_is_on_record(auditor: Auditor) -> None:
    found = {
        name: tuple(auditor.judge(forge, setting, on_record=True) for setting in SETTINGS)
        for name, forge in FORGED.items()
    }
    assert found == documented()


async def test_no_lie_holds_against_a_log_in_which_it_is_not_on_record(auditor: Auditor) -> None:
    for name, forge in FORGED.items():
        for setting in SETTINGS[1:3]:
            assert auditor.judge(forge, setting, on_record=False).startswith("export."), (name, setting)
