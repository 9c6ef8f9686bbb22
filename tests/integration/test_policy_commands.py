"""`policy propose`, `activate`, `rollback`, `list` and `show`, as authors and officers use them."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from policy.keys import load_or_create
from runtime.inbox import inbox
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.test_policy_versions import FILE, life
from tests.integration.versions_stage import SIGNERS, PolicyLife, more_writes, without_opa_program
from tests.opa_server import opa_program

__all__ = ["life"]

RAISED = ("--as", "rita", "--comment", "campaigns need more")
WISHED = ("--as", "omar", "--reason", "agreed")


@pytest.fixture
async def env(life: PolicyLife, dsn: str, tmp_path: Path) -> dict[str, str]:
    """Return the settings of somebody at the desk, where one filing was decided and the first version is in force."""
    await life.install()
    await life.bench.start("bench.file", FILE, "past")
    await life.bench.settle()
    found = environment(settings_of(dsn, life.opa.url, tmp_path))
    shutil.copytree(tmp_path / "author", tmp_path / "desk/keys")
    return {**found, "COUNTERSIGN_HOME": str(tmp_path / "desk"), "COUNTERSIGN_OPA": str(opa_program())}


async def policy(env: dict[str, str], *words: str) -> Finished:
    return await command("policy", *words, env=env)


async def told(env: dict[str, str], *words: str) -> Any:
    done = await policy(env, *words, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


async def test_a_folder_is_checked_backtested_and_proposed(life: PolicyLife, env: dict[str, str]) -> None:
    folder = life.changed("next", more_writes)
    proposed = await told(env, "propose", str(folder), *RAISED)
    changes = ["wider    acme.writes_per_run  was 60, now 90"]
    assert (proposed["version"], proposed["changes"], proposed["worst"]) == (2, changes, "nothing would have changed")
    assert [(one["class"], one["share"]) for one in proposed["backtest"]] == [
        ("All decisions", "100.00 %"),
        ("Unchanged", "100.00 %"),
    ]
    shown = await told(env, "show", "2")
    assert (shown["status"], shown["author"], shown["comment"]) == ("draft", "rita", "campaigns need more")
    assert shown["report"]["candidate"] == shown["digest"] == proposed["policy_digest"]
    assert [(one["version"], one["status"]) for one in (await told(env, "list"))["versions"]] == [
        (2, "draft"),
        (1, "active"),
    ]
    (first,) = (await told(env, "list", "--status", "active"))["versions"]
    assert (first["author"], first["comment"]) == ("installation", "came with the installation")
    assert (await policy(env, "diff", "1", "2")).out == f"{changes[0]}\n"


async def _shown_everywhere(life: PolicyLife, env: dict[str, str], *period: str) -> tuple[list[tuple[str, str]], str]:
    """Propose with a backtest of a period; return its rows and worst example, the same at the desk and on the card."""
    proposed = await told(env, "propose", str(life.changed("next", more_writes)), *RAISED, *period)
    shown = await told(env, "show", "2")
    await life.activate(2)
    (card,) = await life.bench.rows("SELECT fields FROM effects WHERE connector = 'policy'")
    rows, worst = proposed["backtest"], proposed["worst"]
    assert (shown["backtest"], shown["worst"]) == (rows, worst)
    assert (card["fields"]["backtest"], card["fields"]["worst"]) == (rows, worst)
    printed = (await policy(env, "show", "2")).out.splitlines()
    assert f"  {rows[0]['class']}: {rows[0]['decisions']} (100.00 %)" in printed
    assert printed[-1] == f"  {worst}"
    return [(one["class"], one["decisions"]) for one in rows], worst


async def test_a_backtest_of_a_sample_of_a_period_says_so_at_the_desk_and_on_the_card(
    life: PolicyLife, env: dict[str, str]
) -> None:
    period = ("--since", "2001-02-03T00:00:00Z", "--until", "2100-01-01T00:00:00Z", "--sample", "5000")
    rows, worst = await _shown_everywhere(life, env, *period)
    which = "A sample of at most 5,000 decisions since 2001-02-03T00:00:00.000000Z until 2100-01-01T00:00:00.000000Z"
    assert (rows, worst) == ([(which, "2"), ("Unchanged", "2")], "nothing would have changed")


async def test_a_backtest_of_a_period_without_decisions_says_that_none_was_asked(
    life: PolicyLife, env: dict[str, str]
) -> None:
    rows, worst = await _shown_everywhere(life, env, "--until", "2001-02-03T00:00:00Z")
    assert rows == [("All decisions until 2001-02-03T00:00:00.000000Z", "0")]
    assert worst == "no decision was asked"


async def test_what_is_wrong_with_a_proposal_is_said_and_nothing_is_added(
    life: PolicyLife, env: dict[str, str]
) -> None:
    broken = life.changed("broken", lambda config: config.pop("requirements"))
    faults = await policy(env, "propose", str(broken), *RAISED)
    assert (faults.code, "the policy has faults, and is not proposed" in faults.err) == (1, True)
    same = await policy(env, "propose", str(life.folder), *RAISED)
    assert "version 1 has this very text: activate that one" in same.err
    stranger = await policy(env, "propose", str(life.changed("next", more_writes)), "--as", "nobody", "--comment", "x")
    assert (stranger.code, "nobody" in stranger.err) == (1, True)
    assert [one["version"] for one in (await told(env, "list"))["versions"]] == [1]


async def test_a_version_is_signed_by_a_key_that_is_there_and_trusted(
    life: PolicyLife, env: dict[str, str], tmp_path: Path
) -> None:
    folder = str(life.changed("next", more_writes))
    missing = await policy(env, "propose", folder, *RAISED, "--key", str(tmp_path / "none.pem"))
    assert "there is no such key" in missing.err
    load_or_create(tmp_path / "other.pem")
    foreign = await policy(env, "propose", folder, *RAISED, "--key", str(tmp_path / "other.pem"))
    assert "is not trusted" in foreign.err
    assert [one["version"] for one in (await told(env, "list"))["versions"]] == [1]


async def test_a_policy_by_which_nobody_could_sign_the_next_one_is_not_proposed(
    life: PolicyLife, env: dict[str, str]
) -> None:
    shut = life.changed("shut", lambda config: config["connectors"].pop("policy"))
    refused = await policy(env, "propose", str(shut), *RAISED)
    assert (refused.code, "so it could never be changed by signatures" in refused.err) == (1, True)


async def acted(life: PolicyLife, env: dict[str, str], *words: str) -> Finished:
    """Run a command while somebody works for it."""
    acting = asyncio.create_task(policy(env, *words))
    while not acting.done():
        for row in await life.bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(life.bench.engine, row["notification_id"])
        await life.bench.settle()
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def test_a_version_is_activated_and_rolled_back_at_the_desk(life: PolicyLife, env: dict[str, str]) -> None:
    await told(env, "propose", str(life.changed("next", more_writes)), *RAISED)
    asked = await acted(life, env, "activate", "2", *WISHED)
    assert "policy requires signatures, which are requested now" in asked.out
    await life.sign(*SIGNERS)
    shown = await told(env, "show")
    assert (shown["version"], shown["status"], [one["replaces"] for one in shown["activations"]]) == (2, "active", [1])
    again = await acted(life, env, "activate", "2", *WISHED)
    assert "nothing was done: policy version 2 is in force" in again.err
    assert "there is no policy version 9" in (await acted(life, env, "activate", "9", *WISHED)).err
    assert (await acted(life, env, "rollback", *WISHED)).code == 0
    await life.sign(*SIGNERS)
    assert (await told(env, "show"))["version"] == 1
    first = await acted(life, env, "rollback", *WISHED)
    assert "policy version 1 is the first one: there is none before it" in first.err


async def test_a_rollback_that_is_put_off_says_why(life: PolicyLife, env: dict[str, str]) -> None:
    folder = life.changed("next", more_writes)
    await life.activate(await life.propose(folder))
    await life.sign(*SIGNERS)
    await life.serve(folder)
    life.bench = without_opa_program(life.bench)
    why = "the previous version is asked with an `opa` program: set COUNTERSIGN_OPA"
    done = await acted(life, env, "rollback", *WISHED)
    assert (done.code, "a worker will do it" in done.out) == (0, True)
    assert "put off: " in done.out
    assert why in done.out
    facts = json.loads((await acted(life, env, "rollback", *WISHED, "--json")).out)
    assert (facts["run_status"], why in facts["put_off"]) == ("running", True)
