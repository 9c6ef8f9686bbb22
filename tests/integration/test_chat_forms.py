"""Requests by form: fields by the runbook's trigger, faults at their fields, one run for one submission."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.listeners.forms import NEW_REQUEST
from countersign.embedded.opa import OpaChild
from countersign.engine import keep_definitions
from countersign.loaded_files import load_directory
from policy.client import OpaEngine
from runtime.definitions.loading.catalog import load_catalog
from runtime.model.person import Person
from runtime.model.runbook_version import Activation
from runtime.services.requests import Filled, RequestService
from sandbox.harness import SandboxUser
from tests.bench import TEAM, TENANT
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import PACK, Targets
from tests.integration.seen import whispered
from tests.logins import loading
from tests.patience import MINUTE

RUNBOOK = """
name: {name}
version: 1
title: Ask for {name}
description: A runbook for a form
trigger:
  type: {name}.asked
  schema:
    type: object
    required: [who, level]
    additionalProperties: false
    properties: {properties}
steps:
  - id: look
    verb: look
    params: {{}}
"""
WIDE = """
      who: {type: string, title: "Who is it for?", description: "A name", pattern: "^[A-Z]", maxLength: 20}
      level: {type: string, enum: [low, high]}
      why: {type: string, maxLength: 900}
      count: {type: integer, minimum: 1}
      share: {type: number}
      urgent: {type: boolean}
      day: {type: string, format: date}
      moment: {type: string, format: date-time}
      names: {type: array, items: {type: string}}
"""
ODD = """
      who: {type: string}
      level: {type: object, additionalProperties: false, properties: {}}
