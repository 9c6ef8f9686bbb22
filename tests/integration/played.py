"""Genuine runs of every ending, on real parts, to be told as they are or bent."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from aiohttp.test_utils import TestServer
from countersign_incident_triage import handlers as incident_handlers
from countersign_incident_triage import standins as incident_standins
from countersign_incident_triage.standins import VPN_INCIDENT

from policy.client import OpaEngine
from receipts.signing import SigningKey
from runtime.handlers import OutcomeUnknownError, RefusedError
from runtime.inbox import inbox
from runtime.model.person import SlackAccount
from runtime.model.routing import Fallback
from runtime.model.run import RepairAction
from runtime.model.votes import CardAct, RefusalCode, VoteVerdict
from runtime.services.operator import OperatorService
from runtime.services.review_answers import ReviewAnswer
from runtime.services.sealing import SealingService, Story
from runtime.services.tasks import TaskService
from runtime.services.unknown_actors import UnknownActor, UnknownActors
from tests.bench import ROUTING, TENANT, Bench, Target, open_bench
from tests.databases import fresh_database
from tests.integration.acts_stage import Register, asked, delegate, edit, mend, play_waiting, request_of, say
from tests.integration.budgets_stage import PLAYED, play_refunds, refunds_bench
from tests.integration.conftest import PACK, PATIENCE, Targets
from tests.integration.console_words import answer_in_console
from tests.integration.packs_stage import PACK as INCIDENTS
from tests.integration.packs_stage import Case, Desk, open_case
from tests.integration.policies_stage import (
    approve_filing,
    break_glass,
    deny,
    filing,
    glass_bench,
    glass_policy,
    load_directory,
    open_vault,
    pausing_bench,
    play_paused,
    play_vault,
    play_vault_alone,
    windows_bench,
)
from tests.patience import MINUTE

NODES, EDITING = PACK.parent / "nodes", PACK.parent / "editing"
FILE = {"company": "ACME", "text": "report"}


async def play(postgres: str, opa_url: str, key: SigningKey) -> Mapping[str, Story]:
    """Return the stories of genuine runs, by what became of them."""
    async with OpaEngine(opa_url, timeout=MINUTE) as policy:
        return {
            **await _play_bench(postgres, policy, key),
            **await _play_fallback(postgres, policy, key),
            **await _play_onboarding(postgres, policy, key),
            **await _play_incident(postgres, policy, key),
            **await _play_nodes(postgres, policy, key),
            **await _play_patience(postgres, policy, key),
            **await _play_edits(postgres, policy, key),
            **await _play_glass(postgres, key),
            **await _play_windows(postgres, key),
            **await _play_paused(postgres, key),
            **await _play_budgets(postgres, key),
            **await _play_vault(postgres, policy, key),
            **await _play_vault_alone(postgres, key),
        }


async def _play_bench(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    targets = Targets.fresh()
    async with fresh_database(postgres) as dsn, open_bench(dsn, policy, [PACK], targets.handlers()) as bench:
        played = {**await _filings(bench, targets), **await _answered(bench), **await _others(bench)}
        played["proven"] = await _proven(bench, targets)
        played["restored"] = await _restored(bench)
        played["denied"] = await deny(bench, targets)
        return await stories_of(key, bench, played)


async def _play_fallback(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    """Play a filing that too few of those asked could decide, so that who is next in line did with one of them."""
    routing = replace(ROUTING, fallback=Fallback(("senior-compliance",), ("C0DESK",)))
    async with (
        fresh_database(postgres) as dsn,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers(), routing=routing) as bench,
    ):
        await bench.meddle("DELETE FROM slack_accounts WHERE actor_id IN ('ben', 'cat')")
        run_id = (await bench.start("bench.file", FILE)).run_id
        await bench.settle()
        for person in ("ann", "sue"):
            assert (await bench.click(person, await bench.approval_id())).counted
        await bench.settle()
        return await stories_of(key, bench, {"fell_back": run_id})


async def _play_glass(postgres: str, key: SigningKey) -> dict[str, Story]:
    """Play a filing for which one person did without the others, and another found that right."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_database(postgres) as dsn, glass_bench(dsn, Targets.fresh(), Path(folder)) as bench:
            run_id, approval = await filing(bench)
            assert (await break_glass(bench, "ivy", approval)).counted
            await bench.settle()
            assert (await bench.click("sue", await bench.approval_id("afterwards"))).counted
            return await stories_of(key, bench, {"glass": run_id})


