"""Lists of what a person asked for have that alone, and who decides sees of a run what it waits for."""

from bot.home.command_replies import run_reply
from runtime.model.person import Person
from runtime.services.home import Look
from runtime.services.requests import RequestService
from tests.bench import TENANT, Bench
from tests.integration.nodes_stage import Opener

STARTS_ANOTHER = """
steps:
  - id: sub
    run: { runbook: bench-file, trigger: { company: ACME, text: r }, timeout: P1D }
"""
SIGNED = """
steps:
  - { id: before, verb: note, params: { incident: I1, text: a } }
  - { id: register, needs: [before], verb: file, params: { company: ACME, text: r } }
  - { id: after, needs: [register], verb: note, params: { incident: I1, text: b } }
"""
RITA = Person("rita", "Rita", ())
ANN = Person("ann", "Ann", ("compliance",))
OMAR = Person("omar", "Omar", ("operators",))


def _front(bench: Bench) -> RequestService:
    return RequestService(bench.engine, TENANT, bench.catalog)


async def test_a_run_that_another_run_started_is_not_among_what_a_person_asked_for(opened: Opener) -> None:
    async with opened(STARTS_ANOTHER) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert len(await bench.rows("SELECT 1 FROM runs WHERE requested_by = 'rita'")) == 2
        front = _front(bench)
        assert [one.run_id for one in (await front.mine(RITA, 10)).runs] == [run_id]
        (asked,) = (await front.home.asked_for("rita", Look(10))).entries
        assert asked.run_id == run_id
        assert asked.waits_for
        assert asked.waits_for.view.approval_id == await bench.approval_id(), "that of the run below"
        assert asked.more == 0
        (child,) = await bench.rows("SELECT run_id FROM runs WHERE run_id <> %s", run_id)
        assert await front.run(RITA, child["run_id"]), "who asked for the one may look at the other"


async def test_an_officer_sees_what_a_run_waits_for_and_an_operator_all_of_its_steps(opened: Opener) -> None:
    async with opened(SIGNED) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        front = _front(bench)
        of_ann, of_omar = await front.run(ANN, run_id), await front.run(OMAR, run_id)
        assert of_ann
        assert of_omar
        assert [step.name for step in of_ann.steps] == ["File a report with the register"]
        assert [step.name for step in of_omar.steps] == ["before", "register", "after"]
        shown = str(run_reply(of_ann).blocks)
        assert "1 of 3 steps done" in shown
        assert "File a report with the register: waits for approval" in shown
        assert "before" not in shown