"""
FULL = {
    "who": "Ann",
    "level": "1",
    "why": "two\nlines",
    "count": " 3 ",
    "share": "0.5",
    "urgent": "1",
    "day": "2026-03-02",
    "moment": "1772445600",
    "names": "one\n\n two ",
}
PAYLOAD = {
    "who": "Ann",
    "level": "high",
    "why": "two\nlines",
    "count": 3,
    "share": 0.5,
    "urgent": False,
    "day": "2026-03-02",
    "moment": "2026-03-02T10:00:00Z",
    "names": ["one", "two"],
}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    (tmp_path / "runbooks").mkdir()
    for name, properties in (("wide", WIDE), ("odd", ODD)):
        text = RUNBOOK.format(name=name, properties=properties)
        (tmp_path / "runbooks" / f"{name}.yaml").write_text(text, encoding="utf-8")
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets, PACK, tmp_path) as running,
    ):
        yield running


async def grant(chat: Chat, person: str, *triggers: str) -> None:
    await chat.bench.meddle(
        "UPDATE actors SET grants = %s WHERE actor_id = %s RETURNING 1", json.dumps({"triggers": triggers}), person
    )


async def runs(chat: Chat) -> list[dict[str, Any]]:
    query = "SELECT run_id, trigger, requested_by, submitted_by, definition_name FROM runs ORDER BY created_at"
    return await chat.bench.rows(query)


async def opened(chat: Chat, person: SandboxUser, runbook: str = "wide") -> dict[str, Any]:
    assert (await person.command(CHANNEL, f"/countersign request {runbook}"))["ok"]
    return await person.find_modal()


async def test_a_form_has_a_field_for_each_property_and_starts_a_run_for_the_person(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    modal = await opened(chat, rita)
    inputs = {one["block_id"]: one for one in modal["blocks"] if one["type"] == "input"}
    assert inputs.keys() == FULL.keys()
    assert (inputs["who"]["label"]["text"], inputs["who"]["hint"]["text"]) == ("Who is it for?", "A name")
    assert [name for name, one in inputs.items() if not one["optional"]] == ["who", "level"]
    assert (await rita.submit(FULL))["ok"]
    (run,) = await runs(chat)
    assert run["trigger"] == PAYLOAD
    assert (run["requested_by"], run["submitted_by"], run["definition_name"]) == ("rita", "rita", "wide")
    assert run["run_id"] in await whispered(rita, "Request recorded")


async def test_what_is_left_empty_is_not_said(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    assert (await rita.submit({"who": "Ann", "level": "0"}))["ok"]
    assert [run["trigger"] for run in await runs(chat)] == [{"who": "Ann", "level": "low"}]


@pytest.mark.parametrize(
    ("field", "entered", "words"),
    [
        ("who", "ann", "is not in the expected format"),
        ("count", "many", "whole number"),
        ("count", "0", "minimum"),
        ("share", "1e999", "Please enter a number"),
    ],
)
async def test_a_fault_stands_at_its_field_and_starts_nothing(chat: Chat, field: str, entered: str, words: str) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    done = await rita.submit({**FULL, field: entered})
    assert list(done["errors"]) == [field]
    assert words in done["errors"][field]
    assert await runs(chat) == []
    assert (await rita.submit(FULL))["ok"]
    assert len(await runs(chat)) == 1


async def test_a_submission_while_slack_is_slow_starts_nothing_and_can_be_made_again(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    await chat.forgotten(rita)
    chat.faults.hold("users.info")
    assert "did not confirm who you are" in str((await rita.submit(FULL))["errors"])
    assert await runs(chat) == []
    chat.faults.lift("users.info")
    assert (await rita.submit(FULL))["ok"]
    assert len(await runs(chat)) == 1


async def test_deliveries_of_one_submission_start_one_run(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    starting = RequestService(chat.bench.engine, TENANT, chat.bench.catalog).starting
    rita = Person("rita", "Rita", ("onboarding",))
    filled = Filled("V1", "wide", 1, {"who": "Ann", "level": "low"})
    started = await asyncio.gather(*(starting.start(rita, filled) for _ in range(4)))
    assert len({one.run_id for one in started}) == 1
    assert len(await runs(chat)) == 1
    assert (await starting.start(rita, replace(filled, form_id="V2"))).run_id != started[0].run_id


async def test_the_shortcut_offers_what_the_person_may_start_and_then_its_form(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked", "bench.file")
    rita = await chat.person("rita")
    assert (await rita.shortcut(NEW_REQUEST))["ok"]
    modal = await rita.find_modal()
    options = [one["value"] for one in modal["blocks"][0]["element"]["options"]]
    assert options == ["wide", "bench-file"]
    assert (await rita.submit({"runbook": "bench-file"}))["ok"]
    assert (await rita.submit({"company": "Halvorsen", "text": "<!channel>"}))["ok"]
    (run,) = await runs(chat)
    assert run["trigger"] == {"company": "Halvorsen", "text": "<!channel>"}
    told = await rita.find_card(lambda message: "Request recorded" in message["text"])
    assert told["channel"].startswith("D")


async def test_nobody_starts_what_the_directory_does_not_grant(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    ann, rita = await chat.person("ann"), await chat.person("rita")
    await ann.command(CHANNEL, "/countersign request wide")
    await whispered(ann, "You may not request anything by form")
    await rita.command(CHANNEL, "/countersign request bench-file")
    assert "bench" not in await whispered(rita, "no runbook of that name")
    assert (await ann.see())["modal"] is None


async def test_a_grant_that_was_taken_back_meanwhile_starts_nothing(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    await grant(chat, "rita")
    assert "cannot be started by you any more" in str((await rita.submit(FULL))["errors"])
    assert await runs(chat) == []


async def test_a_retired_runbook_cannot_be_asked_for(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    await chat.bench.meddle("UPDATE runbook_versions SET status = 'retired' WHERE name = 'wide' RETURNING 1")
    assert "cannot be started by you any more" in str((await rita.submit(FULL))["errors"])
    assert await runs(chat) == []


async def test_a_runbook_that_changed_since_the_form_was_opened_starts_nothing(chat: Chat, tmp_path: Path) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    (tmp_path / "runbooks" / "odd.yaml").unlink()
    path = tmp_path / "runbooks" / "wide.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("version: 1", "version: 2"), encoding="utf-8")
    engine = chat.bench.engine
    await keep_definitions(engine, load_catalog([PACK, tmp_path], engine.handlers), Activation.NEWEST)
    assert "has changed since" in str((await rita.submit(FULL))["errors"])
    assert await runs(chat) == []


async def test_what_can_be_no_field_is_named(chat: Chat) -> None:
    await grant(chat, "rita", "odd.asked")
    rita = await chat.person("rita")
    await rita.command(CHANNEL, "/countersign request odd")
    assert "level does not fit a form field" in await whispered(rita, "has no form")


async def test_who_is_not_in_the_directory_gets_no_form_and_that_is_on_record(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    await opened(chat, rita)
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE account = 'URITA' RETURNING 1")
    assert "directory has no person" in str((await rita.submit(FULL))["errors"])
    assert (await rita.shortcut(NEW_REQUEST))["ok"]
    query = "SELECT leaf->'data'->>'command' AS command FROM tenant_leaves WHERE leaf->>'event' = 'command.refused'"
    assert [row["command"] for row in await chat.bench.rows(query)] == ["request"]
    assert await runs(chat) == []


async def test_a_form_that_slack_does_not_open_is_told(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    chat.faults.refuse("views.open", "expired_trigger_id")
    assert (await rita.command(CHANNEL, "/countersign request wide"))["ok"]
    await whispered(rita, "could not be opened")


async def test_a_form_is_acknowledged_while_slack_takes_long_to_open_it(chat: Chat) -> None:
    await grant(chat, "rita", "wide.asked")
    rita = await chat.person("rita")
    chat.faults.hold("views.open")
    assert (await rita.command(CHANNEL, "/countersign request wide"))["ok"]
    chat.faults.lift("views.open")
    await rita.find_modal()


async def test_the_directory_file_says_what_a_person_may_start(chat: Chat, tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    account = f"slack: [{{team: {TEAM}, user: URITA}}]"
    file.write_text(f"version: 99\npeople: [{{id: rita, name: Rita, triggers: [wide.asked], {account}}}]\n", "utf-8")
    async with loading(chat.bench.superuser) as conn:
        await load_directory(conn, TENANT, file)
    assert (await opened(chat, await chat.person("rita")))["title"]["text"] == "New request"
