"""The plug is pulled at the worst moments, also while one answer goes to many waits.

The plug is pulled (kill -9) at the worst moments; after a restart the run ends and the other side acted once.

One answer, many waits, and the plug pulled in between: each wait has its answer in the end, and none twice.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import aiohttp
import pytest

from countersign.embedded.case import Case, step
from countersign.embedded.children import Child, Supervisor
from countersign.embedded.opa import OpaChild
from countersign.embedded.packs import actions, example_of
from countersign.embedded.system import Embedded, Ports, embedded
from countersign.settings import ROOT, Settings
from receipts.chain import Actor
from runtime.failpoints import Point
from runtime.inbox import inbox
from runtime.model.notification import Notification
from runtime.model.payloads import CompletionPayload
from sandbox.harness import SandboxUser
from tests.bench import TENANT, Bench
from tests.faults import dying
from tests.faults.killed import killed
from tests.forked import ForkedChild
from tests.integration.program_stage import command
from tests.patience import MINUTE, until

FILING = "register::file_report"
QUICK = {"COUNTERSIGN_LEASE_SECONDS": "1", "COUNTERSIGN_SWEEP_SECONDS": "0.2"}


@dataclass
class Plant:
    """The program in real processes: the front, and a worker whose plug can be pulled."""

    worker: Child
    others: str
    case: Case
    people: dict[str, SandboxUser]
    filed_before: int

    async def tell(self, path: str, **body: Any) -> None:
        """Tell the register how to behave."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.others}/__standin/{path}", json=body) as response,
        ):
            assert response.status < 300, await response.text()

    async def decide(self, person: str, *marks: str, ts: str = "") -> str:
        """Approve the card that shows all the marks, at `ts` where one before it may show them still; return its ts."""

        def fits(message: dict[str, Any]) -> bool:
            shown = json.dumps([message["text"], message["blocks"]])  # not its thread
            is_meant = self.case.run_id[-8:] in shown and ts in ("", message["ts"])
            return is_meant and '"actions"' in shown and all(mark in shown for mark in marks)

        user = self.people[person]
        card = await user.find_card(fits, timeout=MINUTE)
        await user.click(card, "countersign_approve")
        if "Approval needed" in marks:  # what cannot be undone is signed with a reason
            await user.find_modal(timeout=MINUTE)
            await user.submit({"reason": "checked"})
        return str(card["ts"])

    async def sign(self, fault: str, **how: Any) -> None:
        """Bring the case to its filing, which will fail in a way, and have two people approve it."""
        await self.case.replied()
        await self.decide("boris", "Review needed")
        await self.decide("anna", "Approval needed", "file_report")
        await self.tell("keys", honoured=False)
        await self.tell("faults", next=fault, **how)
        await self.decide("boris", "Approval needed", "1 of 2")

    async def fault_began(self) -> bool:
        async with aiohttp.ClientSession() as session, session.get(f"{self.others}/__standin/actions") as response:
            return not (await response.json())["faults_to_come"]

    async def filings(self) -> int:
        return await actions(self.others, FILING) - self.filed_before


