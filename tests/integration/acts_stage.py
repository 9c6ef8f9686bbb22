"""What people do in tests: answer, delegate, edit, repair held steps, and open runbooks of a test's own.

What people do with a request beside deciding it, as the bot hands it in.

Delegations as operators record them, through the inbox and policy.

A bench with a write of which people may edit params before they approve it, and how they do it.

What operators do with steps that are held, or that wait.

What tests of a runbook of their own share: it stands beside those of the bench's own pack.

Many requests at once: copies of one that was asked for, as the database would have them.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

from runtime.handlers import Answer, Call, JsonObject
from runtime.inbox import inbox
from runtime.model.commands import DelegatePayload
from runtime.model.person import SlackAccount
from runtime.model.run import RepairAction
from runtime.model.votes import CardAct, Refusal
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.editing import EditWish
from runtime.services.operator import OperatorService, StepRepair
from tests.bench import TEAM, TENANT, Bench, Target


async def say(
    bench: Bench, person: str, approval_id: str, act: CardAct, words: str, about: str = "", nonce: str = ""
) -> ClickOutcome:
    """Do one such act in Slack; return what became of it."""
    click = Click(
        dedupe_key=f"{approval_id}:{person}:{act}:{words}:{nonce}",
        approval_id=approval_id,
        stamp="",
        verdict=act,
        reason=words,
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-act",
        about=about,
    )
    return await bench.desk.apply(await bench.desk.record(click))


WEEK = timedelta(days=7)


def operators(bench: Bench) -> OperatorService:
    """Return the desk of operators."""
    return OperatorService(bench.engine.pool, bench.clock, TENANT)


async def delegate(
    bench: Bench,
    delegator: str,
    to: str,
    *groups: str,
    by: str = "omar",
    starts: timedelta = timedelta(),
    lasts: timedelta = WEEK,
) -> dict[str, Any]:
    """Record that one person votes for another; return what became of it."""
    now = bench.clock() + starts
    wish = DelegatePayload(
        delegator=delegator, delegate=to, groups=groups, starts_at=now, ends_at=now + lasts, reason="on leave"
    )
    return dict(await inbox.apply(bench.engine, await operators(bench).delegate(by, wish)))


async def undelegate(bench: Bench, delegation_id: str, by: str = "omar") -> dict[str, Any]:
    """End a delegation; return what became of it."""
    asked = await operators(bench).undelegate(by, delegation_id, "back early")
    return dict(await inbox.apply(bench.engine, asked))


ASKED = {"company": "ACME", "text": "report", "copies": 10}


class Register(Target):
    """A register that says how many copies it has filed."""

    async def run(self, call: Call) -> JsonObject | Answer:
        self.default = {"copies": call.params.get("copies")}
        return await super().run(call)


async def asked(bench: Bench, ref: str = "1") -> str:
    """Start a run that asks for ten copies; return the request."""
    run_id = (await bench.start("editing.file", ASKED, ref)).run_id
    await bench.settle()
    return await request_of(bench, run_id)


async def request_of(bench: Bench, run_id: str) -> str:
    """Return the open request of a run."""
    (row,) = await bench.rows(
        "SELECT approval_id FROM approvals WHERE run_id = %s AND status = 'requested' AND kind = 'effect'", run_id
    )
    return str(row["approval_id"])


async def edit(
    bench: Bench, person: str, approval_id: str, params: dict[str, Any], *, reason: str = "too many", **other: Any
) -> Refusal | None:
    """Edit and resubmit; return why that does not count."""
    view = await bench.desk.approval(approval_id)
    wish = {
        "dedupe_key": f"{approval_id}:{person}:{params}",
        "stamp": view.stamp if view else "",
        "person_id": person,
        "refusal": None,
        "request_id": "req-edit",
        **other,
    }
    account = SlackAccount(TEAM, f"U{person.upper()}")
    desk = bench.desk.editing
    return await desk.apply(
        await desk.record(EditWish(approval_id=approval_id, params=params, reason=reason, account=account, **wish))
    )


async def wish(
    bench: Bench, run_id: str, step: str, act: RepairAction, result: Any = None, by: str = "omar"
) -> Mapping[str, Any]:
    """Say how a step goes on; return what became of that."""
    desk = OperatorService(bench.engine.pool, bench.engine.clock, "acme")
    facts = await inbox.apply(bench.engine, await desk.repair_step(by, StepRepair(run_id, step, act, "seen", result)))
    await bench.settle()
    return facts


async def mend(bench: Bench, run_id: str, step: str, act: RepairAction, result: Any = None) -> None:
    """Let a step go on, as an operator."""
    assert (await wish(bench, run_id, step, act, result))["status"] == "applied"


async def play_waiting(bench: Bench) -> dict[str, str]:
    """Play a run each of whose waits is supplied or skipped before it ends."""
    run_id = (await bench.start("bench.waiting", {})).run_id
    await bench.settle()
    await mend(bench, run_id, "ask", RepairAction.SUPPLY, {"answer": "by telephone"})
    await mend(bench, run_id, "hear", RepairAction.SUPPLY, {"by": "omar"})
    await mend(bench, run_id, "pause", RepairAction.SKIP)
    await mend(bench, run_id, "below", RepairAction.SUPPLY, {"run_id": "elsewhere", "outcome": "", "output": None})
    await mend(bench, run_id, "leave", RepairAction.SKIP)
    await mend(bench, run_id, "rounds[0].rest", RepairAction.SKIP)
    return {"waited": run_id}


HEAD = "name: tree\nversion: 1\ntitle: T\ntrigger: { type: bench.tree, schema: {} }\n"

Opener = Callable[[str], AbstractAsyncContextManager[Bench]]


async def status(bench: Bench, run_id: str) -> dict[str, str]:
    run = await bench.run(run_id)
    return {"run": run["status"], **{path: step["status"] for path, step in run["steps"].items()}}


_COPIES = """
    WITH one AS (SELECT * FROM approvals WHERE approval_id = %(id)s),
    n AS (SELECT to_char(generate_series(1, %(count)s), 'FM000000') AS n),
    runs_of AS (
        INSERT INTO runs SELECT copy.* FROM runs r JOIN one USING (run_id), n,
               LATERAL jsonb_populate_record(NULL::runs, to_jsonb(r) || jsonb_build_object(
                   'run_id', r.run_id || n, 'trigger_ref', 'REF-' || n, 'reference', 'REF-' || n)) copy RETURNING 1),
    effects_of AS (
        INSERT INTO effects SELECT copy.* FROM effects e JOIN one USING (effect_id), n,
               LATERAL jsonb_populate_record(NULL::effects, to_jsonb(e) || jsonb_build_object(
                   'run_id', e.run_id || n, 'effect_id', e.effect_id || n, 'dedupe_key', e.dedupe_key || n)) copy
        RETURNING 1)
    INSERT INTO approvals SELECT copy.* FROM one, n,
           LATERAL jsonb_populate_record(NULL::approvals, to_jsonb(one) || jsonb_build_object(
               'approval_id', one.approval_id || n, 'run_id', one.run_id || n, 'effect_id', one.effect_id || n,
               'expires_at', one.expires_at + n::int * interval '1 second')) copy
"""


async def copies(bench: Bench, approval_id: str, count: int) -> None:
    """Have so many more requests open that are like this one, in runs `REF-000001` and on, each later than the last."""
    query = _COPIES.replace("%(id)s", f"'{approval_id}'").replace("%(count)s", str(count))
    await bench.meddle(query)
    await bench.meddle("ANALYZE")
