"""People, passkeys and definitions by command.

People from the command line: who they are, and who votes for whom, recorded and ended by named persons.

Passkeys from the command line: a link for an invitation, a list, a revocation by a named person.

The commands about definitions: what there is, what changes, and what starts, by a named person.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from countersign.embedded.opa import OpaChild
from countersign.engine import keep_definitions
from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.catalog import Catalog
from runtime.inbox import inbox
from runtime.model.runbook_version import Activation
from runtime.services.passkey_ceremonies import RegistrationPage
from tests.bench import PUBLIC_URL, Bench
from tests.integration.policies_stage import authenticator, counter
from tests.integration.program_stage import Finished, command, composed, edge_of, environment, rows, settings_of
from tests.integration.runbooks_stage import ACTIVATED, RETIRED
from tests.integration.test_cli import Office, is_one_sentence

AWAY = ("people", "delegate", "ann", "--to", "sam", "--from", "2020-01-01T00:00:00Z")
UNTIL = ("--until", "2100-01-01T00:00:00+01:00")
BY = ("--as", "omar", "--reason", "on leave")


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def act(bench: Bench, env: dict[str, str], *words: str) -> Finished:
    """Run a command that puts acts on record, and apply them here, as a worker would."""
    acting = asyncio.create_task(command(*words, env=env))
    while not acting.done():
        for row in await bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(bench.engine, row["notification_id"])
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def _json(env: dict[str, str], *words: str) -> Any:
    finished = await command("people", *words, "--json", env=env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def test_who_votes_for_whom_is_recorded_listed_shown_and_ended(bench: Bench, env: dict[str, str]) -> None:
    done = await act(bench, env, *AWAY, *UNTIL, "--group", "compliance", *BY, "--json")
    assert done.code == 0, done.err
    named = json.loads(done.out)["delegation_id"]
    assert {
        one["person"]: one["delegates"] for one in (await _json(env, "list", "--group", "compliance"))["people"]
    } == {
        "ann": ["sam"],
        "ben": [],
        "cat": [],
    }
    sam = await _json(env, "show", "sam")
    assert (sam["stands_in_for"], sam["slack"]) == (["ann"], ["T0ACME USAM"])
    ((told,), said) = (sam["delegations"], ("delegator", "delegate", "groups", "recorded_by", "reason", "ended_by"))
    assert [told[name] for name in said] == ["ann", "sam", ["compliance"], "omar", "on leave", None]
    over = await act(bench, env, "people", "undelegate", named, "--as", "ann", "--reason", "back early")
    assert (over.code, over.out) == (0, f"{named} is over\n")
    shown = await command("people", "show", "sam", env=env)
    assert "back early" in shown.out
    assert (await _json(env, "show", "sam"))["stands_in_for"] == []


async def test_a_delegation_ends_with_its_last_day_in_utc_and_that_is_told(bench: Bench, env: dict[str, str]) -> None:
    for until in ("2099-12-31", "2100-01-01T00:00:00"):
        done = await act(bench, env, *AWAY, "--until", until, *BY)
        assert (done.code, done.out) == (0, "sam votes for ann until 2100-01-01T00:00:00+00:00\n")


async def test_what_cannot_be_is_one_sentence_and_changes_nothing(bench: Bench, env: dict[str, str]) -> None:
    denied = await act(bench, env, *AWAY, *UNTIL, "--as", "ben", "--reason", "on leave")
    assert is_one_sentence(denied, "nothing was done: denied by policy: Only the tenant's operators may do")
    assert is_one_sentence(await act(bench, env, *AWAY, *UNTIL, "--group", "legal", *BY), "ann is not in legal")
    assert is_one_sentence(await command("people", "show", "nobody", env=env), "there is no person nobody")
    wrong = await command(*AWAY, "--until", "tomorrow", *BY, env=env)
    assert (wrong.code, "tomorrow is no day, moment or duration" in wrong.err) == (2, True)
    assert await bench.rows("SELECT 1 FROM delegations") == []


BY_OPERATOR = ("--as", "omar", "--reason", "for the vault")


@pytest.fixture
def passkeys_env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path, public_url=PUBLIC_URL))


async def test_a_link_registers_a_passkey_which_is_listed_and_revoked(
    bench: Bench, passkeys_env: dict[str, str]
) -> None:
    invited = await act(bench, passkeys_env, "people", "passkeys", "invite", "sam", *BY_OPERATOR)
    assert invited.code == 0, invited.err
    link = invited.out.strip()
    assert link.startswith(f"{PUBLIC_URL}/passkeys/")
    token = urlsplit(link).path.rpartition("/")[2]
    mine = authenticator(credential_id=b"\xf8" + bytes(31))
    assert mine.id.startswith("-"), "as one in sixty-four does, and it is no option"
    page = await counter(bench).open(token)
    assert isinstance(page, RegistrationPage)
    assert (page.person_id, page.invited_by) == ("sam", "omar")
    assert await counter(bench).register(token, mine.make(page.ceremony.challenge)) == ""
    revoked = await act(bench, passkeys_env, "people", "passkeys", "revoke", mine.id, *BY_OPERATOR)
    assert (revoked.code, revoked.out) == (0, f"{mine.id} is revoked\n")
    listed = await command("people", "passkeys", "list", "--person", "sam", "--json", env=passkeys_env)
    (one,) = json.loads(listed.out)["passkeys"]
    assert (one["credential_id"], one["person"], one["revoked_by"]) == (mine.id, "sam", "omar")
    for words in (("--since", "9000-01-01"), ("--after", mine.id)):
        none = await command("people", "passkeys", "list", *words, "--json", env=passkeys_env)
        assert (none.code, json.loads(none.out)["passkeys"]) == (0, [])
    nobodys = await command("people", "passkeys", "list", "--person", "pam", "--json", env=passkeys_env)
    assert json.loads(nobodys.out) == {"passkeys": [], "next": None}


async def test_what_policy_denies_gives_no_link(bench: Bench, passkeys_env: dict[str, str]) -> None:
    denied = await act(bench, passkeys_env, "people", "passkeys", "invite", "omar", *BY_OPERATOR)
    assert is_one_sentence(denied, "Someone else must invite a person to register a passkey")
    assert not await bench.rows("SELECT 1 FROM passkey_links")


async def test_without_an_address_of_the_edge_nobody_is_invited(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    env = environment(settings_of(dsn, opa.url, tmp_path))
    assert is_one_sentence(
        await command("people", "passkeys", "invite", "sam", *BY_OPERATOR, env=env), "COUNTERSIGN_PUBLIC_URL"
    )


@pytest.mark.parametrize("url", ["http://countersign.example", "https://countersign.example/", "https://Host.example"])
async def test_an_address_at_which_no_passkey_works_is_named(dsn: str, opa: OpaChild, tmp_path: Path, url: str) -> None:
    env = {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_PUBLIC_URL": url}
    assert is_one_sentence(await command("people", "passkeys", "list", env=env), "COUNTERSIGN_PUBLIC_URL")


NAMED = ("--as", "omar", "--reason", "CHG-1201")


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    settings = settings_of(dsn, opa.url, tmp_path)
    async with composed(settings) as system, edge_of(system) as edge:
        yield Office(system, edge, environment(settings))


async def _definitions_json(office: Office, *words: str) -> Any:
    finished = await command("definitions", *words, "--json", env=office.env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def test_versions_are_listed_a_page_at_a_time(office: Office) -> None:
    listed = (await _definitions_json(office, "list"))["versions"]
    assert [(row["name"], row["version"], row["status"], row["changed_by"]) for row in listed] == [
        ("access-request", 2, "active", "countersign"),
        ("incident-triage", 3, "active", "countersign"),
        ("kyc-escalated", 1, "active", "countersign"),
        ("kyc-onboarding", 4, "active", "countersign"),
        ("kyc-subsidiary", 1, "active", "countersign"),
    ]
    page = await command("definitions", "list", "--limit", "1", env=office.env)
    assert page.out.splitlines()[-1] == "There are more: --after access-request:2"
    behind = await _definitions_json(office, "list", "--after", "access-request:2")
    assert [row["name"] for row in behind["versions"]] == [
        "incident-triage",
        "kyc-escalated",
        "kyc-onboarding",
        "kyc-subsidiary",
    ]
    assert (await _definitions_json(office, "list", "--status", "draft"))["versions"] == []
    found = await _definitions_json(office, "list", "--trigger", "kyc.onboarding", "--limit", "1")
    assert ([row["name"] for row in found["versions"]], found["next"]) == (["kyc-onboarding"], None)
    assert len((await _definitions_json(office, "list", "--since", "P1D"))["versions"]) == len(listed)
    assert (await _definitions_json(office, "list", "--until", "P1D"))["versions"] == []
    unknown = await command("definitions", "list", "--after", "foo:1", env=office.env)
    assert is_one_sentence(unknown, "foo")
    wrong = await command("definitions", "list", "--after", "incident-triage", env=office.env)
    assert (wrong.code, "incident-triage is not NAME:VERSION" in wrong.err) == (2, True)


async def test_a_version_is_shown_with_its_digest_its_moves_and_all_that_it_says(office: Office) -> None:
    shown = await _definitions_json(office, "show", "kyc-onboarding")
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
    found = await _definitions_json(office, "diff", "incident-triage", "3", "--against", "3")
    assert found == {"name": "incident-triage", "from": 3, "to": 3, "changes": []}


async def test_a_draft_is_compared_with_the_version_that_is_active(office: Office) -> None:
    engine = office.system.engine
    async with engine.pool.connection() as conn:
        known = definition_document(await engine.definitions.get(conn, "kyc-onboarding", 4))
    newer = from_canonical(dumps({**known, "version": 5, "title": "Newer"}))
    await keep_definitions(engine, Catalog({(newer.name, 5): newer}, (), (), frozenset(), {}), Activation.NEWEST)
    await keep_definitions(engine, office.system.catalog, Activation.NEWEST)
    found = await _definitions_json(office, "diff", "kyc-onboarding")
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
    moves = (await _definitions_json(office, "show", "kyc-onboarding"))["moves"]
    assert [(move["event"], move["by"]) for move in moves] == [(ACTIVATED, "countersign"), (RETIRED, "omar")]
    again = await office.act("definitions", "retire", "kyc-onboarding", "4", *NAMED, after=office.work)
    assert is_one_sentence(again, "nothing was done: kyc-onboarding version 4 is retired")


async def test_who_activates_is_somebody_of_the_directory_and_says_why(office: Office) -> None:
    words = ("definitions", "activate", "kyc-onboarding", "4")
    stranger = await command(*words, "--as", "mallory", "--reason", "x", env=office.env)
    assert is_one_sentence(stranger, "the directory has no person mallory")
    silent = await command(*words, "--as", "omar", env=office.env)
    assert (silent.code, "--reason" in silent.err) == (2, True)
