"""Operators act in the console: under policy, on record, once for each form; on many, what has changed is named."""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from policy.client import OpaEngine
from runtime.handlers import RefusedError
from runtime.model.console import ConsoleRole
from runtime.services.console_acts import ActName
from tests.bench import BENCH_SECRET, Bench, open_bench
from tests.databases import superuser
from tests.integration.conftest import PACK, Targets
from tests.integration.console_stage import ConsoleStage, Shown, Visitor, open_console
from tests.integration.evidence_stage import FILE
from tests.patience import until

NODES = PACK.parent / "nodes"
STATES = "SELECT status, count(*)::int AS n FROM runs GROUP BY status ORDER BY status"
ASKED = "SELECT leaf -> 'data' AS data FROM tenant_leaves WHERE leaf ->> 'event' = 'acts.asked'"


@dataclass(frozen=True)
class Held:
    """A console, and a run whose step `look` needs attention."""

    console: ConsoleStage
    run_id: str


@pytest.fixture
async def held(dsn: str, policy: OpaEngine, targets: Targets, tmp_path: Path) -> AsyncIterator[Held]:
    """Give a run of which somebody has to say how it goes on."""
    targets.look.answers = [RefusedError("the register is closed")]
    async with open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as bench, open_console(bench, tmp_path) as on:
        run_id = (await bench.start("bench.mended", {})).run_id
        await bench.settle()
        assert (await bench.run(run_id))["steps"]["look"]["status"] == "needs_attention"
        yield Held(on, run_id)


