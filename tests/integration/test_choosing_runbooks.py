"""Two runbooks that take one type of triggers: each says when, exactly one starts, and the record says among which."""

import json
from dataclasses import replace

import pytest

from runtime.model.person import Person
from runtime.planning.runbook_selection import UndecidedError
from runtime.services.callers import TriggerApi, Wish
from runtime.services.requests import FormStarts
from runtime.services.run_replay import as_recorded, replay
from tests.bench import TENANT
from tests.integration.lives_stage import RITA, TYPE, Lives, life, probe

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
        "SELECT name FROM definition_lives WHERE status = 'active' AND trigger_type = %s", TYPE
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