def _impatient(folder: Path) -> Path:
    """Return the pack with a filing that is given up, and known to have landed or not, within seconds, or is held."""
    copytree(ROOT / "packs/kyc", folder)
    file = folder / "verbs/kyc.yaml"
    head, name, filing = file.read_text(encoding="utf-8").partition("  - name: file_ubo_report\n")
    filing = filing.replace("timeout: PT30S", "timeout: PT2S", 1)
    filing = filing.replace("in_doubt: reconcile", "in_doubt: reconcile\n      settles_within: PT6S", 1)
    file.write_text(head + name + filing, encoding="utf-8")
    runbook = folder / "runbooks/kyc-onboarding.yaml"
    steps = runbook.read_text(encoding="utf-8").replace(
        "  - id: filing\n", "  - id: filing\n    on_error: needs_attention\n", 1
    )
    runbook.write_text(steps, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
async def system(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedded]:
    """Give all that stays while workers are killed: servers, stand-ins, and the program's front."""
    folder = tmp_path_factory.mktemp("kill")
    settings = Settings(home=folder / "home", packs=[_impatient(folder / "kyc"), ROOT / "packs/incident-triage"])
    supervisor = Supervisor()
    async with embedded(settings, Ports.tried("127.0.0.1", 0, 0), supervisor) as system:
        front = ForkedChild.of(system.serve("front", "edge", "bot", "sweeps", **QUICK))
        async with supervisor.running(front):
            await supervisor.until_answers(front)
            yield system


@pytest.fixture
async def plant(system: Embedded) -> AsyncIterator[Plant]:
    """Give a worker of the test's own, and a case that is just brought in."""
    register = system.outside.standins["kyc"]
    worker = ForkedChild.of(system.serve("worker", "worker", **QUICK))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(Supervisor().running(worker))
        people = {
            name: await stack.enter_async_context(SandboxUser(system.sandbox, user))
            for name, user in (("anna", "U0ANNA"), ("boris", "U0BORIS"))
        }
        filed = await actions(register, FILING)
        case = await system.outside.bring_in("kyc", example_of(system.demos, "kyc", "onboarding"))
        yield Plant(worker, register, case, people, filed)


async def _ends_well(plant: Plant) -> None:
    run = await plant.case.until("its end", lambda run: run["status"] in ("succeeded", "failed_terminal"))
    assert run["status"] == "succeeded", run
    assert await plant.filings() == 1


async def test_a_worker_killed_while_the_run_is_parked(plant: Plant) -> None:
    await plant.case.until("the request", lambda run: step(run, "documents") == "parked")
    await plant.worker.kill()
    await plant.case.replied()
    await plant.worker.start()
    await plant.decide("boris", "Review needed")
    await plant.decide("anna", "Approval needed", "file_report")
    await plant.worker.kill()
    await plant.worker.start()
    await plant.decide("boris", "Approval needed", "1 of 2")
    await _ends_well(plant)


async def test_a_worker_killed_while_the_effect_is_leased(plant: Plant) -> None:
    await plant.sign("hang")
    await until(plant.fault_began)
    await plant.worker.kill()
    assert await plant.filings() == 0
    await plant.worker.start()
    # one attempt used the first approval up, and the worker was killed before it said so on that card
    second = await plant.decide("anna", "Approval needed", "file_report", "0 of 2")
    await plant.decide("boris", "Approval needed", "1 of 2", ts=second)
    await _ends_well(plant)


async def test_a_worker_killed_between_the_act_and_its_receipt(plant: Plant) -> None:
    await plant.sign("hang_after_commit")
    await plant.case.until("the filing", lambda run: step(run, "filing") == "running")
    await until(plant.filings)
    await plant.worker.kill()
    await plant.worker.start()
    await _ends_well(plant)


async def test_a_worker_killed_during_a_call_that_lands_late(plant: Plant) -> None:
    await plant.sign("late_commit", after=5)
    await until(plant.fault_began)
    await plant.worker.kill()
    await plant.worker.start()
    await _ends_well(plant)


async def test_a_worker_killed_before_what_a_person_said_of_a_held_step_is_applied(
    plant: Plant, system: Embedded
) -> None:
    await plant.sign("403")
    await plant.case.until("the filing", lambda run: step(run, "filing") == "needs_attention")
    await plant.worker.kill()
    words = (
        "steps",
        "retry",
        plant.case.run_id,
        "filing",
        "--as",
        "omar",
        "--reason",
        "they let us in again",
        "--json",
    )
    said = await command(*words, env=dict(system.env))
    assert json.loads(said.out)["status"] == "received", said
    assert await plant.filings() == 0
    await plant.worker.start()
    second = await plant.decide("anna", "Approval needed", "file_report", "0 of 2")
    await plant.decide("boris", "Approval needed", "1 of 2", ts=second)
    await _ends_well(plant)
    again = await command(*words, env=dict(system.env))
    assert "nothing was done: filing does not need attention" in again.err


async def _undone(run_id: str, env: Mapping[str, str]) -> str:
    """Have a run undone from the command line; return the run that does it."""
    words = ("undo", run_id, "--as", "omar", "--reason", "not ours", "--yes", "--json")
    done = await command(*words, env=dict(env))
    assert done.code == 0, done.err
    return str(json.loads(done.out)["undone_in"])


@pytest.mark.parametrize("fault", ["hang", "hang_after_commit"])
async def test_a_worker_killed_between_two_undos(system: Embedded, fault: str) -> None:
    servicenow = system.outside.standins["incident-triage"]
    worker = ForkedChild.of(system.serve("worker", "worker", **QUICK))
    async with Supervisor().running(worker):
        case = await system.outside.bring_in("incident-triage", example_of(system.demos, "incident-triage", "vpn"))
        await case.until("its end", lambda run: run["status"] == "succeeded")
        kinds = ("update incident", "create label_entry", "delete label_entry")
        before = {kind: await actions(servicenow, kind) for kind in kinds}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{servicenow}/__standin/faults", json={"next": fault, "path": "label_entry"}) as response,
        ):
            assert response.status < 300, await response.text()
        undo = replace(case, run_id=await _undone(case.run_id, system.env))

        async def began() -> bool:
            async with aiohttp.ClientSession() as session, session.get(f"{servicenow}/__standin/actions") as response:
                return not (await response.json())["faults_to_come"]

        await until(began)
        await worker.kill()
        await worker.start()
        ended = await undo.until("its end", lambda run: run["status"] in ("succeeded", "failed_terminal"))
        assert ended["status"] == "succeeded", ended
        after = {kind: await actions(servicenow, kind) for kind in kinds}
        added = before["create label_entry"]
        assert after["update incident"] - before["update incident"] == 2, "the correction and the assignment, each once"
        assert after["delete label_entry"] - before["delete label_entry"] == added - before["delete label_entry"]


