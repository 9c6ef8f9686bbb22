"""Expressions in runs: functions, cost, bounds of results, and outputs on record.

Costly expressions in runs: evaluated in a process of their own, between the transactions that plan.

A run whose runbook calls a function of a pack: its bundle names the version, and it is planned again with that.

What the iterations of a repeat give together is bounded: it is read and written whole.

What a run comes to can be put on record, whatever it is made of; else its step fails, or it ends without output.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from countersign.embedded.opa import OpaChild
from countersign.settings import ROOT
from evidence.verify.verify import verify
from receipts.canonical import loads
from runtime.definitions.cel.outcomes import Costly, Outcome
from runtime.evaluator import Evaluator, StoppedError
from runtime.functions import Function, Type
from runtime.planning.node_repeat import COLLECTED_BYTES
from runtime.services.approvals import ApprovalService
from runtime.services.run_replay import replay_run
from runtime.worker import Worker
from tests.bench import TENANT, Bench
from tests.browser import failure_of, verify_page
from tests.functions import installed
from tests.integration.acts_stage import Opener, status
from tests.integration.conftest import Targets
from tests.integration.forger import Forged
from tests.integration.played import stories_of
from tests.integration.program_stage import command, environment, settings_of
from tests.integration.test_replay import replayed
from tests.unit.evidence_sample import Office
from tests.unit.test_expression_cost import KYC, subsidiaries

COSTLY = Costly(KYC, {"rows": subsidiaries(2500)}, None)
ENDLESS = Costly("size(rows.filter(r, rows.exists(s, s.n < 0))) > 0", {"rows": [{"n": 1}] * 1500}, None)
FROM_THE_START = f"""
steps:
  - {{ id: pick, set: {{ picked: "${{trigger.{KYC}}}" }} }}
  - {{ id: after, needs: [pick], set: {{ count: "${{size(state.picked)}}" }} }}