async def _play_windows(postgres: str, key: SigningKey) -> dict[str, Story]:
    """Play a filing that was approved on a Monday, and carried out on the Tuesday, as policy wants it."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_database(postgres) as dsn, windows_bench(dsn, Targets.fresh(), Path(folder)) as bench:
            run_id = await approve_filing(bench)
            await bench.later(days=1)
            return await stories_of(key, bench, {"windowed": run_id})


async def _play_budgets(postgres: str, key: SigningKey) -> dict[str, Story]:
    """Play refunds within budgets."""
    target = Target()
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_database(postgres) as dsn, refunds_bench(dsn, Path(folder), PLAYED, target) as bench:
            return await stories_of(key, bench, await play_refunds(bench, target))


async def _play_paused(postgres: str, key: SigningKey) -> dict[str, Story]:
    """Play filings whose clock stood still."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_database(postgres) as dsn, pausing_bench(dsn, Targets.fresh(), Path(folder)) as bench:
            return await stories_of(key, bench, await play_paused(bench))


async def _play_onboarding(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    async with fresh_database(postgres) as dsn, open_case(dsn, policy) as case:
        return await stories_of(key, case.bench, {"kyc": await _onboarded(case)})


async def _play_incident(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    async with fresh_database(postgres) as dsn, TestServer(incident_standins.build()) as server:
        url = str(server.make_url("")).rstrip("/")
        offered = incident_handlers.handlers(incident_standins.settings(url))
        async with open_bench(dsn, policy, [INCIDENTS], offered) as bench:
            run_id = await Desk(bench, url).start(VPN_INCIDENT, "1")
            await bench.settle()
            return await stories_of(key, bench, {"incident": run_id})


async def _play_vault(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    async with fresh_database(postgres) as dsn, open_vault(dsn, policy) as bench:
        return await stories_of(key, bench, {"signed": await play_vault(bench)})


async def _play_vault_alone(postgres: str, key: SigningKey) -> dict[str, Story]:
    """Play access for which one person did without the others, and signed that with a passkey."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            fresh_database(postgres) as dsn,
            glass_policy(Path(folder), "access_vault") as policy,
            open_vault(dsn, policy) as bench,
        ):
            return await stories_of(key, bench, {"signed_alone": await play_vault_alone(bench)})


async def _play_patience(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    """Play a review that others gave after its time was prolonged, two that nobody gave, and a question in vain."""
    async with (
        fresh_database(postgres) as dsn,
        open_bench(dsn, policy, [PATIENCE], Targets.fresh().handlers()) as bench,
    ):
        run_ids = {ref: (await bench.start("patience.review", {}, ref)).run_id for ref in ("prolonged", "unreviewed")}
        run_ids["asked_here"] = (await bench.start("patience.here", {})).run_id
        run_ids["asked_longer"] = (await bench.start("patience.ask", {})).run_id
        run_ids["until"] = (await bench.start("patience.until", {"due": "2026-01-08T09:00:00Z"})).run_id
        await bench.settle()
        for day in range(1, 19):
            await bench.later(days=1)
            if day == 8:
                rows = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_ids["prolonged"])
                assert (await bench.click("sue", rows[0]["approval_id"])).counted
        return await stories_of(key, bench, run_ids)


async def _play_edits(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    """Play a filing that two edited before others approved it, and one that was canceled when it had been edited."""
    targets = Targets(Target(), Target(), Register(), Target())
    async with fresh_database(postgres) as dsn, open_bench(dsn, policy, [PACK, EDITING], targets.handlers()) as bench:
        first = await asked(bench, "edited")
        run_id = (await bench.rows("SELECT run_id FROM approvals"))[0]["run_id"]
        assert (await bench.click("ben", first)).counted
        assert await edit(bench, "cat", first, {"copies": 4, "urgent": True}) is None
        await bench.settle()
        second = await request_of(bench, run_id)
        await bench.show(second)
        for person in ("ann", "ben"):
            assert (await bench.click(person, second)).counted
        await bench.settle()
        return await stories_of(key, bench, {"edited": run_id, "edited_twice": await _edited_twice(bench)})


async def _edited_twice(bench: Bench) -> str:
    """Play a filing that was edited to and fro, and then rejected."""
    first = await asked(bench, "twice")
    (row,) = await bench.rows("SELECT run_id FROM approvals WHERE approval_id = %s", first)
    assert await edit(bench, "ann", first, {"copies": 4}) is None
    await bench.later(minutes=1)
    assert await edit(bench, "ben", await request_of(bench, row["run_id"]), {"copies": 10}) is None
    await bench.later(minutes=1)
    last = await request_of(bench, row["run_id"])
    assert (await bench.click("cat", last, "reject", "not at all")).counted
    await bench.settle()
    return str(row["run_id"])


async def _play_nodes(postgres: str, policy: OpaEngine, key: SigningKey) -> dict[str, Story]:
    targets = Targets.fresh()
    async with fresh_database(postgres) as dsn, open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as bench:
        played = {
            **await play_nodes(bench, targets),
            **await play_repaired(bench, targets),
            **await play_waiting(bench),
        }
        return await stories_of(key, bench, played)


async def stories_of(key: SigningKey, bench: Bench, run_ids: Mapping[str, str]) -> dict[str, Story]:
    desk = SealingService(bench.engine)
    while await desk.next_bundles(timedelta(minutes=2), key, [key.public.key_id]):
        pass
    return {name: await desk.story(run_id) for name, run_id in run_ids.items()}


async def _filings(bench: Bench, targets: Targets) -> dict[str, str]:
    """Play filings that were approved, rejected, not decided in time, in doubt, canceled, and signed by a delegate."""
    run_ids = {}
    await delegate(bench, "ann", "sam")
    for name in ("filed", "rejected", "doubt", "canceled", "expired", "delegated", "consoled"):
        run_ids[name] = (await bench.start("bench.file", FILE, ref=name)).run_id
        await bench.settle()
        approval = await bench.approval_id()
        match name:
            case "rejected":
                assert (await bench.click("ann", approval, "reject", "not like this")).counted
            case "canceled":
                operator = OperatorService(bench.engine.pool, bench.engine.clock, "acme")
                stranger = UnknownActor(SlackAccount("T0OTHER", "U0EXT"), RefusalCode.OTHER_TEAM, "req-strange")
                await UnknownActors(bench.engine, TENANT).on_card(stranger, approval, "undo")
                for person in ("ann", "omar"):  # ann may not
                    await inbox.apply(bench.engine, await operator.cancel(person, run_ids[name], "not needed", None))
            case "expired":
                await bench.later(hours=6)
                await bench.later(hours=3)
            case _:
                await bench.show(approval)
                targets.file.answers = [OutcomeUnknownError("reset")] if name == "doubt" else []
                for person in ("sam" if name == "delegated" else "ann", "ben"):
                    by = answer_in_console if (name, person) == ("consoled", "ben") else Bench.click
                    assert (await by(bench, person, approval)).counted
        await bench.settle()
        if name == "doubt":
            await bench.later(minutes=6)
            assert (await bench.click("omar", await bench.approval_id("in_doubt"))).counted
            await bench.settle()
    return run_ids


async def _answered(bench: Bench) -> dict[str, str]:
    """Play a filing of which changes were requested, and two with a question, a withdrawn vote and a handing on."""
    run_ids = {}
    for name, kind in (("changed", "file"), ("withdrawn", "file"), ("grouped", "file_to_group")):
        run_ids[name] = (await bench.start(f"bench.{kind}", FILE, ref=name)).run_id
        await bench.settle()
        approval = await bench.approval_id()
        if name == "changed":
            assert (await bench.click("ann", approval, "changes", "name the owners")).counted
        else:
            await _withdrawn(bench, approval, "sam" if name == "grouped" else "rita")
        await bench.settle()
    return run_ids


async def _restored(bench: Bench) -> str:
    """Play a filing that was approved when a voter who had left the directory came back."""
    run_id = (await bench.start("bench.file", FILE, ref="restored")).run_id
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    await load_directory(bench, 1, without=["ann"])
    assert (await bench.click("ben", approval)).counted
    await load_directory(bench, 2)
    return run_id


async def _withdrawn(bench: Bench, approval: str, answers: str) -> None:
    assert (await say(bench, "ann", approval, CardAct.ASK, "who owns it?")).counted
    (asked,) = await bench.rows("SELECT question_id FROM questions WHERE approval_id = %s", approval)
    reply = ("the founders, each a half", asked["question_id"])
    assert (await say(bench, answers, approval, CardAct.REPLY, *reply)).counted
    assert (await bench.click("ann", approval)).counted
    assert (await say(bench, "ann", approval, CardAct.WITHDRAW, "read it once more")).counted
    assert (await say(bench, "ann", approval, CardAct.HAND, "I am away", about="cat")).counted
    for person in ("ben", "cat"):
        assert (await bench.click(person, approval)).counted


async def _proven(bench: Bench, targets: Targets) -> str:
    """Play a request to which no reply came, so that people were asked of it, and then its answer did."""
    targets.portal.answers = [OutcomeUnknownError("503") for _ in range(9)]
    run_id = (await bench.start("bench.wait", {"case": "C2"}, ref="proven")).run_id
    for _ in range(20):
        await bench.later(minutes=1)
    assert await bench.approval_id("in_doubt")
    assert (await bench.complete("acme:await_answer:C2", {"answer": "yes", "id": "R2"}))["status"] == "applied"
    await bench.later(minutes=1)
    return run_id


async def _others(bench: Bench) -> dict[str, str]:
    """Play a timer, an answer that did not come but for word of it, and branches of which one was skipped."""
    timer = (await bench.start("bench.timer", {})).run_id
    branches = (await bench.start("bench.branches", {})).run_id
    late = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.progress("acme:await_answer:C1", "half of it is here", {"documents": 2})
    await bench.later(hours=1)
    await bench.later(days=15)
    return {"timer": timer, "branches": branches, "late": late, "claimed": await _claimed(bench)}


async def _claimed(bench: Bench) -> str:
    """Play a review that was claimed, given back, claimed again, lost with its group, and answered by a third."""
    task = await bench.review("claimed")
    assert (await bench.claim("ann", task)).counted
    assert (await bench.claim("ann", task, "release")).counted
    assert (await bench.claim("ben", task)).counted
    await bench.later(days=5, seconds=1)
    assert (await bench.claim("sue", task)).counted
    await bench.meddle("UPDATE actors SET groups = '[]' WHERE actor_id = 'sue'")
    view = await bench.desk.approval(task)
    assert view
    said = ReviewAnswer(task, "cat", VoteVerdict.APPROVE, "seen and checked", view.stamp)
    assert (await TaskService(bench.engine, TENANT).bring("officer-portal", "answer", said))["counted"]
    await bench.settle()
    return view.run_id


async def play_nodes(bench: Bench, targets: Targets) -> dict[str, str]:
    """Play every kind of node, what people said no to twice, and a repeat that failed."""
    targets.note.answers = [RefusedError("no such incident")]
    nodes = (await bench.start("bench.nodes", {})).run_id
    await bench.settle()
    await bench.later(days=1)
    asked = (await bench.start("bench.asked", FILE)).run_id
    await bench.settle()
    for kind in ("effect", "task"):
        assert (await bench.click("ann", await bench.approval_id(kind), "reject", "not like this")).counted
        await bench.settle()
    targets.note.answers = [{"ok": True}, RefusedError("closed")]
    letters = (await bench.start("bench.letters", {})).run_id
    await bench.settle()
    return {"nodes": nodes, "asked": asked, "letters": letters}


async def play_repaired(bench: Bench, targets: Targets) -> dict[str, str]:
    """Play a run whose held steps are supplied, tried anew twice, and skipped; and one that somebody ended."""
    run_id = (await bench.start("bench.mended", {})).run_id
    targets.look.answers = [RefusedError("closed")]
    targets.note.answers = [RefusedError("no such incident")]
    await bench.settle()
    await mend(bench, run_id, "look", RepairAction.SUPPLY, {"value": 4})
    await mend(bench, run_id, "note", RepairAction.RETRY)
    await bench.later(days=15)
    targets.look.answers = [RefusedError("closed")]
    await mend(bench, run_id, "ask", RepairAction.RETRY)
    await bench.complete("acme:await_answer:M1", {"answer": "yes"})
    await bench.settle()
    await mend(bench, run_id, "again", RepairAction.SKIP)
    targets.look.answers = [RefusedError("closed")]
    ended = (await bench.start("bench.mended", {}, ref="ended")).run_id
    await bench.settle()
    await mend(bench, ended, "look", RepairAction.END)
    return {"mended": run_id, "ended": ended}


async def _onboarded(case: Case) -> str:
    """Play an onboarding whose review was escalated."""
    run_id = await case.to_review()
    await case.bench.later(days=7)
    await case.say("sue")
    await case.sign("ann", "cat")
    return run_id
