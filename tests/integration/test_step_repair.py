"""A step that fails may wait for a person, who tries it anew, supplies its result, skips it or ends the run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import PolicyUnavailableError, Question, Verdict
from policy.operator_contract import Authorization, OperatorQuestion
from runtime.clock import utc_now
from runtime.handlers import OutcomeUnknownError, RefusedError
from runtime.inbox import inbox
from runtime.model.run import RepairAction
from runtime.services.operator import OperatorService, StepRepair, UnknownStepError
from runtime.store import notifications
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.test_replay import replayed
from tests.opa_server import Between
from tests.patience import MINUTE

NODES = Path(__file__).parents[1] / "packs/nodes"
HEAD = (
    "name: held\nversion: 1\ntitle: T\ntrigger: { type: bench.held, schema: {} }\non_error: needs_attention\nsteps:\n"
)
NOTE = "  - { id: note, verb: note, params: { incident: I1, text: a } }\n"
AFTER = '  - { id: after, verb: note, needs: [note], params: { incident: I1, text: "b ${steps.note.status}" } }\n'
LOOK = "  - { id: look, verb: look }\n"
VALUE = '  - { id: after, verb: note, params: { incident: I1, text: "${string(steps.look.result.value)}" } }\n'


@dataclass
class Stage:
    """A bench with one run, and an operator's desk."""

    bench: Bench
    desk: OperatorService
    run_id: str
    env: dict[str, str]

    async def status(self) -> dict[str, str]:
        run = await self.bench.run(self.run_id)
        return {"run": run["status"], **{path: step["status"] for path, step in run["steps"].items()}}

    async def act(self, act: str, step: str = "note", by: str = "omar", **more: Any) -> Mapping[str, Any]:
        repair = StepRepair(self.run_id, step, RepairAction(act), more.pop("reason", "seen"), **more)
        facts = await inbox.apply(self.bench.engine, await self.desk.repair_step(by, repair))
        await self.bench.settle()
        return facts

    async def command(self, *words: str) -> Finished:
        """Run a command that puts an act on record, and apply it here, as a worker would."""
        acting = asyncio.create_task(command(*words, env=self.env))
        received: list[str] = []
        now = utc_now() + timedelta(minutes=1)
        while not received and not acting.done():
            await asyncio.sleep(0.05)
            async with self.bench.engine.pool.connection() as conn:
                received = await notifications.claim(conn, TENANT, now, now + timedelta(minutes=1), 1)
        for notification_id in received:
            await inbox.apply(self.bench.engine, notification_id)
        await self.bench.settle()
        return await acting

    async def leaves(self, event: str) -> list[dict[str, Any]]:
        query = "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = %s ORDER BY seq"
        return [row["leaf"] for row in await self.bench.rows(query, self.run_id, event)]


Opener = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def started(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> Opener:
    """Return what starts a run of a runbook all of whose errors hold, on a bench of its own."""

    @asynccontextmanager
    async def of(steps: str, by: str = "rita") -> AsyncIterator[Stage]:
        (tmp_path / "runbooks").mkdir()
        (tmp_path / "runbooks" / "stage.yaml").write_text(HEAD + steps, encoding="utf-8")
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK, NODES, tmp_path], targets.handlers()) as bench,
        ):
            run_id = (await bench.start("bench.held", {}, by=by)).run_id
            await bench.settle()
            desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
            yield Stage(bench, desk, run_id, environment(settings_of(dsn, opa.url, tmp_path)))
            assert (await replayed(bench, run_id)).difference is None

    return of