output: {{ count: "${{state.count}}" }}
"""
AFTER_A_READ = f"""
steps:
  - {{ id: look, verb: look }}
  - {{ id: pick, needs: [look], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
AFTER_A_WRITE = f"""
steps:
  - {{ id: write, verb: note, params: {{ incident: I1, text: a }} }}
  - {{ id: pick, needs: [write], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
AFTER_A_SIGNAL = f"""
steps:
  - {{ id: heard, wait: {{ for: PT1H }} }}
  - {{ id: pick, needs: [heard], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
TOO_COSTLY = f"""
steps:
  - {{ id: pick, set: {{ picked: "${{size(trigger.{KYC})}}" }} }}
"""


def evaluating(bench: Bench, evaluator: Evaluator) -> Bench:
    engine = replace(bench.engine, evaluator=evaluator)
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))


def evaluators() -> list[str]:
    """Return the processes of this one that evaluate."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text("utf-8").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"runtime.evaluating" in folder.joinpath("cmdline").read_bytes():
                found.append(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


async def test_a_costly_expression_is_evaluated_in_a_process_that_ends_with_it() -> None:
    evaluator = Evaluator()
    await evaluator.evaluate(COSTLY)
    assert evaluator.known == {COSTLY.key: Outcome(COSTLY.needed["rows"])}
    assert not evaluators()


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [(Evaluator(seconds=0.5), "took more than 0.5 seconds"), (Evaluator(memory=1), "its process ended with")],
)
async def test_what_the_limits_of_the_process_stop_has_no_outcome_and_leaves_no_process(
    evaluator: Evaluator, reason: str
) -> None:
    with pytest.raises(StoppedError, match=reason):
        await evaluator.evaluate(ENDLESS)
    assert not evaluator.known
    assert not evaluators()


@pytest.mark.parametrize("runbook", [FROM_THE_START, AFTER_A_READ, AFTER_A_WRITE, AFTER_A_SIGNAL])
async def test_a_run_goes_on_with_what_a_costly_expression_gives_and_is_planned_again_alike(
    opened: Opener, targets: Targets, runbook: str
) -> None:
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2400)})).run_id
        await bench.settle()
        await bench.later(hours=1)
        await bench.settle()
        run = await bench.run(run_id)
        assert (run["status"], len(run["state"]["picked"])) == ("succeeded", 2400)
        assert bench.engine.evaluator.known
        async with bench.engine.pool.connection() as conn:
            replayed = await replay_run(conn, TENANT, run_id)
    assert replayed is not None
    assert (replayed.difference, replayed.hidden) == (None, set())
    assert len(targets.note.calls) == (1 if runbook == AFTER_A_WRITE else 0)


@pytest.mark.parametrize("runbook", [FROM_THE_START, AFTER_A_READ, AFTER_A_SIGNAL])
async def test_what_was_stopped_is_tried_again_and_decides_nothing(opened: Opener, runbook: str) -> None:
    async with opened(runbook) as bench:
        stopped = evaluating(bench, Evaluator(seconds=0.001))
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2400)})).run_id
        await stopped.settle()
        await stopped.later(hours=1)
        before = await status(bench, run_id)
        assert before["run"] not in ("succeeded", "failed_terminal")
        assert before["pick"] == "pending"
        await bench.later(hours=1)
        await bench.settle()
        assert (await status(bench, run_id))["pick"] == "succeeded"


async def test_what_costs_too_much_fails_its_step_and_is_planned_again_alike(opened: Opener) -> None:
    async with opened(TOO_COSTLY) as bench:
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2500)})).run_id
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "failed_terminal"
        failed = [leaf for leaf in await bench.chain(run_id) if leaf.event == "step.failed_terminal"]
        assert [leaf.data["code"] for leaf in failed] == ["cost"]
        async with bench.engine.pool.connection() as conn:
            replayed = await replay_run(conn, TENANT, run_id)
        assert not bench.engine.evaluator.known
    assert replayed is not None
    assert replayed.difference is None


LEI = "529900T8BM49AURSDO55"
RUNBOOK = """
steps:
  - id: check
    switch:
      cases:
        - when: "kyc_is_lei(trigger.lei)"
          do: [{ id: known, reference: "lei:${trigger.lei}" }]
      else: [{ id: stop, end: { outcome: no_lei } }]
output: { sure: "${kyc_is_lei(trigger.lei)}" }
"""
NEWER = Function("kyc_is_lei", 2, (Type.TEXT,), Type.BOOLEAN, lambda _: False)
OTHER = Function("kyc_is_lei", 1, (Type.TEXT,), Type.BOOLEAN, lambda _: False)


async def ran(bench: Bench, lei: str) -> str:
    run_id = (await bench.start("bench.tree", {"lei": lei}, ref=lei)).run_id
    await bench.settle()
    return run_id


async def test_a_runbook_asks_a_function_of_a_pack(opened: Opener) -> None:
    with installed(*FUNCTIONS):
        async with opened(RUNBOOK) as bench:
            run_id, other = await ran(bench, LEI), await ran(bench, f"{LEI[:-1]}6")
            assert (await status(bench, run_id))["check.known"] == "succeeded"
            rows = "SELECT outcome, output, reference FROM runs WHERE run_id = %s"
            assert await bench.rows(rows, run_id) == [
                {"outcome": "", "output": {"sure": True}, "reference": f"lei:{LEI}"}
            ]
            assert (await bench.rows(rows, other))[0]["outcome"] == "no_lei"


async def test_a_run_is_planned_again_with_the_version_that_it_was_planned_with(opened: Opener) -> None:
    with installed(*FUNCTIONS):
        async with opened(RUNBOOK) as bench:
            run_id = await ran(bench, LEI)
            assert (await replayed(bench, run_id)).difference is None
            with installed(*FUNCTIONS, NEWER):
                assert (await replayed(bench, run_id)).difference is None
            for functions in ((NEWER,), (OTHER,), ()):
                with installed(*functions):
                    assert (await replayed(bench, run_id)).difference is not None


async def test_the_command_that_plans_a_run_again_knows_the_functions_of_listed_packs(
    opened: Opener, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    with installed(*FUNCTIONS):
        async with opened(RUNBOOK) as bench:
            run_id = await ran(bench, LEI)
            for pack, code in (("kyc", 0), ("access-request", 1)):
                settings = settings_of(dsn, opa.url, tmp_path / "home", packs=[ROOT / "packs" / pack])
                done = await command("runs", "replay", run_id, env=environment(settings))
                assert done.code == code, (done.out, done.err)


async def test_its_bundle_names_the_function_and_both_verifiers_take_it(opened: Opener, tmp_path: Path) -> None:
    office = Office.in_folder(tmp_path)
    with installed(*FUNCTIONS):
        async with opened(RUNBOOK) as bench:
            run_id = await ran(bench, LEI)
            story = (await stories_of(office.key, bench, {"run": run_id}))["run"]
    definition: Any = loads(story.definition)
    assert definition["functions"] == {"kyc_is_lei": 1}
    bundle = office.write(Forged.of(story).seal(office.key))
    assert verify(bundle, office.public).run_id == run_id
    async with verify_page() as page:
        assert await failure_of(page, bundle.read_bytes(), office.public.read_text()) is None


TEXT = "x" * (COLLECTED_BYTES // 4 - 2)  # with its quotes, four of them are as much as fits

REPEATS = {
    "one after the other": "for_each: '${trigger.items}'",
    "side by side": "for_each: '${trigger.items}', at_most_at_once: 2",
    "while": "while: 'index < size(trigger.items)', at_most: 9",
    "until": "until: 'index + 1 == size(trigger.items)', at_most: 9",
}


def _runbook(repeat: str, collect: str = "'${trigger.text}'") -> str:
    return f"\nsteps:\n  - {{id: each, repeat: {{{repeat}, collect: {collect}, do: [{{id: one, verb: look}}]}}}}\n"


@pytest.mark.parametrize("kind", REPEATS)
async def test_the_iteration_that_gives_more_than_can_be_kept_fails(opened: Opener, kind: str) -> None:
    async with opened(_runbook(REPEATS[kind])) as bench:
        fits = (await bench.start("bench.tree", {"items": [1] * 4, "text": TEXT}, ref="1")).run_id
        more = (await bench.start("bench.tree", {"items": [1] * 5, "text": TEXT}, ref="2")).run_id
        await bench.settle()
        found = await status(bench, fits)
        assert (found["run"], found["each"]) == ("succeeded", "succeeded")
        (row,) = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'each'", fits)
        assert row["result"]["results"] == [TEXT] * 4
        run = await bench.run(more)
        failed = [path for path, step in run["steps"].items() if step["status"] == "failed_terminal"]
        why = f"collect: {5 * COLLECTED_BYTES // 4} bytes as JSON by now, and at most {COLLECTED_BYTES} are kept"
        assert (run["status"], failed) == ("failed_terminal", ["each[4]"])
        assert (run["error"], run["steps"]["each[4]"]["error"]) == (f"each[4]: {why}", why)
        assert (await replayed(bench, fits)).difference is None
        assert (await replayed(bench, more)).difference is None


async def test_what_an_iteration_gives_has_to_be_fit_for_the_record(opened: Opener) -> None:
    deeper = "{a: " * 27 + "'${trigger}'" + "}" * 27
    async with opened(_runbook("for_each: '${[1]}'", deeper)) as bench:
        deep: object = {}
        for _ in range(58):
            deep = {"a": deep}
        run_id = (await bench.start("bench.tree", {"a": deep})).run_id
        await bench.settle()
        assert (await bench.run(run_id))["error"] == "each[0]: collect: nested deeper than 80 levels"


DEEP = 27


def nested(levels: int, value: object) -> object:
    """Return a value inside that many objects."""
    return {"a": nested(levels - 1, value)} if levels else value


def in_yaml(levels: int) -> str:
    return "{ a: " * levels + '"${trigger}"' + " }" * levels


async def test_an_end_whose_result_is_too_deep_for_any_record_fails(opened: Opener) -> None:
    async with opened(f"\nsteps: [{{ id: stop, end: {{ outcome: done, result: {in_yaml(DEEP)} }} }}]\n") as bench:
        fits = (await bench.start("bench.tree", {"a": 1}, ref="1")).run_id
        deep = (await bench.start("bench.tree", {"a": nested(58, {})}, ref="2")).run_id
        await bench.settle()
        assert (await status(bench, fits))["run"] == "succeeded"
        step = (await bench.run(deep))["steps"]["stop"]
        assert (step["status"], step["error"]) == ("failed_terminal", "result: nested deeper than 80 levels")


async def test_a_run_whose_output_is_too_deep_for_any_record_ends_without_one(opened: Opener) -> None:
    async with opened(f"\nsteps: [{{ id: a, set: {{ x: 1 }} }}]\noutput: {in_yaml(DEEP)}\n") as bench:
        run_id = (await bench.start("bench.tree", {"a": nested(58, {})})).run_id
        await bench.settle()
        run = await bench.run(run_id)
        assert (run["status"], run["output"]) == ("succeeded", None)
        assert run["error"] == "output: nested deeper than 80 levels"


@pytest.mark.parametrize("ends", ["", "  - {id: stop, needs: [a], end: {outcome: done, result: '${state.x}'}}\n"])
async def test_what_a_run_gives_is_on_record_though_it_is_null(opened: Opener, ends: str) -> None:
    runbook = f"\nsteps:\n  - {{id: a, set: {{x: null}}}}\n{ends}output: '${{state.x}}'\n"
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (end,) = [leaf for leaf in await bench.chain(run_id) if leaf.event == "run.succeeded"]
        assert "output" in end.data
        assert (await replayed(bench, run_id)).difference is None


async def test_an_end_that_gives_nothing_has_no_output(opened: Opener) -> None:
    async with opened("\nsteps: [{id: stop, end: {outcome: done}}]\noutput: 1\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (end,) = [leaf for leaf in await bench.chain(run_id) if leaf.event == "run.succeeded"]
        assert "output" not in end.data
