"""Undo and cancel by callers: over HTTP and by command.

Callers cancel runs and have them undone over HTTP, of the types that the directory says, and of no others.

Canceling several runs, and undoing, from the command line: listed first, and done by a named person with --yes.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from countersign.embedded.opa import OpaChild
from edge.app import Api, build_edge
from edge.callers import Refusals
from edge.server import Limits, Server
from edge.signing import headers
from runtime.definitions.loading.catalog import Catalog
from runtime.inbox import inbox
from runtime.model.limits import Rate
from runtime.model.votes import RefusalCode, VoteVerdict
from runtime.services.caller_acts import CompensationApi
from runtime.services.callers import TriggerApi
from runtime.services.review_answers import ReviewAnswer
from runtime.services.signals import SignalService
from runtime.services.tasks import TaskService
from tests.bench import TENANT, Bench
from tests.integration.program_stage import Answer, Finished, command, environment, is_problem, settings_of
from tests.integration.runbooks_stage import Shelves, bench, ran, shelves
from tests.integration.test_cli import is_one_sentence
from tests.patience import MINUTE, until

__all__ = ["bench", "shelves"]

USED_BEFORE = "this id was used before, for something else: use a new id"


CALLER, SECRET = "portal-bot", "a-secret-of-the-bench-" * 2


@dataclass
class Caller:
    """The bench's agent, who signs what it sends."""

    bench: Bench
    url: str
    http: aiohttp.ClientSession

    async def may(self, **grants: Any) -> None:
        await self.bench.meddle("UPDATE actors SET grants = %s WHERE actor_id = %s", json.dumps(grants), CALLER)

    async def run(self, run_id: str) -> Answer:
        path = f"/v1/runs/{run_id}"
        signed = headers(CALLER, SECRET, int(self.bench.clock().timestamp()), "GET", path, b"")
        async with self.http.get(f"{self.url}{path}", headers=signed) as response:
            return Answer(response.status, response.headers, await response.json(content_type=None))

    async def send(self, path: str, **said: Any) -> Answer:
        body = json.dumps({"id": "w-1", "reason": "entered twice", **said}).encode()
        signed = headers(CALLER, SECRET, int(self.bench.clock().timestamp()), "POST", path, body)
        async with self.http.post(f"{self.url}{path}", data=body, headers=signed) as response:
            return Answer(response.status, response.headers, await response.json(content_type=None))


async def _ready() -> list[str]:
    return []


@pytest.fixture
async def caller(bench: Bench) -> AsyncIterator[Caller]:
    desk = TriggerApi(bench.engine, TENANT, Catalog({}, (), (), frozenset(), {}))
    signals, tasks = SignalService(bench.engine, TENANT), TaskService(bench.engine, TENANT)
    taking_back = CompensationApi(bench.engine, TENANT)
    refusals = Refusals(desk.put_refused, desk.now)
    api = Api(desk, signals, tasks, taking_back, {CALLER: SECRET}, Rate(1000.0, 1000), refusals)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(build_edge(_ready, api=api, slack=None), Limits(connections=50, seconds=MINUTE), headers=[])
    task = asyncio.create_task(server.serve([listener]))
    try:
        async with refusals.recorded(MINUTE), aiohttp.ClientSession() as http:
            yield Caller(bench, f"http://127.0.0.1:{listener.getsockname()[1]}", http)
    finally:
        server.should_exit = True
        await task
        listener.close()


async def _refused(bench: Bench, rule: str, subject: str, path: str) -> bool:
    """Return whether the tenant's chain says that the caller was refused."""
    query = "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'request.refused' AND leaf->'data'->>'rule' = %s"
    told = [row["leaf"] for row in await bench.rows(query, rule)]
    tried = [one for leaf in told if leaf["actor"] == {"id": CALLER, "kind": "agent"} for one in leaf["data"]["tried"]]
    return {"subject": subject, "path": path} in tried