def _fields(shown: Shown) -> list[tuple[str, str]]:
    """Return what the form of a page carries."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown.text)
    return [(name, unescape(value)) for name, value in found]


async def _runs(bench: Bench, count: int) -> list[str]:
    """Have filings wait for signatures; return their runs."""
    runs = [(await bench.start("bench.file", FILE, f"case {number}")).run_id for number in range(count)]
    await bench.settle()
    return runs


async def _act(visitor: Visitor, name: str, subject: str, step: str = "", **said: str) -> Shown:
    """Open the page of an act, and send its form."""
    page = await visitor.get(f"/acts/{name}?subject={subject}&step={step}")
    assert page.status == 200, page.text
    return await visitor.post(f"/acts/{name}", **{**dict(_fields(page)), "reason": "not needed", **said})


async def _worked(console: ConsoleStage, answer: Coroutine[Any, Any, Shown]) -> Shown:
    """Return what a page shows while a worker works."""
    sent = asyncio.ensure_future(answer)

    async def has_come() -> bool:
        await console.bench.settle()
        return sent.done()

    await until(has_come)
    return await sent


async def _many(visitor: Visitor, name: str, subjects: Sequence[str]) -> list[tuple[str, str]]:
    """Open the page of an act on many; return what its form carries."""
    page = await visitor.get(f"/acts/{name}/many?" + "&".join(f"subject={one}" for one in subjects))
    assert page.status == 200, page.text
    return _fields(page)


async def test_an_operator_cancels_a_run_once_however_often_the_form_comes(console: ConsoleStage) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    fields = dict(_fields(await omar.get(f"/acts/cancel?subject={run}")))
    answers = [await _worked(console, omar.post("/acts/cancel", **fields, reason="not needed")) for _ in range(3)]
    assert [(one.status, "<h1>Done</h1>" in one.text) for one in answers] == [(200, True)] * 3
    assert await console.bench.rows(STATES) == [{"status": "canceled", "n": 1}]
    assert len(await console.bench.rows("SELECT * FROM notifications WHERE kind = 'cancel'")) == 1
    assert "The run has ended." in (await omar.get(f"/acts/cancel?subject={run}")).text


async def test_an_act_that_no_worker_has_done_is_on_record_and_says_so(console: ConsoleStage) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    shown = await _act(omar, "cancel", run)
    assert (shown.status, "a worker will do it" in shown.text) == (200, True)
    await console.bench.settle()
    assert await console.bench.rows(STATES) == [{"status": "canceled", "n": 1}]


async def test_what_policy_denies_is_not_done_and_says_why(console: ConsoleStage, dsn: str) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    fields = dict(_fields(await omar.get(f"/acts/cancel?subject={run}")))
    assert "operators" in console.sessions.groups[ConsoleRole.OPERATOR]
    with superuser(dsn) as conn:  # no operator by policy, and still one of the console
        conn.execute("""UPDATE actors SET groups = '["console-operators"]' WHERE actor_id = 'omar'""")
    shown = await _worked(console, omar.post("/acts/cancel", **fields, reason="not needed"))
    assert (shown.status, "<h1>Nothing was done</h1>" in shown.text) == (409, True)
    assert await console.bench.rows(STATES) == [{"status": "waiting_approval", "n": 1}]


@pytest.mark.parametrize("name", ActName)
async def test_who_is_no_operator_does_nothing(console: ConsoleStage, name: ActName) -> None:
    (run,), ann = await _runs(console.bench, 1), await console.signed_in("ann")
    assert (await ann.get(f"/acts/{name}?subject={run}")).status == 403
    said = {"subject": run, "reason": "let me", "key": "k" * 30}
    assert (await ann.post(f"/acts/{name}", **said)).status == 403
    assert (await ann.get(f"/acts/{name}/many?subject={run}")).status == 403
    many = {"subjects": f"{run}:1", "count": "1", "reason": "let me", "key": "k" * 30}
    assert (await ann.post(f"/acts/{name}/many", **many)).status == 403
    assert await console.bench.rows("SELECT * FROM notifications WHERE kind <> 'trigger'") == []


async def test_of_what_was_listed_what_changed_meanwhile_is_named_and_left_alone(
    console: ConsoleStage, dsn: str
) -> None:
    runs, omar = await _runs(console.bench, 12), await console.signed_in("omar")
    fields = await _many(omar, "cancel", runs)
    changed = runs[:4]
    with superuser(dsn) as conn:  # it has moved on, and goes on
        conn.execute("UPDATE runs SET version = version + 1 WHERE run_id = %s", (changed[3],))
    for run in changed[:3]:
        (row,) = await console.bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run)
        assert (await console.bench.click("ann", row["approval_id"], "reject", "not like this")).counted
    await console.bench.settle()
    sent = [*fields, ("count", "12"), ("reason", "not needed")]
    for _ in range(2):
        shown = await _worked(console, omar.post_all("/acts/cancel/many", sent))
        assert "8 of 12 done" in shown.text
        left = shown.text.partition("Not done")[2].partition("<h2>Done")[0]
        assert all(run in left for run in changed)
    assert [row["n"] for row in await console.bench.rows(STATES) if row["status"] == "canceled"] == [8]
    (asked,) = await console.bench.rows(ASKED)
    assert (asked["data"]["act"], asked["data"]["subjects"]) == ("cancel", 12)


async def test_another_wish_by_the_same_form_is_on_record_too_and_no_secret_is(console: ConsoleStage) -> None:
    runs, omar = await _runs(console.bench, 3), await console.signed_in("omar")
    fields = dict(await _many(omar, "cancel", runs[:1]))
    for some in (runs[:1], runs[1:]):
        subjects = [("subjects", f"{run}:") for run in some]
        said = [("key", fields["key"]), ("count", str(len(some))), ("reason", f"no more {BENCH_SECRET}\0")]
        shown = await _worked(console, omar.post_all("/acts/cancel/many", [*subjects, *said]))
        assert shown.status == 200
    asked = [row["data"] for row in await console.bench.rows(ASKED)]
    assert sorted(one["subjects"] for one in asked) == [1, 2]
    assert BENCH_SECRET not in str(asked)


async def test_the_count_has_to_be_typed(console: ConsoleStage) -> None:
    runs, omar = await _runs(console.bench, 2), await console.signed_in("omar")
    fields = await _many(omar, "cancel", runs)
    shown = await omar.post_all("/acts/cancel/many", [*fields, ("count", "1"), ("reason", "not needed")])
    assert (shown.status, "2 are listed, and 1 were typed" in shown.text) == (422, True)
    assert (await omar.get(f"/acts/undo/many?subject={runs[0]}")).status == 422
    assert await console.bench.rows(ASKED) == []


@pytest.mark.parametrize(
    ("name", "said", "becomes", "result"),
    [
        (ActName.SUPPLY, {"result": '{"value": 4}'}, "succeeded", {"value": 4}),
        (ActName.RETRY_STEP, {}, "succeeded", {"value": 3}),
        (ActName.SKIP, {}, "skipped", None),
        (ActName.END, {}, "failed_terminal", None),
    ],
)
async def test_a_step_that_needs_attention_goes_on_as_an_operator_says(
    held: Held, name: ActName, said: dict[str, str], becomes: str, result: object
) -> None:
    omar = await held.console.signed_in("omar")
    shown = await _worked(held.console, _act(omar, name, held.run_id, "look", **said))
    assert (shown.status, "<h1>Done</h1>" in shown.text) == (200, True)
    step = (await held.console.bench.run(held.run_id))["steps"]["look"]
    assert step["status"] == becomes
    (stored,) = await held.console.bench.rows("SELECT result FROM steps WHERE path = 'look'")
    assert stored["result"] == result


async def test_what_is_supplied_has_to_be_an_object(held: Held) -> None:
    omar = await held.console.signed_in("omar")
    for result, why in (("[]", "not an object"), ("{", "it is not JSON")):
        shown = await _act(omar, "supply", held.run_id, "look", result=result)
        assert (shown.status, why in shown.text) == (422, True)
    assert (await held.console.bench.run(held.run_id))["steps"]["look"]["status"] == "needs_attention"


async def test_a_step_that_is_not_there_has_no_page(console: ConsoleStage) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    assert (await omar.get(f"/acts/supply?subject={run}&step=nothing")).status == 404


@pytest.mark.parametrize(
    "change",
    [{"subject": "../x"}, {"reason": ""}, {"key": "k"}, {"version": "-1"}, {"more": "x"}, {"step": "a\nb"}],
)
async def test_a_form_that_is_not_ours_does_nothing(console: ConsoleStage, change: dict[str, str]) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    shown = await omar.post("/acts/cancel", **{"subject": run, "reason": "why not", "key": "k" * 30, **change})
    assert shown.status == 422
    omar.origin = "https://evil.example"
    assert (await omar.post("/acts/cancel", subject=run, reason="why not", key="k" * 30)).status == 403
    assert await console.bench.rows("SELECT * FROM notifications WHERE kind = 'cancel'") == []


async def test_what_is_another_tenants_is_not_there(console: ConsoleStage, dsn: str) -> None:
    (run,), omar = await _runs(console.bench, 1), await console.signed_in("omar")
    key = {"reason": "let me", "key": "k" * 30}
    acts = {"cancel": 409, "undo": 409, "retry": 409, "skip": 404}
    assert [(await omar.get(f"/acts/{name}?subject={run}&step=file")).status for name in acts] == [200] * len(acts)
    with superuser(dsn) as conn:
        conn.execute("UPDATE runs SET tenant = 'another'")
    for name, status in acts.items():
        assert (await omar.get(f"/acts/{name}?subject={run}&step=file")).status == 404
        shown = await _worked(console, omar.post(f"/acts/{name}", subject=run, step="file", **key))
        assert (shown.status, "<h1>Nothing was done</h1>" in shown.text) == (status, True)
    assert await console.bench.rows(STATES) == [{"status": "waiting_approval", "n": 1}]
