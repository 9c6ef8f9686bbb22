"""Whatever people do with a request, edits and all, at most one version is performed, and that one has its quorum."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.editing_stage import asked, edit

PEOPLE = ("ann", "ben", "cat", "rita", "sue", "omar")
ACTS = ("approve", "approve", "approve", "edit", "edit", "reject", "old", "wait")


async def _act(bench: Bench, chance: random.Random, run_id: str, number: int) -> None:
    """Do something with a request of the run, mostly with the one that is open."""
    rows = await bench.rows("SELECT approval_id, status FROM approvals WHERE run_id = %s", run_id)
    act, person = chance.choice(ACTS), chance.choice(PEOPLE)
    old = act == "old"
    mine = [row["approval_id"] for row in rows if old or row["status"] == "requested"]
    if not mine:
        return
    approval = chance.choice(mine)
    match act:
        case "edit":
            wanted = {"copies": chance.choice([10, 10, 3, 4, 60])}
            await edit(bench, person, approval, wanted, dedupe_key=f"{run_id}:{number}")
        case "wait":
            await bench.later(hours=chance.choice([1, 7, 9]))
        case _:
            verdict = "reject" if act == "reject" and chance.random() < 0.3 else "approve"
            await bench.click(person, approval, verdict, nonce=str(number))
    if chance.random() < 0.7:
        await bench.settle()


async def _expect_sound(bench: Bench, targets: Targets, run_id: str) -> int:
    """Raise unless at most one version was performed, once, under an approval of its own; return how many were."""
    done = await bench.rows("SELECT document FROM receipts WHERE run_id = %s AND outcome = 'success'", run_id)
    filed = [row["document"] for row in done if row["document"]["step"] == "file"]
    performed = [call for call in targets.file.calls if call.run_id == run_id]
    assert len(performed) == len(filed) <= 1
    assert len(await bench.rows("SELECT 1 FROM approvals WHERE run_id = %s AND status = 'requested'", run_id)) <= 1
    for receipt in filed:
        await _expect_quorum(bench, receipt)
        assert performed[0].params["copies"] == receipt["request"]["copies"]
    return len(filed)


async def _expect_quorum(bench: Bench, receipt: Mapping[str, Any]) -> None:
    (approval,) = await bench.rows("SELECT * FROM approvals WHERE approval_id = %s", receipt["approval_id"])
    assert (approval["status"], approval["digest"]) == ("approved", receipt["fingerprint"])
    votes = await bench.rows(
        "SELECT person, verdict, groups FROM votes WHERE approval_id = %s", approval["approval_id"]
    )
    edits = await bench.rows("SELECT person FROM edits WHERE effect_id = %s", approval["effect_id"])
    people = {vote["person"] for vote in votes}
    assert {vote["verdict"] for vote in votes} == {"approve"}
    assert len(people) >= approval["requirement"]["quorum"]
    assert people.isdisjoint({"rita", *(edit["person"] for edit in edits)})


@pytest.mark.parametrize("seed", range(2))
async def test_at_most_one_version_is_performed_and_it_has_its_quorum(
    editing: Bench, targets: Targets, seed: int
) -> None:
    chance, performed = random.Random(seed), 0  # noqa: S311 - made again from the seed
    for number in range(15):
        await asked(editing, f"{seed}-{number}")
        (row,) = await editing.rows("SELECT run_id FROM runs WHERE trigger_ref = %s", f"{seed}-{number}")
        for place in range(10):
            await _act(editing, chance, row["run_id"], place)
        await editing.later(hours=9)
        performed += await _expect_sound(editing, targets, row["run_id"])
    assert performed, "nothing was performed: the sequences show nothing"
