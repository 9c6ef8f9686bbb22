"""The plug is pulled while an effect is approved and made to wait for its window: it is carried out once, then."""

from pathlib import Path

import pytest

from policy.client import OpaEngine
from runtime.failpoints import Point
from runtime.model.person import SlackAccount
from runtime.model.votes import VoteVerdict
from runtime.services.clicks import Click
from tests.bench import TEAM, Bench, open_bench
from tests.faults import dying
from tests.faults.killed import killed
from tests.integration.conftest import PACK, Targets
from tests.integration.windows_stage import FILE, TUESDAYS, say_when
from tests.opa_server import start_opa
from tests.patience import MINUTE


async def _record(bench: Bench, person: str, approval: str) -> str:
    click = Click(
        dedupe_key=f"{approval}:{person}",
        approval_id=approval,
        stamp="",
        verdict=VoteVerdict.APPROVE,
        reason="seen and checked",
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-click",
    )
    return await bench.desk.record(click)


async def _killed(bench: Bench, opa: str, notification: str, point: Point, number: int) -> None:
    await killed(dying.apply, bench.superuser, opa, notification, str(point), str(number))


@pytest.mark.parametrize(
    ("point", "number"),
    [
        (Point.NOTIFICATION_APPLIED, 1),  # approved, and policy not asked again yet
        (Point.POLICY_ANSWERED, 1),
        (Point.EFFECT_DEFERRING, 1),  # before the commit that makes it wait
        (Point.EFFECT_DEFERRED, 1),  # behind it
    ],
)
async def test_a_process_killed_while_it_defers_has_it_carried_out_once_in_the_window(
    dsn: str, targets: Targets, tmp_path: Path, point: Point, number: int
) -> None:
    policies = say_when(tmp_path, TUESDAYS)
    async with (
        start_opa(policies, tmp_path / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        run_id = (await bench.start("bench.file", FILE)).run_id
        await bench.settle()
        approval = await bench.approval_id()
        assert (await bench.click("ann", approval)).counted
        await _killed(bench, opa.url, await _record(bench, "ben", approval), point, number)
        for _ in range(3):
            await bench.later(minutes=2)
        assert not targets.file.calls
        told = [leaf for leaf in await bench.chain(run_id) if leaf.event == "effect.waiting"]
        assert len(told) == 1
        await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert len(targets.file.calls) == 1
