"""The page for workflow authors: its examples of waits, signatures and reminders run as it says."""

import re
from pathlib import Path

from countersign.embedded.opa import OpaChild
from runtime.services.signals import Signal, SignalDesk
from tests.bench import TENANT, Bench, Target
from tests.integration.test_nodes_page import DOCS, FOUND, LEI, desk

PAGE = (DOCS / "workflow-author.md").read_text("utf-8")
UNTIL, ESCALATED, WEEKLY = re.findall(r"```yaml\n(steps:.*?)```", PAGE, re.DOTALL)
(REMIND,) = re.findall(r"```yaml\n(name: remind-portal\n.*?)```", PAGE, re.DOTALL)
CASE = "6f1a3c52-0b1d-4c8e-9a53-0f6c1f0f2f11"


async def start(bench: Bench) -> str:
    trigger = {"lei": LEI, "case_id": CASE, "due": "2026-01-12T09:00:00Z"}
    run_id = (await bench.start("desk.example", trigger)).run_id
    await bench.settle()
    return run_id


async def days(bench: Bench, count: int) -> None:
    for _ in range(count):
        await bench.later(days=1)


async def test_a_step_waits_until_a_day_before_it_is_due_and_who_signed_is_kept(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with desk(dsn, opa, tmp_path, UNTIL, Target(default=FOUND)) as bench:
        run_id = await start(bench)
        await days(bench, 5)
        assert (await bench.run(run_id))["steps"]["ask"]["status"] == "parked"
        await days(bench, 1)
        (run,) = await bench.rows("SELECT status, state FROM runs WHERE run_id = %s", run_id)
        assert run == {"status": "succeeded", "state": {"answered": False, "approved_by": []}}


async def test_another_system_is_reminded_each_week_until_it_answers(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    register = Target(default=FOUND)
    async with desk(dsn, opa, tmp_path, ESCALATED, register, remind=REMIND) as bench:
        run_id = await start(bench)
        for weeks in (1, 2):
            await days(bench, 7)
            assert [call.params for call in register.calls] == [{"lei": LEI}] * weeks
        assert (await bench.complete(f"acme:ask_client:{CASE}", {}, verbs=["ask_client"]))["status"] == "applied"
        await days(bench, 8)
        assert len(register.calls) == 2
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_repeat_reminds_each_week_until_the_signal_comes(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    register = Target(default=FOUND)
    async with desk(dsn, opa, tmp_path, WEEKLY, register) as bench:
        run_id = await start(bench)
        await days(bench, 14)
        assert len(register.calls) == 2
        answered = Signal(ref="s1", run_id=run_id, reference=None, name="answered", data={})
        await SignalDesk(bench.engine, TENANT).send("portal-bot", ["desk.example"], answered)
        await days(bench, 7)
        assert len(register.calls) == 2
        assert (await bench.run(run_id))["status"] == "succeeded"