async def test_a_run_is_canceled_and_whom_it_asked_is_told(bench: Bench, caller: Caller, shelves: Shelves) -> None:
    run_id = await ran(bench, "asking")
    await caller.may(cancels=["undo.asking"])
    answer = await caller.send(f"/v1/runs/{run_id}/cancel")
    assert (answer.status, answer.body["status"], answer.body["run_id"]) == (200, "applied", run_id)
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "canceled"
    assert (await bench.run(answer.body["withdrawn_in"]))["requested_by"] == CALLER
    assert [call.params["entry"] for call in shelves.take.calls] == ["e-asked"]


async def test_the_same_wish_sent_again_has_the_same_answer(bench: Bench, caller: Caller) -> None:
    run_id = await ran(bench, "asking")
    await caller.may(cancels=["undo.asking"])
    first, again = [await caller.send(f"/v1/runs/{run_id}/cancel") for _ in range(2)]
    assert first.body == again.body
    other = await caller.send(f"/v1/runs/{run_id}/cancel", reason="another")
    assert is_problem(other, 409, USED_BEFORE)
    late = await caller.send(f"/v1/runs/{run_id}/cancel", id="w-2")
    assert is_problem(late, 409, "the run has ended: canceled")


async def test_runs_that_are_meant_are_listed_and_then_canceled(bench: Bench, caller: Caller) -> None:
    runs = {(await bench.start("undo.asking", {}, ref=ref)).run_id for ref in ("a", "b")}
    await bench.settle()
    await caller.may(cancels=["undo.asking"])
    listed = await caller.send("/v1/runs/cancel", definition="asking", dry_run=True)
    assert {one["run_id"]: one["status"] for one in listed.body["runs"]} == dict.fromkeys(runs, "waiting")
    assert {(await bench.run(one))["status"] for one in runs} == {"waiting"}
    done = await caller.send("/v1/runs/cancel", definition="asking", status="waiting", dry_run=False)
    assert {one["run_id"]: one["status"] for one in done.body["runs"]} == dict.fromkeys(runs, "applied")
    assert {(await bench.run(one))["status"] for one in runs} == {"canceled"}


async def test_what_a_run_did_is_listed_and_then_undone(bench: Bench, caller: Caller, shelves: Shelves) -> None:
    run_id = await ran(bench, "three")
    await caller.may(undoes=["undo.three"])
    listed = await caller.send(f"/v1/runs/{run_id}/undo", dry_run=True)
    assert [item["step"] for item in listed.body["undone"]] == ["third", "first"]
    assert [(item["step"], item["why"]) for item in listed.body["left"]] == [("second", "irreversible")]
    assert (listed.body["undone_in"], shelves.take.calls) == (None, [])
    done = await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False)
    assert (done.body["undone"], done.body["left"]) == (listed.body["undone"], listed.body["left"])
    await bench.settle()
    assert (await bench.run(done.body["undone_in"]))["status"] == "succeeded"
    assert [call.params["place"] for call in shelves.take.calls] == ["third", "first"]


async def test_a_caller_who_speaks_for_people_wishes_for_one_of_them(bench: Bench, caller: Caller) -> None:
    run_id = await ran(bench, "three")
    await caller.may(undoes=["undo.three"], on_behalf=True, answers_for=["rita", "ann"])
    nobody = await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False)
    assert is_problem(nobody, 422, f"on_behalf_of: missing; {CALLER} speaks for people")
    other = await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False, on_behalf_of="omar")
    assert is_problem(other, 403, f"{CALLER} may not answer for omar")
    done = await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False, on_behalf_of="rita")
    assert (await bench.run(done.body["undone_in"]))["requested_by"] == "rita"