async def test_an_error_holds_its_run_and_operators_are_told(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no such incident")]
    async with started(NOTE + AFTER) as stage:
        assert await stage.status() == {"run": "needs_attention", "note": "needs_attention", "after": "pending"}
        (leaf,) = await stage.leaves("step.needs_attention")
        assert leaf["data"] == {"error": "no such incident", "code": "refused"}
        told = [one["text"] for one in stage.bench.chat.said("direct_message") if one["user"] == "UOMAR"]
        why = "note of T (1) failed and needs attention: no such incident (refused)."
        assert told == [f"{why} Choose how it continues, here or in this app's Home tab."]
        await stage.bench.later(days=400)
        assert (await stage.status())["run"] == "needs_attention"


async def test_what_is_said_of_a_run_names_it_by_the_reference_that_it_gave_itself(
    started: Opener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("no such incident")]
    named = "  - { id: named, reference: INC-7 }\n" + NOTE.replace("note,", "note, needs: [named],", 1)
    async with started(named) as stage:
        told = [one["text"] for one in stage.bench.chat.said("direct_message") if one["user"] == "UOMAR"]
        assert told[0].startswith("note of T (INC-7) failed")


async def test_a_held_write_is_tried_anew_under_the_same_key_and_the_run_goes_on(
    started: Opener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("no such incident")]
    async with started(NOTE + AFTER) as stage:
        assert (await stage.act("retry", reason="it is there now"))["status"] == "applied"
        assert await stage.status() == {"run": "succeeded", "note": "succeeded", "after": "succeeded"}
        first, second, _ = targets.note.calls
        assert first.key == second.key
        (leaf,) = await stage.leaves("repair.decided")
        assert leaf["actor"] == {"id": "omar", "kind": "person"}
        assert (leaf["data"]["act"], leaf["data"]["reason"]) == ("retry", "it is there now")
        assert leaf["data"]["policy"].keys() == {"decision_id", "digest"}
        outcomes = "SELECT outcome FROM receipts WHERE run_id = %s AND document->>'step' = 'note' ORDER BY seq"
        assert [row["outcome"] for row in await stage.bench.rows(outcomes, stage.run_id)] == ["failure", "success"]


async def test_a_held_read_has_all_its_attempts_and_its_time_again(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK + VALUE) as stage:
        stage.bench.clock.move(days=3)  # longer than a read is tried
        targets.look.answers = [TimeoutError(), TimeoutError()]
        assert (await stage.act("retry", "look"))["status"] == "applied"
        for _ in range(2):
            await stage.bench.later(minutes=5)
        assert (await stage.status())["run"] == "succeeded"
        assert len(targets.look.calls) == 4


async def test_a_retry_that_fails_again_is_held_again(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no"), RefusedError("still no")]
    async with started(NOTE) as stage:
        await stage.act("retry")
        assert await stage.status() == {"run": "needs_attention", "note": "needs_attention"}
        assert [leaf["data"]["error"] for leaf in await stage.leaves("step.needs_attention")] == ["no", "still no"]
        await stage.act("retry")
        assert (await stage.status())["run"] == "succeeded"


async def test_what_was_done_and_gave_a_wrong_result_is_never_done_twice(started: Opener, targets: Targets) -> None:
    async with started("  - { id: ask, verb: odd, params: { incident: I1 } }\n") as stage:
        assert (await stage.status())["ask"] == "needs_attention"
        await stage.act("retry", "ask")
        assert (await stage.status())["ask"] == "needs_attention"
        assert len(targets.note.calls) == 1
        facts = await stage.act("supply", "ask", result={"id": 7})
        assert facts["status"] == "applied"
        assert (await stage.status())["run"] == "succeeded"


async def test_a_request_without_an_answer_is_made_again_under_a_key_of_its_own(
    started: Opener, targets: Targets
) -> None:
    async with started("  - { id: ask, verb: await_answer, params: { case: C1 } }\n") as stage:
        await stage.bench.later(days=15)
        assert await stage.status() == {"run": "needs_attention", "ask": "needs_attention"}
        assert (await stage.act("retry", "ask"))["status"] == "applied"
        assert await stage.status() == {"run": "waiting", "ask": "parked"}
        first, second = (call.key for call in targets.portal.calls)
        assert second == f"{first}#2"
        await stage.bench.complete("acme:await_answer:C1", {"answer": "yes"})
        await stage.bench.settle()
        assert (await stage.status())["run"] == "succeeded"


async def test_a_supplied_result_fits_the_verb_and_is_on_record_with_its_giver(
    started: Opener, targets: Targets
) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK + VALUE) as stage:
        unfit = await stage.act("supply", "look", result={"value": "many"})
        assert (unfit["status"], unfit["reason"]) == ("refused", "result: /value: 'many' is not of type 'integer'")
        assert (await stage.status())["run"] == "needs_attention"
        assert (await stage.leaves("notification.refused"))[0]["data"]["code"] == "act.unfit"
        assert (await stage.act("supply", "look", result={"value": 4}))["status"] == "applied"
        assert (await stage.status())["run"] == "succeeded"
        assert targets.note.calls[0].params["text"] == "4"
        (settled,) = await stage.leaves("repair.decided")
        succeeded = (await stage.leaves("step.succeeded"))[0]
        assert settled["data"]["result"] == succeeded["data"]["result"]


async def test_a_supplied_result_that_the_runs_state_cannot_keep_is_refused(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("closed")]
    keeping = NOTE.removesuffix(" }\n") + ", result_key: kept }\n"
    state = "state: { properties: { kept: { properties: { number: { type: integer } } } } }\n"
    async with started(keeping + state) as stage:
        unfit = await stage.act("supply", result={"number": "many"})
        assert (unfit["status"], unfit["code"]) == ("refused", "act.unfit")
        assert unfit["reason"] == "state: /kept/number: 'many' is not of type 'integer'"
        assert (await stage.act("supply", result={"number": 7}))["status"] == "applied"
        assert (await stage.bench.run(stage.run_id))["state"] == {"kept": {"number": 7}}


async def test_a_skipped_step_is_skipped_with_its_reason_and_what_needs_it_too(
    started: Opener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE + AFTER) as stage:
        assert (await stage.act("skip", reason="not worth it"))["status"] == "applied"
        assert await stage.status() == {"run": "succeeded", "note": "skipped", "after": "skipped"}
        assert (await stage.leaves("step.skipped"))[0]["data"]["error"] == "omar: not worth it"


async def test_a_person_may_end_the_run(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE + AFTER) as stage:
        assert (await stage.act("end", reason="the client left"))["status"] == "applied"
        assert await stage.status() == {"run": "failed_terminal", "note": "failed_terminal", "after": "canceled"}
        assert (await stage.bench.run(stage.run_id))["error"] == "note: omar: the client left"


async def test_other_branches_go_on_while_a_step_is_held(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("closed")]
    pause = "  - { id: pause, wait: { for: P1D } }\n"
    beside = "  - { id: beside, verb: note, needs: [pause], params: { incident: I1, text: b } }\n"
    async with started(LOOK + pause + beside) as stage:
        assert await stage.status() == {
            "run": "needs_attention",
            "look": "needs_attention",
            "pause": "parked",
            "beside": "pending",
        }
        await stage.bench.later(days=1)
        assert await stage.status() == {
            "run": "needs_attention",
            "look": "needs_attention",
            "pause": "succeeded",
            "beside": "succeeded",
        }


async def test_what_people_reject_or_policy_denies_is_no_error_and_fails(started: Opener) -> None:
    async with started("  - { id: file, verb: file, params: { company: ACME, text: r } }\n") as stage:
        await stage.bench.click("ann", await stage.bench.approval_id(), "reject")
        await stage.bench.settle()
        assert await stage.status() == {"run": "failed_terminal", "file": "failed_terminal"}


async def test_an_act_loses_if_somebody_has_acted_since_it_was_looked_at(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no"), RefusedError("no")]
    async with started(NOTE) as stage:
        assert (await stage.act("retry", version=0))["status"] == "applied"
        late = await stage.act("skip", version=0)
        assert late["status"] == "stale"
        assert late["reason"] == "note has moved on: it was at version 0, and is at 1"
        assert (await stage.status())["note"] == "needs_attention"
        assert (await stage.act("skip", version=1))["status"] == "applied"


async def test_only_the_operators_may_act(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE) as stage:
        for act in RepairAction:
            facts = await stage.act(act, by="ann")
            assert facts["status"] == "refused"
            assert facts["reason"] == "denied by policy: Only the tenant's operators may do this"
        assert (await stage.status())["note"] == "needs_attention"
        assert {leaf["actor"]["id"] for leaf in await stage.leaves("notification.refused")} == {"ann"}


@pytest.mark.parametrize("act", ["supply", "skip"])
async def test_who_asked_for_the_run_neither_supplies_nor_skips_what_others_have_to_sign(
    started: Opener, act: str
) -> None:
    async with started("  - { id: file, verb: file, params: { company: ACME, text: r } }\n", by="omar") as stage:
        await stage.bench.later(hours=9)
        assert await stage.status() == {"run": "needs_attention", "file": "needs_attention"}
        facts = await stage.act(act, "file", result={})
        assert facts["status"] == "refused"
        assert "The requester may not supply or skip" in facts["reason"]
        assert (await stage.act("retry", "file"))["status"] == "applied"
        assert await stage.status() == {"run": "waiting_approval", "file": "waiting_approval"}


async def test_a_step_that_is_not_held_is_left_alone(started: Opener) -> None:
    async with started(NOTE) as stage:
        facts = await stage.act("skip")
        assert (facts["status"], facts["reason"]) == ("stale", "note does not need attention: succeeded")
        with pytest.raises(UnknownStepError, match="there is no step other"):
            await stage.act("skip", "other")


async def test_a_step_is_not_tried_anew_while_an_attempt_of_it_may_have_acted(
    started: Opener, targets: Targets
) -> None:
    targets.portal.answers = [OutcomeUnknownError("reset")]
    async with started("  - { id: ask, verb: await_answer, params: { case: C1 } }\n") as stage:
        await stage.bench.complete("acme:await_answer:C1", None, outcome="failed", error="closed")
        await stage.bench.settle()
        assert (await stage.status())["ask"] == "needs_attention"
        facts = await stage.act("retry", "ask")
        assert facts["reason"] == "an attempt of it is still under way, or in doubt"


async def test_a_canceled_run_takes_its_held_step_with_it(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE) as stage:
        await inbox.apply(stage.bench.engine, await stage.desk.cancel("omar", stage.run_id, "x", None))
        assert await stage.status() == {"run": "canceled", "note": "canceled"}


class Silent(Between):
    """A policy that says nothing of what operators do."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        del question
        return verdict

    async def judge(self, question: OperatorQuestion) -> Authorization:
        raise PolicyUnavailableError(f"away, {question.act}")


async def test_without_a_word_of_policy_nothing_is_done_until_it_has_one(started: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE) as stage:
        recorded = await stage.desk.repair_step("omar", StepRepair(stage.run_id, "note", RepairAction.SKIP, "seen"))
        silent = replace(stage.bench.engine, policy=Silent(stage.bench.engine.policy))
        assert (await inbox.apply(silent, recorded))["status"] == "received"
        assert (await stage.status())["note"] == "needs_attention"
        assert (await inbox.apply(stage.bench.engine, recorded))["status"] == "applied"
        assert (await stage.status())["note"] == "skipped"


@pytest.mark.parametrize("act", ["supply", "retry"])
async def test_what_people_are_asked_is_answered_by_them(started: Opener, act: str) -> None:
    async with started(
        "  - { id: ask, verb: review, params: { title: Review, groups: [compliance], case: C1 } }\n"
    ) as stage:
        await stage.bench.later(days=30)
        assert (await stage.status())["ask"] == "needs_attention"
        facts = await stage.act(act, "ask", result={"decision": "approved", "reviewer": "omar", "reason": "mine"})
        if act == "supply":
            assert "Only the people asked may answer" in facts["reason"]
            return
        await stage.bench.click("ann", await stage.bench.approval_id("task"), reason="looked at it")
        await stage.bench.settle()
        assert await stage.status() == {"run": "succeeded", "ask": "succeeded"}
