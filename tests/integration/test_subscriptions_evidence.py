"""The evidence of runs of which subscribers were told, or could not be, and what operators see of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.model.subscription import DELIVER
from tests.bench import Bench
from tests.browser import failure_of, verify_page
from tests.integration.conftest import Targets
from tests.integration.glass_stage import break_glass, filing, glass_bench
from tests.integration.hooks_stage import dead_letters, open_ears, subscribed, subscription
from tests.integration.program_stage import command, composed, environment, settings_of
from tests.integration.sealing_stage import noted, open_office

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.mark.parametrize("status", [200, 410])
async def test_both_verifiers_hold_a_run_of_which_subscribers_were_told(
    bench: Bench, dsn: str, tmp_path: Path, page: Page, status: int
) -> None:
    office = open_office(bench, tmp_path, dsn)
    async with open_ears() as ears:
        ears.default = status
        run_id = await noted(subscribed(bench, subscription(ears.url, "effect.settled", "run.completed")))
    while await office.sealer():
        pass
    bundle, public = office.folder / f"{run_id}.zip", public_path(office.settings.key_path)
    assert verify(bundle, public).run_id == run_id
    assert await failure_of(page, bundle.read_bytes(), public.read_text()) is None
    assert any(leaf.data.get("action") == "webhook::deliver" for leaf in await bench.chain(run_id))


async def test_broken_glass_is_told(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with glass_bench(dsn, targets, tmp_path) as bench, open_ears() as ears:
        told = subscribed(bench, subscription(ears.url, "break_glass.used"))
        _, approval = await filing(told)
        assert (await break_glass(told, "ivy", approval, "the register is on fire", "INC-7")).counted
        await told.settle()
    (one,) = ears.heard
    assert (one["data"]["verb"], one["data"]["approval"], one["data"]["status"]) == ("file", approval, "approve")
    assert "fire" not in json.dumps(one)


async def test_operators_see_who_is_told_and_who_is_gone(bench: Bench, dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text(
        "subscriptions: [{name: ears, on: run.completed, to: 'https://ears.hooks.example/in', secret: ears}]",
        encoding="utf-8",
    )
    env = environment(settings_of(dsn, opa.url, tmp_path)) | {
        "COUNTERSIGN_SUBSCRIPTIONS": str(file),
        "COUNTERSIGN_WEBHOOK_SECRETS": json.dumps({"ears": SECRET}),
    }
    checked = await command("subscriptions", "check", str(file), env=env)
    assert (checked.code, checked.out.split(": ")[1].strip()) == (0, "1 subscription, no faults")
    listed = json.loads((await command("subscriptions", "list", "--json", env=env)).out)
    wanted = {"name": "ears", "on": ["run.completed"], "target": "https://ears.hooks.example", "sends": True}
    assert listed == [{**wanted, "waiting": 0, "dead_letters": 0}]
    async with open_ears() as ears:
        ears.default = 410
        one, receiver = subscription(ears.url, "run.completed")
        await noted(subscribed(bench, (one, receiver)))
    (letter,) = await dead_letters(bench)
    (run,) = await bench.rows("SELECT run_id FROM runs")
    assert "it is gone" in (await command("runs", "show", run["run_id"], env=env)).out
    shown = await command("dead-dead_letters", "show", letter["notification_id"], env=env)
    assert "it is gone" in shown.out
    (now,) = json.loads((await command("subscriptions", "list", "--json", env=env)).out)
    assert (now["sends"], now["dead_letters"]) == (True, 1), "the one that is gone was another"


async def test_a_fault_in_the_file_keeps_the_program_from_starting(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text("subscriptions: [{name: ears, on: run.ended}]", encoding="utf-8")
    env = environment(settings_of(dsn, opa.url, tmp_path)) | {"COUNTERSIGN_SUBSCRIPTIONS": str(file)}
    for words in (("subscriptions", "check", str(file)), ("serve", "--role", "worker")):
        finished = await command(*words, env=env)
        assert finished.code != 0
        assert "subscriptions.yaml:1: subscriptions[0].on" in finished.err


async def test_a_program_tells_subscribers_where_there_are_any_and_else_does_not_even_look(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    file = tmp_path / "subscriptions.yaml"
    file.write_text(
        "subscriptions: [{name: ears, on: run.completed, to: 'https://ears.hooks.example/in', secret: ears}]",
        encoding="utf-8",
    )
    named = {"subscriptions": file, "webhook_secrets": {"ears": SECRET}}
    for given, names in (({}, []), (named, ["ears"])):
        async with composed(settings_of(dsn, opa.url, tmp_path, **given)) as system:
            engine = system.engine
            assert [one.name for one in engine.subscriptions] == names
            assert (engine.listener is not None, DELIVER in engine.handlers) == (bool(names), bool(names))
            assert SECRET not in engine.privacy.text(f"it said {SECRET}") or not names
