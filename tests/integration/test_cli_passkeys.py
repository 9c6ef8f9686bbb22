"""Passkeys from the command line: a link for an invitation, a list, a revocation by a named person."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from countersign.embedded.opa import OpaChild
from runtime.services.passkey_ceremonies import RegistrationPage
from tests.bench import PUBLIC_URL, Bench
from tests.integration.passkeys_stage import authenticator, counter
from tests.integration.program_stage import command, environment, settings_of
from tests.integration.test_cli import is_one_sentence
from tests.integration.test_cli_people import act

BY = ("--as", "omar", "--reason", "for the vault")


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path, public_url=PUBLIC_URL))


async def test_a_link_registers_a_passkey_which_is_listed_and_revoked(bench: Bench, env: dict[str, str]) -> None:
    invited = await act(bench, env, "people", "passkeys", "invite", "sam", *BY)
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
    revoked = await act(bench, env, "people", "passkeys", "revoke", mine.id, *BY)
    assert (revoked.code, revoked.out) == (0, f"{mine.id} is revoked\n")
    listed = await command("people", "passkeys", "list", "--person", "sam", "--json", env=env)
    (one,) = json.loads(listed.out)
    assert (one["credential_id"], one["person"], one["revoked_by"]) == (mine.id, "sam", "omar")
    nobodys = await command("people", "passkeys", "list", "--person", "pam", "--json", env=env)
    assert json.loads(nobodys.out) == []


async def test_what_policy_denies_gives_no_link(bench: Bench, env: dict[str, str]) -> None:
    denied = await act(bench, env, "people", "passkeys", "invite", "omar", *BY)
    assert is_one_sentence(denied, "Someone else must invite a person to register a passkey")
    assert not await bench.rows("SELECT 1 FROM passkey_links")


async def test_without_an_address_of_the_edge_nobody_is_invited(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    env = environment(settings_of(dsn, opa.url, tmp_path))
    assert is_one_sentence(await command("people", "passkeys", "invite", "sam", *BY, env=env), "COUNTERSIGN_PUBLIC_URL")


@pytest.mark.parametrize("url", ["http://countersign.example", "https://countersign.example/", "https://Host.example"])
async def test_an_address_at_which_no_passkey_works_is_named(dsn: str, opa: OpaChild, tmp_path: Path, url: str) -> None:
    env = {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_PUBLIC_URL": url}
    assert is_one_sentence(await command("people", "passkeys", "list", env=env), "COUNTERSIGN_PUBLIC_URL")