async def test_a_run_is_stopped_in_the_name_of_people_whom_policy_lets_stop_it(bench: Bench, caller: Caller) -> None:
    run_id = await ran(bench, "asking")
    await caller.may(cancels=["undo.asking"], on_behalf=True, answers_for=["rita", "ann"])
    for path in (f"/v1/runs/{run_id}/cancel", "/v1/runs/cancel"):
        meant = {"definition": "asking", "dry_run": False} if path == "/v1/runs/cancel" else {}
        other = await caller.send(path, on_behalf_of="omar", **meant)
        assert is_problem(other, 403, f"{CALLER} may not answer for omar")
    denied = await caller.send(f"/v1/runs/{run_id}/cancel", on_behalf_of="ann")
    assert is_problem(denied, 403, "denied by policy: Only the tenant's operators may do this")
    await until(lambda: _refused(bench, "act.denied", "ann", f"/v1/runs/{run_id}/cancel"))
    every = await caller.send("/v1/runs/cancel", id="w-2", definition="asking", dry_run=False, on_behalf_of="ann")
    assert [one["status"] for one in every.body["runs"]] == ["refused"]
    await until(lambda: _refused(bench, "act.denied", "ann", "/v1/runs/cancel"))
    assert (await bench.run(run_id))["status"] == "waiting"
    done = await caller.send(f"/v1/runs/{run_id}/cancel", id="w-3", on_behalf_of="rita")
    assert done.body["status"] == "applied"


async def test_an_id_that_was_used_for_another_wish_is_refused_for_each_run_that_is_meant(
    bench: Bench, caller: Caller
) -> None:
    await ran(bench, "asking")
    await caller.may(cancels=["undo.asking"], on_behalf=True, answers_for=["rita", "ann"])
    meant = {"definition": "asking", "dry_run": False}
    await caller.send("/v1/runs/cancel", on_behalf_of="ann", **meant)
    again = await caller.send("/v1/runs/cancel", on_behalf_of="ann", reason="entered thrice", **meant)
    assert again.status == 200
    ((status, reason),) = [(one["status"], one["reason"]) for one in again.body["runs"]]
    assert (status, reason) == ("refused", USED_BEFORE)


async def test_who_brought_an_undo_brings_no_answer_to_what_people_are_asked_in_it(
    bench: Bench, caller: Caller
) -> None:
    run_id = await ran(bench, "twelve")
    await bench.click("ann", await bench.approval_id(), "reject", "not wanted")
    await bench.settle()
    await caller.may(undoes=["undo.twelve"], on_behalf=True, answers_for=["rita", "ann"])
    undo = (await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False, on_behalf_of="rita")).body["undone_in"]
    await bench.settle()
    (run,) = await bench.rows("SELECT requested_by, submitted_by FROM runs WHERE run_id = %s", undo)
    assert run == {"requested_by": "rita", "submitted_by": CALLER}
    await bench.click("ann", await bench.approval_id(), "reject", "it has been read by then")
    await bench.settle()
    task = await bench.approval_id("task")
    view = await bench.desk.approval(task)
    assert view is not None
    desk, said = (
        TaskService(bench.engine, TENANT),
        ReviewAnswer(task, "omar", VoteVerdict.APPROVE, "sent a letter", view.stamp),
    )
    assert (await desk.bring(CALLER, "a-1", said))["code"] == RefusalCode.BROUGHT
    assert (await desk.bring("other-portal", "a-2", said))["counted"]


@pytest.mark.parametrize("grants", [{}, {"triggers": ["undo.three"]}, {"cancels": ["other"], "undoes": ["other"]}])
async def test_who_may_not_take_back_finds_no_run(
    bench: Bench, caller: Caller, shelves: Shelves, grants: dict[str, Any]
) -> None:
    run_id = await ran(bench, "asking")
    await caller.may(**grants)
    wishes: list[tuple[str, dict[str, Any]]] = [
        ("cancel", {}),
        ("undo", {"dry_run": False}),
        ("undo", {"dry_run": True}),
    ]
    for path, more in wishes:
        assert is_problem(await caller.send(f"/v1/runs/{run_id}/{path}", **more), 404, f"no run {run_id}")
    every = await caller.send("/v1/runs/cancel", definition="asking", dry_run=False)
    assert every.body == {"runs": []}
    assert (await bench.run(run_id))["status"] == "waiting"
    assert shelves.take.calls == []


