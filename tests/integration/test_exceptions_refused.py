"""`countersign evidence exceptions` of a period lists what was refused outside runs, from the tenant's chain."""

import json
from pathlib import Path

from countersign.settings import Settings
from receipts.acts import Act, Allowed, CommandRefused, DelegationRefused, RequestRefused, Tried
from receipts.chain import Actor
from receipts.fields import timestamp
from receipts.tenant_acts import chain_of
from runtime.store.tenants import put_act
from tests.bench import TENANT, Bench
from tests.integration.program_stage import command, environment


def _request(at: str, count: int, *subjects: str) -> RequestRefused:
    tried = [Tried(subject=one, path="/v1/tasks/apr_1/answer") for one in subjects]
    route = "POST /v1/tasks/{task_id}/answer"
    return RequestRefused(
        route=route,
        rule="caller.answers_for",
        count=count,
        first_at=at,
        last_at=at,
        tried=tried or [Tried(subject="sena", path="/")],
    )


def _delegation(at: str) -> DelegationRefused:
    return DelegationRefused(
        act="delegate",
        delegator="ann",
        delegate="ben",
        groups=[],
        starts_at=at,
        ends_at=at,
        reason="away",
        why="not themselves",
        policy=Allowed(decision_id="d1", digest="ab" * 32),
    )


async def _refuse(bench: Bench, actor: Actor, *acts: Act) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        for act in acts:
            await put_act(conn, TENANT, act, actor, bench.clock())


async def test_what_was_refused_outside_runs_is_listed_for_its_period_alone(
    bench: Bench, dsn: str, tmp_path: Path
) -> None:
    at = timestamp(bench.clock())
    await _refuse(
        bench, Actor(id="portal", kind="agent"), _request(at, 1, "sena"), _request(at, 1200, "sena", "x\x1b[2J")
    )
    person = Actor(id="slack:T1:U1", kind="person")
    await _refuse(bench, person, CommandRefused(team="T1", user="U1", command="show", code="identity.guest"))
    await _refuse(bench, Actor(id="ann", kind="person"), _delegation(at))
    bench.clock.move(days=2)
    await _refuse(bench, Actor(id="portal", kind="agent"), _request(timestamp(bench.clock()), 1))
    env = environment(Settings(database_url=dsn, home=tmp_path, tenant=TENANT))
    days = ("--from", at[:10], "--to", at[:10])
    found = await command("evidence", "exceptions", *days, env=env)
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith("\n4 exceptions in 0 stored bundles and the tenant's chain\n")
    lines = found.out.splitlines()
    rows = json.loads((await command("evidence", "exceptions", *days, "--json", env=env)).out)
    assert [(row["name"], row["kind"], row["run_id"], row["definition"]) for row in rows] == [
        (who, "refused", chain_of(TENANT), "") for who in ("portal", "portal", "slack:T1:U1", "ann")
    ]
    assert lines[0].endswith("portal: refused attempt")
    assert lines[1:3] == [
        "  called POST /v1/tasks/{task_id}/answer for “sena”; refused: may not answer for this person",
        f"  id:      {chain_of(TENANT)}, leaf {rows[0]['leaf']}",
    ]
    assert "1,200 times" in rows[1]["what"]
    assert "\x1b" not in found.out
    assert [row["what"] for row in rows[2:]] == [
        "used the command “show” in Slack; refused: is a guest",
        "tried to record a delegation from “ann” to “ben”; policy denied it: “not themselves”",
    ]
