"""A run whose runbook calls a function of a pack: its bundle names the version, and it is planned again with that."""

from pathlib import Path
from typing import Any

from countersign_kyc.functions import FUNCTIONS

from countersign.embedded.opa import OpaChild
from countersign.settings import ROOT
from evidence.verify.verify import verify
from receipts.canonical import loads
from runtime.functions import Function, Type
from tests.bench import Bench
from tests.browser import failure_of, verify_page
from tests.functions import installed
from tests.integration.forger import Forged
from tests.integration.nodes_stage import Opener, status
from tests.integration.played import stories_of
from tests.integration.program_stage import command, environment, settings_of
from tests.integration.test_replay import replayed
from tests.unit.evidence_sample import Office

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
                done = await command("replay", run_id, env=environment(settings))
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