@pytest.mark.parametrize(
    ("path", "said", "wrong"),
    [
        ("cancel", {"dry_run": True}, "name a reference or a definition"),
        ("cancel", {"definition": "asking"}, "dry_run: Field required"),
        ("cancel", {"definition": "a", "dry_run": True, "started_after": "2026-01-05T09:00:00"}, "offset from UTC"),
        ("cancel", {"definition": "a", "dry_run": True, "status": "happy"}, "status: Input should be"),
        ("run_0/cancel", {"reason": ""}, "reason: String should have at least 1 character"),
        ("run_0/undo", {"dry_run": True, "steps": "x"}, "steps: Extra inputs are not permitted"),
    ],
)
async def test_a_wish_that_is_none_is_refused_by_its_faults(
    caller: Caller, path: str, said: dict[str, Any], wrong: str
) -> None:
    await caller.may(cancels=["undo.asking"], undoes=["undo.asking"])
    answer = await caller.send(f"/v1/runs/{path}", **said)
    assert answer.status == 422
    assert wrong in answer.body["detail"]


async def test_a_run_that_undoes_is_seen_by_who_may_see_the_one_that_it_undoes(bench: Bench, caller: Caller) -> None:
    run_id = await ran(bench, "three")
    await caller.may(undoes=["undo.three"], triggers=["undo.three"])
    undo = (await caller.send(f"/v1/runs/{run_id}/undo", dry_run=False)).body["undone_in"]
    assert (await caller.run(undo)).body["trigger_type"] == "countersign.undo"
    await caller.may(undoes=["undo.three"], triggers=["undo.asking", "countersign.undo"])
    assert is_problem(await caller.run(undo), 404, f"no run {undo}")


BY = ("--as", "omar", "--reason", "entered twice")


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def _act(bench: Bench, env: dict[str, str], *words: str, by: Sequence[str] = BY) -> Finished:
    """Run a command that puts acts on record, and apply them here, as a worker would."""
    acting = asyncio.create_task(command(*words, *by, env=env))
    while not acting.done():
        for row in await bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(bench.engine, row["notification_id"])
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def _standing(env: dict[str, str], *words: str) -> dict[str, Any]:
    listed = await command(*words, *BY, "--json", env=env)
    assert (listed.code, listed.err) == (0, "")
    return {item["step"]: item["standing"] for item in json.loads(listed.out)["items"]}


