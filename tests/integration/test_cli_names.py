"""What a person does by command is on record as theirs: rotating keys, loading the directory, rekeying tokens.

Whom the directory does not have does nothing.
"""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from tests.bench import TENANT, Bench
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.logins import as_directory


@dataclass
class Desk:
    """A bench, and the settings of who sits beside it."""

    bench: Bench
    env: dict[str, str]

    async def done(self, *words: str, by: str = "omar") -> Finished:
        return await command(*words, "--as", by, "--json", env=self.env)

    async def acts(self, event: str, tenant: str = TENANT) -> list[tuple[str, Any]]:
        """Return who did what, of the acts of a tenant that are called so."""
        query = "SELECT leaf FROM tenant_leaves WHERE tenant = %s AND leaf ->> 'event' = %s ORDER BY seq"
        leaves = [row["leaf"] for row in await self.bench.rows(query, tenant, event)]
        return [(leaf["actor"]["id"], leaf["data"]) for leaf in leaves]


@pytest.fixture
def desk(bench: Bench, dsn: str, opa: OpaChild, tmp_path: Path) -> Desk:
    more = {
        "COUNTERSIGN_DIRECTORY_DATABASE_URL": as_directory(dsn),
        "COUNTERSIGN_PUBLIC_URL": "https://countersign.example",
        "COUNTERSIGN_SLACK_CLIENT_ID": "1.2",
        "COUNTERSIGN_SLACK_CLIENT_SECRET": "secret-of-our-app",
        "COUNTERSIGN_SLACK_TOKEN_KEYS": json.dumps([b64encode(b"k" * 32).decode()]),
    }
    env = {**environment(settings_of(dsn, opa.url, tmp_path)), **more}
    del env["COUNTERSIGN_SLACK_BOT_TOKEN"]
    return Desk(bench, env)


@pytest.mark.parametrize(
    "words",
    [("keys", "rotate"), ("keys", "revoke", "0" * 64, "--reason", "lost"), ("log", "rotate"), ("slack", "rekey")],
    ids=" ".join,
)
async def test_a_stranger_changes_no_key(desk: Desk, words: tuple[str, ...]) -> None:
    refused = await desk.done(*words, by="mallory")
    assert (refused.code, refused.out, refused.err) == (1, "", "countersign: the directory has no person mallory\n")
    agent = await desk.done(*words, by="portal-bot")
    assert (agent.code, agent.err) == (1, "countersign: the directory has no person portal-bot\n")
    for event in ("key.registered", "key.revoked", "log_key.seen", "slack.rekeyed"):
        assert await desk.acts(event) == []


async def test_a_key_is_revoked_for_a_reason(desk: Desk) -> None:
    first, _ = json.loads((await desk.done("keys", "rotate")).out)["keys"]
    refused = await desk.done("keys", "revoke", first["id"], "--reason", " \u200b")
    assert (refused.code, refused.out, "give a reason: this one is blank" in refused.err) == (2, "", True)
    assert await desk.acts("key.revoked") == []


async def test_who_rotated_and_revoked_a_signing_key_is_on_record(desk: Desk) -> None:
    first, second = json.loads((await desk.done("keys", "rotate")).out)["keys"]
    revoked = await desk.done("keys", "revoke", first["id"], "--reason", "the machine was stolen", by="ann")
    assert json.loads(revoked.out)["keys"][0]["revoked"]["why"] == "the machine was stolen"
    registered = [(by, said["key_id"]) for by, said in await desk.acts("key.registered")]
    assert registered == [("countersign", first["id"]), ("omar", second["id"])]
    assert [(by, said["key_id"]) for by, said in await desk.acts("key.succeeded")] == [("omar", first["id"])]
    assert [(by, said["why"]) for by, said in await desk.acts("key.revoked")] == [("ann", "the machine was stolen")]


async def test_who_put_tokens_under_another_key_is_on_record(desk: Desk) -> None:
    assert json.loads((await desk.done("slack", "rekey")).out)["installations"] == 0
    assert [by for by, _ in await desk.acts("slack.rekeyed")] == ["omar"]


def _directory(folder: Path, version: int, *people: str) -> str:
    file = folder / f"{version}.yaml"
    lines = (f"- {{id: {one}, name: {one.title()}, groups: [operators]}}\n" for one in people)
    file.write_text(f"version: {version}\npeople:\n{''.join(lines)}", encoding="utf-8")
    return str(file)


async def test_who_loaded_a_directory_is_on_record_and_is_in_the_one_that_was_loaded(
    desk: Desk, tmp_path: Path
) -> None:
    desk.env["COUNTERSIGN_TENANT"] = "fresh"
    first, second = _directory(tmp_path, 1, "anna", "omar"), _directory(tmp_path, 2, "anna", "mallory")
    stranger = await desk.done("people", "load", first, by="mallory")
    assert (stranger.code, stranger.err) == (1, "countersign: the directory has no person mallory\n")
    loaded = await desk.done("people", "load", first)
    assert json.loads(loaded.out) == {"version": 1, "people": 2, "agents": 0}
    himself = await desk.done("people", "load", second, by="mallory")
    assert (himself.code, himself.err) == (1, "countersign: the directory has no person mallory\n")
    assert (await desk.done("people", "load", second, by="anna")).code == 0
    loads = [(by, said["version"]) for by, said in await desk.acts("directory.loaded", "fresh")]
    assert loads == [("omar", 1), ("anna", 2)]
    again = await desk.done("people", "load", second, by="omar")
    assert again.code == 0, "what is loaded already changes nothing, though omar is in it no more"
    assert len(await desk.acts("directory.loaded", "fresh")) == 2


async def test_a_register_that_is_exported_overwrites_no_other(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    words = ("keys", "export", "-o", str(file), "--json")
    await desk.done("keys", "rotate")
    assert json.loads((await command(*words, env=desk.env)).out) == {"register": str(file)}
    assert (await command(*words, env=desk.env)).code == 0, "the same is there already"
    before = file.read_bytes()
    await desk.done("keys", "rotate")
    refused = await command(*words, env=desk.env)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"countersign: {file} exists with other content: nothing is overwritten\n"
    assert file.read_bytes() == before
