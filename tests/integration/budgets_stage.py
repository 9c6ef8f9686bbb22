"""A bench with refunds, and limits with budgets on them: each test says which."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from policy.client import OpaEngine
from runtime.handlers import Handler, OutcomeUnknownError, RefusedError
from tests.bench import Bench, HandClock, Target, open_bench
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

REFUNDS = Path(__file__).parents[1] / "packs/refunds"
WHEN = {"connector": ["payments"], "operation": ["refund"]}
SUM = {"field": "amount", "currency_field": "currency", "currency": "EUR", "at_most": "500.00"}
BUDGET: dict[str, Any] = {"by": "agent", "per": "day", "time_zone": "Europe/Berlin", "over": "deny"}


def limit(over: str = "deny", *, count: int | None = None, at_most: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a limit with a budget; `more` are other members of the budget, and `requirement`."""
    asks = {"requirement": more.pop("requirement")} if "requirement" in more else {}
    of_sum = {} if at_most is None else {"sum": {**SUM, "at_most": at_most}}
    budget = {**BUDGET, "over": over, **({} if count is None else {"count": count}), **of_sum, **more}
    return {"comment": "Refunds are watched", "when": WHEN, "budget": budget, **asks}


def with_limits(folder: Path, limits: Mapping[str, Any], rego: Mapping[str, str], **operation: Any) -> Path:
    """Return a copy of the policies with refunds, these limits, and other words in the rules of budgets."""
    policies = copy_policies(folder / "rego")
    rules = policies / "countersign/budgets.rego"
    for said, instead in rego.items():
        text = rules.read_text(encoding="utf-8")
        assert said in text
        rules.write_text(text.replace(said, instead), encoding="utf-8")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    refund = {"tier": "low", "targets": ["customer:*"], **operation}
    config["connectors"]["payments"] = {"chat": False, "operations": {"refund": refund}}
    config["limits"] = dict(limits)
    file.write_text(json.dumps(config), encoding="utf-8")
    return policies


@asynccontextmanager
async def refunds_bench(
    dsn: str,
    folder: Path,
    limits: Mapping[str, Any],
    target: Target,
    clock: HandClock | None = None,
    handler: Handler | None = None,
    rego: Mapping[str, str] | None = None,
    **operation: Any,
) -> AsyncIterator[Bench]:
    """Open a bench on which refunds have these limits."""
    policies = with_limits(folder, limits, rego or {}, **operation)
    handlers = {"payments::refund": handler or target.handler(reconcile=target.reconcile)}
    async with (
        OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [REFUNDS], handlers, clock=clock) as found,
    ):
        yield found


async def refund(
    bench: Bench, ref: str, amount: Any = "10.00", *, currency: str = "EUR", kind: str = "refund", by: str = "rita"
) -> str:
    """Ask for a refund, and do all that can be done; return its run."""
    told = {"customer": f"c{ref}", "amount": amount, "currency": currency}
    run_id = (await bench.start(f"refunds.{kind}", told, ref, by)).run_id
    await bench.settle()
    return run_id


async def status(bench: Bench, run_id: str) -> tuple[str, str]:
    """Return how the refund of a run stands, and the code of its step's error."""
    (step,) = await bench.rows("SELECT status, error_code FROM steps WHERE run_id = %s", run_id)
    return step["status"], step["error_code"]


async def totals(bench: Bench) -> dict[tuple[str, str, str], tuple[int, Decimal]]:
    """Return what counts of each budget, key and period: its total without what was released since."""
    rows = await bench.rows("""
        SELECT t.budget, t.key, t.period, t.count - count(u.budget) AS count, t.sum - coalesce(sum(u.amount), 0) AS sum
          FROM budget_totals t LEFT JOIN budget_uses u ON u.status = 'released' AND u.in_total
           AND (u.tenant, u.budget, u.counted_by, u.key, u.period, u.currency)
             = (t.tenant, t.budget, t.counted_by, t.key, t.period, t.currency)
         GROUP BY t.budget, t.key, t.period, t.count, t.sum ORDER BY 1, 2, 3
    """)
    return {(row["budget"], row["key"], row["period"]): (int(row["count"]), Decimal(row["sum"])) for row in rows}


async def uses(bench: Bench) -> list[str]:
    """Return what became of all that was taken of budgets, sorted."""
    return sorted(row["status"] for row in await bench.rows("SELECT status FROM budget_uses"))


PLAYED = {
    "all": limit("wait", count=4, at_most="100.00"),
    "signed": limit("approve", count=1, by="requester", requirement="high"),
}


async def play_refunds(bench: Bench, target: Target) -> dict[str, str]:
    """Play refunds within budgets: done, failed, in doubt and done later, signed, waiting, and too much for any day."""
    played = {"budgeted": await refund(bench, "1", "12.50")}
    target.answers = [RefusedError("closed")]
    played["budget_failed"] = await refund(bench, "2", by="sue")
    target.answers = [OutcomeUnknownError("no reply")]
    played["budget_doubt"] = await refund(bench, "3", by="cat")
    await bench.later(minutes=2)
    target.answers = [OutcomeUnknownError("no reply")]
    played["budget_asked"] = await refund(bench, "4", by="ivy", kind="refund_by_hand")
    await bench.later(minutes=2)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"))).counted
    played["budget_signed"] = await refund(bench, "5", "20.00")
    for person in ("ann", "ben"):
        assert (await bench.click(person, await bench.approval_id())).counted
    await bench.settle()
    played["budget_waited"] = await refund(bench, "6", by="olga")
    played["budget_refused"] = await refund(bench, "7", "100.01", by="pam")
    await bench.later(days=1)
    target.answers = [OutcomeUnknownError("no reply")]
    played["budget_kept"] = await refund(bench, "8", by="ben", kind="refund_by_key")
    await bench.later(minutes=1)
    return played


async def told(bench: Bench, run_id: str, event: str) -> list[dict[str, Any]]:
    """Return what the leaves of an event say."""
    return [dict(leaf.data) for leaf in await bench.chain(run_id) if leaf.event == event]