WORD = "acme:await_word:C1"
COUNT = 70
"""More than are applied side by side."""


async def _waiting(bench: Bench) -> list[str]:
    runs = [(await bench.start("bench.word", {"case": "C1"}, str(n))).run_id for n in range(COUNT)]
    await bench.settle()
    return runs


async def _recorded(bench: Bench) -> str:
    payload = CompletionPayload(result={"answer": "yes"}, token=None, verbs=["await_word"])
    new = Notification("ntf_word", TENANT, "word", WORD, payload, Actor(id="portal-bot", kind="agent"), "req-word")
    return await inbox.record(bench.engine, new)


async def _killed(bench: Bench, opa: OpaChild, notification_id: str, point: Point, number: int) -> None:
    await killed(dying.apply, bench.superuser, opa.url, notification_id, str(point), str(number))


async def _completed(bench: Bench) -> Counter[str]:
    rows = await bench.rows("SELECT run_id FROM audit_leaves WHERE leaf->>'event' = 'wait.completed'")
    return Counter(row["run_id"] for row in rows)


async def _outcomes(bench: Bench) -> list[dict[str, Any]]:
    return await bench.rows("SELECT status, deliveries FROM notifications WHERE starts_with(dedupe_key, 'ntf_word:')")


@pytest.mark.parametrize(
    ("point", "number", "is_between"),
    [
        (Point.NOTIFICATION_APPLYING, 1, False),  # before it is handed to anybody
        (Point.NOTIFICATION_APPLIED, 1, False),  # when it is handed out
        (Point.NOTIFICATION_APPLIED, 2, True),
    ],
)
async def test_a_process_killed_between_two_waits_leaves_the_rest_to_others_and_none_is_answered_twice(
    bench: Bench, opa: OpaChild, point: Point, number: int, *, is_between: bool
) -> None:
    runs = await _waiting(bench)
    await _killed(bench, opa, await _recorded(bench), point, number)
    done = len(await _completed(bench))
    assert 0 < done < COUNT if is_between else done == 0
    await bench.later(seconds=3)
    assert await _completed(bench) == dict.fromkeys(runs, 1)
    assert [(one["status"], one["deliveries"]) for one in await _outcomes(bench)] == [("applied", 1)] * COUNT
    facts = await inbox.apply(bench.engine, "ntf_word")
    assert facts["status"] == "applied"
    assert sorted(wait["run_id"] for wait in facts["waits"]) == sorted(runs)


async def test_a_wait_that_a_fault_of_ours_keeps_from_its_answer_holds_up_no_other(bench: Bench) -> None:
    broken, *others = await _waiting(bench)
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'ask' AND run_id = %s", broken)
    facts = await inbox.apply(bench.engine, await _recorded(bench))
    assert facts["status"] == "applied"
    assert {wait["run_id"]: wait["status"] for wait in facts["waits"]} == {
        **dict.fromkeys(others, "applied"),
        broken: "received",
    }
    assert await _completed(bench) == dict.fromkeys(others, 1)
    await bench.meddle("UPDATE steps SET path = 'ask' WHERE path = 'gone'")
    await bench.later(minutes=1)
    assert await _completed(bench) == dict.fromkeys([broken, *others], 1)
    assert {wait["status"] for wait in (await inbox.apply(bench.engine, "ntf_word"))["waits"]} == {"applied"}


async def test_a_wait_that_opened_after_an_answer_was_handed_out_is_not_answered_by_it(bench: Bench) -> None:
    runs = await _waiting(bench)
    await inbox.apply(bench.engine, await _recorded(bench))
    later = (await bench.start("bench.word", {"case": "C1"}, "later")).run_id
    await bench.settle()
    facts = await inbox.apply(bench.engine, await _recorded(bench))
    assert sorted(wait["run_id"] for wait in facts["waits"]) == sorted(runs)
    assert (await bench.run(later))["steps"]["ask"]["status"] == "parked"
