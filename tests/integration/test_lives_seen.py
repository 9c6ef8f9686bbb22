"""What is to be seen of versions, and what is on record: the audit finds what was moved past it."""

from typing import Any

import pytest

from runtime.handlers import Call
from runtime.model.runbook_version import Activation
from runtime.services.definition_views import compare
from tests.bench import TENANT
from tests.integration.lives_stage import Lives, life, probe

__all__ = ["life"]


# What is to be seen


@pytest.mark.parametrize(
    ("version", "against", "compared"),
    [(None, None, (1, 3)), (2, None, (1, 2)), (3, 2, (2, 3)), (1, None, (None, 1)), (1, 3, (3, 1))],
)
async def test_a_version_is_compared_with_the_active_one_unless_another_is_named(
    life: Lives, version: int | None, against: int | None, compared: tuple[int | None, int]
) -> None:
    await life.begin(probe(1))
    await life.begin(probe(1), probe(2), probe(3))
    async with life.bench.engine.pool.connection() as conn:
        found = await compare(conn, TENANT, "probe", version, against)
    assert (found.before and found.before.version, found.after.version) == compared
    assert ("steps.only.params.what" in {change.path for change in found.changes}) == (compared[0] is not None)


async def test_a_version_is_compared_with_the_one_before_it_where_none_is_active(life: Lives) -> None:
    await life.begin(probe(1), probe(2), rule=Activation.MANUAL)
    async with life.bench.engine.pool.connection() as conn:
        found = await compare(conn, TENANT, "probe", None, None)
    assert (found.before and found.before.version, found.after.version) == (1, 2)


# What is on record


async def test_an_audit_finds_a_version_that_was_moved_past_the_record(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    assert (await life.audit()).findings == []
    await life.bench.meddle("UPDATE definition_lives SET status = 'active', changed_by = 'rita' WHERE version = 2")
    await life.bench.meddle("UPDATE definition_lives SET status = 'retired' WHERE version = 1 AND name = 'probe'")
    found = [(one.rule, one.where) for one in (await life.audit()).findings]
    assert found == [
        ("record.changed", "life of definition probe version 1"),
        ("record.unnamed", "life of definition probe version 2"),
    ]


async def test_an_attempt_that_is_made_again_moves_nothing_twice(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    await life.activate(2)
    await life.sign()
    moves = await life.moves()
    (effect,) = await life.bench.rows("SELECT run_id, step, fields FROM effects WHERE connector = 'definition'")
    call = Call(TENANT, effect["run_id"], effect["step"], "activate", effect["fields"])
    assert await life.handlers["definition::activate"].run(call) == {"retired": [1]}
    assert await life.moves() == moves


async def _made_again(life: Lives, run_id: str, what: str) -> Any:
    """Make the attempt of a run anew, as after a doubt, and return what it says that was done."""
    (effect,) = await life.bench.rows("SELECT step, fields FROM effects WHERE run_id = %s AND step <> ''", run_id)
    return await life.handlers[f"definition::{what}"].run(Call(TENANT, run_id, effect["step"], what, effect["fields"]))


async def test_an_activation_that_is_made_again_does_not_bring_back_what_was_retired_since(life: Lives) -> None:
    await life.begin(probe(1), rule=Activation.MANUAL)
    asked = await life.activate(1)
    await life.sign()
    await life.retire(1)
    moves = await life.moves()
    assert await _made_again(life, asked, "activate") == {"retired": []}
    assert (await life.statuses(), await life.moves()) == ({1: "retired"}, moves)


async def test_an_activation_that_is_made_again_tells_what_it_did_whatever_was_moved_since(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    asked = await life.activate(2)
    await life.sign()
    await life.retire(2)
    await life.activate(1)
    await life.sign()
    assert await _made_again(life, asked, "activate") == {"retired": [1]}
    assert await life.statuses() == {1: "active", 2: "retired"}


async def test_a_retirement_that_is_made_again_does_not_retire_what_has_come_back(life: Lives) -> None:
    await life.begin(probe(1))
    asked = await life.retire(1)
    await life.activate(1)
    await life.sign()
    moves = await life.moves()
    assert await _made_again(life, asked, "retire") == {}
    assert (await life.statuses(), await life.moves()) == ({1: "active"}, moves)
