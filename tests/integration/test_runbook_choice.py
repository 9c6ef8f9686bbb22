"""Choice of runbooks: which version starts, what is seen of versions, and any order of moves.

Two runbooks that take one type of triggers: each says when, exactly one starts, and the record says among which.

What is to be seen of versions, and what is on record: the audit finds what was moved past it.

Any order of starts, activations and retirements keeps the rules, and the chain tells where each version stands.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from receipts.chain import Actor
from runtime.handlers import Call
from runtime.model.person import Person
from runtime.model.runbook_version import Activation
from runtime.model.states import DEFINITION, DefinitionStatus, IllegalTransitionError
from runtime.planning.runbook_selection import UndecidedError
from runtime.services.callers import TriggerApi, Wish
from runtime.services.definition_versions import Mover, TriggerTakenError
from runtime.services.definition_views import compare
from runtime.services.requests import FormStarts
from runtime.services.run_replay import as_recorded, replay
from runtime.store import definitions
from runtime.store.definitions import lock_versions
from tests.bench import TENANT
from tests.integration.runbooks_stage import MOVES, RITA, TYPE, Lives, life, probe

__all__ = ["life"]


BIG, SMALL = "trigger.amount > 100", "trigger.amount <= 100"


def taking(name: str, when: str, version: int = 1) -> str:
    """Return the file of a runbook that takes some of the triggers of the type."""
    schema = "{required: [amount], properties: {amount: {type: integer}}}"
    return (
        f"name: {name}\nversion: {version}\ntitle: T\n"
        f'trigger: {{type: {TYPE}, when: "{when}", schema: {schema}}}\n'
        f"steps:\n  - {{id: only, verb: look, params: {{what: '{name}'}}}}\n"
    )


async def begun(desk: TriggerApi, ref: str, amount: int) -> str:
    return (await desk.trigger(Wish(TYPE, None, ref, {"amount": amount}), RITA, "portal-bot")).run_id


async def _queued(life: Lives, run_id: str) -> dict[str, object]:
    return dict((await life.bench.chain(run_id))[0].data)


async def test_the_one_that_takes_a_trigger_starts_and_all_are_on_record(life: Lives) -> None:
    desk = await life.begin(taking("big", BIG), taking("small", SMALL))
    run_id = await begun(desk, "a", 7)
    said = await _queued(life, run_id)
    digests = {one["name"]: one["digest"] for one in await life.bench.rows("SELECT name, digest FROM definitions")}
    assert said["definition_name"] == "small"
    assert said["among"] == [{"name": name, "version": 1, "digest": digests[name]} for name in ("big", "small")]


async def test_a_trigger_that_none_or_several_take_starts_nothing(life: Lives) -> None:
    desk = await life.begin(taking("big", BIG), taking("huge", "trigger.amount > 1000"))
    with pytest.raises(UndecidedError, match="no runbook takes this trigger"):
        await begun(desk, "a", 7)
    with pytest.raises(UndecidedError, match="big version 1 and huge version 1 take this trigger"):
        await begun(desk, "b", 5000)
    assert not await life.bench.rows("SELECT 1 FROM runs WHERE trigger_type = %s", TYPE)


async def test_a_trigger_that_started_a_run_finds_it_whatever_is_active_by_then(life: Lives) -> None:
    desk = await life.begin(taking("big", BIG), taking("small", SMALL))
    run_id = await begun(desk, "a", 7)
    await life.begin(taking("big", BIG), taking("small", "trigger.amount < 5", 2))
    await life.activate(2, "small")
    await life.sign()
    assert await begun(desk, "a", 7) == run_id
    with pytest.raises(UndecidedError):
        await begun(desk, "b", 7)


async def test_two_that_would_take_the_same_are_not_both_active(life: Lives) -> None:
    await life.begin(taking("big", BIG))
    await life.begin(taking("other", BIG))
    await life.activate(1, "other")
    await life.sign()
    rows = await life.bench.rows(
        "SELECT name FROM runbook_versions WHERE status = 'active' AND trigger_type = %s", TYPE
    )
    assert [row["name"] for row in rows] == ["big"]


@pytest.mark.parametrize(
    ("file", "names"), [(probe(1), ["probe"]), (taking("only", "true"), []), (taking("only", BIG), [])]
)
async def test_what_hangs_on_all_that_is_filled_in_has_no_form(life: Lives, file: str, names: list[str]) -> None:
    grants = json.dumps({"triggers": [TYPE]})
    await life.bench.meddle("UPDATE actors SET grants = %s WHERE actor_id = 'rita'", grants)
    starting = FormStarts(await life.begin(file))
    assert [form.name for form in await starting.forms(Person("rita", "Rita", ()))] == names


async def test_a_replay_chooses_alike_and_names_a_choice_that_was_another(life: Lives) -> None:
    desk = await life.begin(taking("big", BIG), taking("small", SMALL))
    run_id = await begun(desk, "a", 7)
    await life.bench.settle()
    async with life.bench.engine.pool.connection() as conn:
        recorded = await as_recorded(conn, TENANT, run_id)
    assert recorded is not None
    assert replay(recorded).difference is None
    found = replay(replace(recorded, trigger={"amount": 700})).difference
    assert found is not None
    assert (found.seq, found.planned, found.recorded) == (1, "big version 1", "small version 1")


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
    await life.bench.meddle("UPDATE runbook_versions SET status = 'active', changed_by = 'rita' WHERE version = 2")
    await life.bench.meddle("UPDATE runbook_versions SET status = 'retired' WHERE version = 1 AND name = 'probe'")
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


NAMES = ("probe", "other")
RUNBOOKS = [probe(version, name=name) for name in NAMES for version in (1, 2, 3)]
WISHES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from(["activate", "beside", "retire"])), max_size=12
)


@given(WISHES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_order_of_moves_keeps_the_rules(life: Lives, wishes: list[tuple[str, int, str]]) -> None:
    await life.bench.meddle("DELETE FROM runbook_versions")
    await life.bench.meddle("DELETE FROM tenant_leaves WHERE leaf->>'event' = ANY(%s)", MOVES)
    await life.begin(*RUNBOOKS)
    for name, version, wish in wishes:
        await _try(life, name, version, wish)
        await _keeps_the_rules(life)


async def _try(life: Lives, name: str, version: int, wish: str) -> None:
    """Make a move; what is illegal is refused and changes nothing."""
    async with life.bench.engine.pool.connection() as conn:
        one = await definitions.find_version(conn, TENANT, name, version)
        assert one is not None
        before = await definitions.versions_of_trigger(conn, TENANT, TYPE)
        to = DefinitionStatus.RETIRED if wish == "retire" else DefinitionStatus.ACTIVE
        try:
            async with conn.transaction():
                await lock_versions(conn, TENANT)
                mover = Mover(conn, TENANT, Actor(id="rita", kind="person"), None, life.bench.clock())
                await (mover.retire(one) if wish == "retire" else mover.activate(one, beside=wish == "beside"))
        except IllegalTransitionError:
            assert to not in DEFINITION[one.status]
        except TriggerTakenError:
            assert {other.name for other in before if other.is_active} == {*NAMES} - {name}
        else:
            assert to in DEFINITION[one.status]
            return
        assert await definitions.versions_of_trigger(conn, TENANT, TYPE) == before


async def _keeps_the_rules(life: Lives) -> None:
    """One runbook starts for the trigger, and what the chain said last of a version is where it stands."""
    active = set()
    for name in NAMES:
        told = {version: event.removeprefix("definition.") for event, version, _, _ in await life.moves(name)}
        statuses = await life.statuses(name)
        replayed = {version: {"activated": "active"}.get(event, event) for version, event in told.items()}
        assert {version: status for version, status in statuses.items() if status != "draft"} == replayed
        active |= {name for status in statuses.values() if status == "active"}
    assert len(active) <= 1
