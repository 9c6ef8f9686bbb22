"""The commands about definitions: what there is, what changes, and what starts, by a named person."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from countersign.engine import keep_definitions
from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.catalog import Catalog
from runtime.model.runbook_version import Activation
from tests.integration.lives_stage import ACTIVATED, RETIRED
from tests.integration.program_stage import command, composed, edge_of, environment, rows, settings_of
from tests.integration.test_cli import Office, is_one_sentence

NAMED = ("--as", "omar", "--reason", "CHG-1201")


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        yield Office(system, edge, environment(settings))


async def _json(office: Office, *words: str) -> Any:
    finished = await command("definitions", *words, "--json", env=office.env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def test_versions_are_listed_a_page_at_a_time(office: Office) -> None:
    listed = await _json(office, "list")
    assert [(row["name"], row["version"], row["status"], row["changed_by"]) for row in listed] == [
        ("access-request", 2, "active", "countersign"),
        ("incident-triage", 3, "active", "countersign"),
        ("kyc-escalated", 1, "active", "countersign"),
        ("kyc-onboarding", 4, "active", "countersign"),
        ("kyc-subsidiary", 1, "active", "countersign"),
    ]
    page = await command("definitions", "list", "--limit", "1", env=office.env)
    assert page.out.splitlines()[-1] == "There are more: --after access-request:2"
    assert [row["name"] for row in await _json(office, "list", "--after", "access-request:2")] == [
        "incident-triage",
        "kyc-escalated",
        "kyc-onboarding",
        "kyc-subsidiary",
    ]
    assert await _json(office, "list", "--status", "draft") == []
    wrong = await command("definitions", "list", "--after", "incident-triage", env=office.env)
    assert (wrong.code, "incident-triage is not NAME:VERSION" in wrong.err) == (2, True)


async def test_a_version_is_shown_with_its_digest_its_moves_and_all_that_it_says(office: Office) -> None:
    shown = await _json(office, "show", "kyc-onboarding")
    (row,) = rows(
        office.env["COUNTERSIGN_DATABASE_URL"], "SELECT digest FROM definitions WHERE name = 'kyc-onboarding'"
    )
    assert (shown["version"], shown["status"], shown["digest"]) == (4, "active", row["digest"])
    assert [(move["event"], move["by"]) for move in shown["moves"]] == [(ACTIVATED, "countersign")]
    assert shown["definition"]["trigger"]["type"] == "kyc.onboarding"
    text = await command("definitions", "show", "kyc-onboarding", "4", env=office.env)
    assert text.out.splitlines()[:2] == ["kyc-onboarding version 4 is active", f"digest {row['digest']}"]
    assert "\nsteps:\n" in text.out


async def test_a_first_version_differs_from_nothing(office: Office) -> None:
    text = await command("definitions", "diff", "incident-triage", env=office.env)
    assert text.out.splitlines()[0] == "--- nothing"
    assert text.out.splitlines()[1].startswith("+++ incident-triage version 3  active  ")
    found = await _json(office, "diff", "incident-triage", "3", "--against", "3")
    assert found == {"name": "incident-triage", "from": 3, "to": 3, "changes": []}


async def test_a_draft_is_compared_with_the_version_that_is_active(office: Office) -> None:
    engine = office.system.engine
    async with engine.pool.connection() as conn:
        known = definition_document(await engine.definitions.get(conn, "kyc-onboarding", 4))
    newer = from_canonical(dumps({**known, "version": 5, "title": "Newer"}))
    await keep_definitions(engine, Catalog({(newer.name, 5): newer}, (), (), frozenset(), {}), Activation.NEWEST)
    await keep_definitions(engine, office.system.catalog, Activation.NEWEST)
    found = await _json(office, "diff", "kyc-onboarding")
    change = {"path": "title", "kind": "changed", "before": known["title"], "after": "Newer"}
    assert found == {"name": "kyc-onboarding", "from": 4, "to": 5, "changes": [change]}
    text = await command("definitions", "diff", "kyc-onboarding", env=office.env)
    assert text.out.splitlines()[2:] == [f'- title: "{known["title"]}"', '+ title: "Newer"', "1 change"]


@pytest.mark.parametrize("words", [("show", "nobody"), ("diff", "nobody")])
async def test_a_runbook_that_is_not_there_is_one_sentence(office: Office, words: tuple[str, str]) -> None:
    assert is_one_sentence(await command("definitions", *words, env=office.env), "there is no runbook nobody")
    missing = await command("definitions", words[0], "kyc-onboarding", "9", env=office.env)
    assert is_one_sentence(missing, "there is no kyc-onboarding version 9; there is 4")


async def test_a_version_is_retired_and_activated_by_a_named_person(office: Office) -> None:
    retired = await office.act("definitions", "retire", "kyc-onboarding", "4", *NAMED, after=office.work)
    assert (retired.code, retired.out.startswith("kyc-onboarding version 4 is retired (run_")) == (0, True)
    asked = await office.act("definitions", "activate", "kyc-onboarding", "4", *NAMED, "--json", after=office.work)
    assert json.loads(asked.out)["run_status"] == "waiting_approval"
    moves = (await _json(office, "show", "kyc-onboarding"))["moves"]
    assert [(move["event"], move["by"]) for move in moves] == [(ACTIVATED, "countersign"), (RETIRED, "omar")]
    again = await office.act("definitions", "retire", "kyc-onboarding", "4", *NAMED, after=office.work)
    assert is_one_sentence(again, "nothing was done: kyc-onboarding version 4 is retired")


async def test_who_activates_is_somebody_of_the_directory_and_says_why(office: Office) -> None:
    words = ("definitions", "activate", "kyc-onboarding", "4")
    stranger = await command(*words, "--as", "mallory", "--reason", "x", env=office.env)
    assert is_one_sentence(stranger, "the directory has no person mallory")
    silent = await command(*words, "--as", "omar", env=office.env)
    assert (silent.code, "--reason" in silent.err) == (2, True)