async def test_an_undo_is_listed_with_the_irreversible_before_it_is_done(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    listed = await command("undo", run_id, *BY, env=env)
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.splitlines()[0].split() == ["step", "what", "target", "standing", "why"]
    assert listed.out.endswith("2 of 3 can be undone; nothing was done: add --yes\n")
    assert await _standing(env, "undo", run_id) == {"third": "possible", "second": "irreversible", "first": "possible"}
    assert await bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []
    assert shelves.take.calls == []


async def test_an_undo_is_done_with_yes_and_says_by_which_run(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    done = await _act(bench, env, "undo", run_id, "--yes")
    (undo,) = await bench.rows("SELECT run_id, requested_by FROM runs WHERE trigger_type = 'countersign.undo'")
    assert (done.code, undo["requested_by"]) == (0, "omar")
    assert done.out.endswith(f"2 are undone by {undo['run_id']}\n")
    again = await _act(bench, env, "undo", run_id, "--step", "third", "--yes")
    assert is_one_sentence(again, f"nothing was done: nothing of it can be undone; third: {undo['run_id']} is at it")
    listed = await command("undo", run_id, *BY, env=env)
    assert listed.out.endswith("0 of 3 can be undone; nothing was done\n"), "there is nothing to confirm"
    await bench.settle()
    assert len(shelves.take.calls) == 2


async def test_of_a_run_that_policy_does_not_let_one_stop_nothing_is_undone(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    told = await _act(bench, env, "cancel", run_id, "--undo", "--yes", by=("--as", "ann", "--reason", "mine"))
    assert is_one_sentence(told, "nothing was done: denied by policy: Only the tenant's operators may do this")
    assert (await bench.run(run_id))["status"] == "waiting"
    assert shelves.take.calls == []


async def test_a_run_is_canceled_and_undone_in_one_go(bench: Bench, env: dict[str, str], shelves: Shelves) -> None:
    run_id = await ran(bench, "asking")
    assert await _standing(env, "cancel", run_id, "--undo") == {"asked": "possible", "kept": "possible"}
    done = await _act(bench, env, "cancel", run_id, "--undo", "--yes")
    assert (done.code, done.err) == (0, "")
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "canceled"
    assert {call.params["entry"] for call in shelves.take.calls} == {"e-asked", "e-kept"}


async def test_runs_are_chosen_by_reference_or_runbook_and_canceled_each_by_an_act_of_its_own(
    bench: Bench, env: dict[str, str]
) -> None:
    first = (await bench.start("undo.asking", {}, ref="case-1")).run_id
    bench.clock.move(seconds=1)
    second = (await bench.start("undo.asking", {}, ref="case-2")).run_id
    other = (await bench.start("undo.three", {}, ref="case-1")).run_id
    await bench.settle()  # which ends the other
    listed = await command("cancel", "--definition", "asking", *BY, "--json", env=env)
    assert [row["run_id"] for row in json.loads(listed.out)["runs"]] == [first, second]
    told = await command("cancel", "--reference", "case-1", *BY, env=env)
    assert first in told.out
    assert other not in told.out
    assert told.out.endswith("1 run would be canceled; nothing was done: add --yes\n")
    done = await _act(bench, env, "cancel", "--definition", "asking", "--status", "waiting", "--yes", "--json")
    assert [(row["run_id"], row["status"]) for row in json.loads(done.out)["runs"]] == [
        (first, "applied"),
        (second, "applied"),
    ]
    assert {(await bench.run(one))["status"] for one in (first, second)} == {"canceled"}
    acts = await bench.rows("SELECT payload ->> 'run_id' AS run_id FROM notifications WHERE kind = 'cancel'")
    assert {row["run_id"] for row in acts} == {first, second}


async def test_moments_narrow_what_is_canceled(bench: Bench, env: dict[str, str]) -> None:
    early = (await bench.start("undo.asking", {}, ref="early")).run_id
    bench.clock.move(days=2)
    late = (await bench.start("undo.asking", {}, ref="late")).run_id

    async def listed(*words: str) -> list[str]:
        found = await command("cancel", "--definition", "asking", *words, *BY, "--json", env=env)
        return [row["run_id"] for row in json.loads(found.out)["runs"]]

    assert await listed("--until", "2026-01-05") == [early]
    assert await listed("--since", "2026-01-06T00:00:00+0000") == [late]


async def test_whoever_cancels_names_a_run_or_what_the_runs_have_in_common(env: dict[str, str]) -> None:
    for words, said in (
        ((), "name a RUN, or the runs of a --reference or a --definition"),
        (("run_0", "--definition", "asking"), "RUN takes no filter"),
        (("--definition", "asking", "--undo"), "--undo and --version go with one RUN"),
        (("--definition", "asking", "--version", "3"), "--undo and --version go with one RUN"),
    ):
        finished = await command("cancel", *words, *BY, env=env)
        assert finished.code == 2
        assert said in " ".join(finished.err.replace("│", " ").split())


async def test_a_run_that_is_not_there_cannot_be_undone(bench: Bench, env: dict[str, str]) -> None:
    assert is_one_sentence(await command("undo", "run_0", *BY, env=env), "there is no run run_0")
    assert is_one_sentence(await _act(bench, env, "undo", "run_0", "--yes"), "nothing was done: there is no run run_0")
