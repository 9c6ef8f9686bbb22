"""Installed workspaces: by OAuth, and as operators and auditors see them.

The app is installed by OAuth: by the leave of a link alone, on record, and with tokens that nobody can read.

Operators and auditors see where the app is installed: by command, by the doctor, and in an audit of the log.
"""

import asyncio
import json
import socket
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.readiness import Readiness
from countersign.doctor.slack import members, slack
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from countersign.serve import make_edge, make_refusals
from countersign.settings import Settings
from countersign.slack import manifest_of
from countersign.system import compose
from policy.client import OpaEngine
from receipts.chain import Actor
from receipts.vault import VaultError
from runtime.inbox import inbox
from runtime.services.audit import audit
from runtime.services.installations import rekey
from runtime.services.sequencer import Sequencer
from tests.bench import TEAM, TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.running import heard
from tests.integration.test_cli import is_one_sentence
from tests.integration.workspaces_stage import BETA, CHANNEL, CREDENTIALS, DAY, OUR_KEY, Stage, desk_of, installing
from tests.patience import MINUTE


@pytest.fixture
async def stage(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Stage]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, installing(dsn, policy, targets) as running:
        yield running


async def test_a_link_installs_the_app_and_cards_are_posted_with_its_token(stage: Stage) -> None:
    facts, link = await stage.link()
    status, authorize, cookie = await stage.begin(link)
    assert (facts["status"], status) == ("applied", 302)
    assert cookie
    status, page = await stage.come_back(await stage.say(authorize, BETA), cookie)
    assert (status, "Installed in Beta" in page) == (200, True)
    await stage.file()
    assert "Approval needed" in str(stage.posted(BETA, CHANNEL))
    assert stage.posted(TEAM, "C0APPROVALS") == []


async def test_link_installation_and_who_installed_are_on_record(stage: Stage) -> None:
    await stage.install(BETA)
    (link,) = await stage.acts("slack.link_made")
    (installed,) = await stage.acts("slack.installed")
    assert link["reason"] == "a new team"
    assert link["policy"]["decision_id"]
    assert (installed["team"], installed["enterprise"], installed["link_id"]) == (BETA, "", link["link_id"])
    assert "chat:write" in installed["scopes"]
    actors = await stage.bench.rows(
        "SELECT leaf->'actor'->>'id' AS id FROM tenant_leaves WHERE leaf->>'event' LIKE 'slack.%%' ORDER BY seq"
    )
    assert [row["id"] for row in actors] == ["omar", f"slack:{BETA}:UANN"]


async def test_nobody_reads_a_token_or_a_link_in_the_database(stage: Stage) -> None:
    await stage.install(BETA)
    (one,) = await stage.desk.live()
    rows = await stage.bench.rows("SELECT t::text AS t, l::text AS l FROM slack_tokens t, slack_links l")
    (row,) = await stage.bench.rows("SELECT token FROM slack_tokens")
    assert one.tokens.access not in str(rows)
    assert one.tokens.access.encode() not in bytes(row["token"])
    assert one.tokens.access not in repr(one)


async def test_only_operators_make_links(stage: Stage) -> None:
    facts, link = await stage.link(by="ann")
    assert facts["status"] == "refused"
    assert "Only the tenant's operators" in facts["reason"]
    assert (await stage.begin(link))[0] == 403


async def test_a_link_serves_one_installation(stage: Stage) -> None:
    _, link = await stage.link()
    _, first, cookie = await stage.begin(link)
    _, second, other_cookie = await stage.begin(link)
    assert (await stage.come_back(await stage.say(first, BETA), cookie))[0] == 200
    status, page = await stage.come_back(await stage.say(second, TEAM), other_cookie)
    assert (status, "was used already" in page) == (500, True)
    assert (await stage.begin(link))[0] == 403
    assert [one.place.team for one in await stage.desk.live()] == [BETA]


async def test_a_link_is_good_until_its_time_is_over(stage: Stage) -> None:
    _, link = await stage.link(lasts=timedelta(hours=1))
    stage.bench.clock.move(hours=1)
    assert (await stage.begin(link))[0] == 403
    assert (await stage.begin(f"{stage.public}/slack/install"))[0] == 403


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("used", "too long ago, or is already finished"),
        ("late", "too long ago, or is already finished"),
        ("foreign", "too long ago, or is already finished"),
        ("other browser", "in another browser"),
        ("refused", "You did not allow it"),
        ("no code", "did not say whether you allow it"),
    ],
)
async def test_what_comes_back_without_leave_installs_nothing(stage: Stage, broken: str, says: str) -> None:
    _, link = await stage.link()
    _, authorize, cookie = await stage.begin(link)
    back = await stage.say(authorize, BETA, "deny" if broken == "refused" else "allow")
    if broken == "used":
        assert await stage.desk.take_state(back.partition("state=")[2].partition("&")[0])
    if broken == "late":
        stage.bench.clock.move(minutes=10)
    if broken == "foreign":
        back, cookie = back.replace("state=", "state=x"), cookie.replace("state=", "state=x")
    if broken == "no code":
        back = back.replace("code=", "kode=")
    status, page = await stage.come_back(back, "" if broken == "other browser" else cookie)
    assert (status == 200) == (broken == "refused")
    assert says in page
    assert await stage.desk.live() == []
    assert await stage.acts("slack.installed") == []


async def test_a_code_that_slack_does_not_take_installs_nothing(stage: Stage) -> None:
    _, link = await stage.link()
    _, authorize, cookie = await stage.begin(link)
    back = await stage.say(authorize, BETA)
    stage.faults.refuse("oauth.v2.access", "invalid_code")
    assert (await stage.come_back(back, cookie))[0] == 401
    assert await stage.desk.live() == []


async def test_a_workspace_of_another_tenants_is_not_taken_over(stage: Stage) -> None:
    await stage.install(BETA)
    await stage.bench.meddle("INSERT INTO tenants (tenant, salt, mocked) VALUES ('other', 's', false)")
    await stage.bench.meddle("UPDATE slack_installations SET tenant = 'other'")
    _, link = await stage.link()
    _, authorize, cookie = await stage.begin(link)
    status, page = await stage.come_back(await stage.say(authorize, BETA), cookie)
    assert (status, "installed there for somebody else" in page) == (500, True)
    assert await stage.desk.live() == []


async def test_to_install_again_ends_the_installation_before(stage: Stage) -> None:
    await stage.install(BETA)
    (first,) = await stage.desk.live()
    await stage.install(BETA)
    (second,) = await stage.desk.live()
    assert first.tokens.access != second.tokens.access
    assert await stage.acts("slack.removed") == [{"installation_id": first.installation_id, "why": "installed_again"}]
    assert len(await stage.bench.rows("SELECT 1 FROM slack_tokens")) == 1


async def test_tokens_are_put_under_a_new_key_and_the_old_one_can_go(stage: Stage) -> None:
    await stage.install(BETA)
    new = b"n" * 32
    with pytest.raises(VaultError, match="there is no key"):
        await desk_of(stage.bench, new).live()
    async with stage.bench.engine.pool.connection() as conn:
        vault, omar = desk_of(stage.bench, new, OUR_KEY).vault, Actor(id="omar", kind="person")
        assert await rekey(conn, TENANT, vault, omar, stage.bench.clock()) == 1
    assert [one.place.team for one in await desk_of(stage.bench, new).live()] == [BETA]
    assert [act["installations"] for act in await stage.acts("slack.rekeyed")] == [1]


async def test_a_token_is_read_only_as_that_of_its_installation(stage: Stage) -> None:
    await stage.install(BETA)
    await stage.install(TEAM)
    await stage.bench.meddle(
        "UPDATE slack_tokens SET token = (SELECT token FROM slack_tokens ORDER BY installation_id LIMIT 1)"
    )
    with pytest.raises(VaultError, match="was changed, or is not of it"):
        await stage.desk.live()


NEW_ONE = """
    INSERT INTO slack_installations
    SELECT 'ins_new', tenant, 'T0NEW', '', name, app_id, bot_user, bot_id, scopes, link_id, installed_by, installed_at
      FROM slack_installations LIMIT 1
"""
BY = ("--as", "omar", "--reason", "the new subsidiary")


def _settings(dsn: str, opa: OpaChild, home: Path, **more: Any) -> Settings:
    return settings_of(
        dsn,
        opa.url,
        home,
        slack_bot_token=None,
        slack_client_id=CREDENTIALS.client_id,
        slack_client_secret=CREDENTIALS.client_secret,
        public_url="https://countersign.example",
        **{"slack_token_keys": [b64encode(OUR_KEY).decode()], **more},
    )


async def _act(bench: Bench, env: dict[str, str], *words: str) -> Finished:
    """Run a command that puts acts on record, and apply them here, as a worker would."""
    acting = asyncio.create_task(command(*words, env=env))
    while not acting.done():
        for row in await bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(bench.engine, row["notification_id"])
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def test_a_link_is_made_by_command_and_opens_the_way_to_slack(
    stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    env = {name: value for name, value in environment(_settings(dsn, opa, tmp_path)).items() if value != "None"}
    stage.bench.clock.move(days=10_000)  # the command reads the real clock
    done = await _act(stage.bench, env, "slack", "install-link", *BY, "--hours", "720", "--json")
    assert is_one_sentence(done, "it would be over before it begins")
    stage.bench.clock.move(days=-10_000)
    done = await _act(stage.bench, env, "slack", "install-link", *BY, "--json")
    assert done.code == 0, done.err
    link = json.loads(done.out)["link"]
    assert link.startswith("https://countersign.example/slack/install?link=")
    assert (await stage.begin(link.replace("https://countersign.example", stage.public)))[0] == 302
    denied = await _act(stage.bench, env, "slack", "install-link", "--as", "ann", "--reason", "because")
    assert is_one_sentence(denied, "denied by policy: Only the tenant's operators")


async def test_places_are_listed_and_tokens_put_under_another_key(
    stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    await stage.install(BETA)
    await stage.install(TEAM)
    await (await stage.person("ann", TEAM)).uninstall()
    keys = [(await command("slack", "new-key", env={})).out.strip(), b64encode(OUR_KEY).decode()]
    settings = _settings(dsn, opa, tmp_path, slack_token_keys=keys)
    env = {name: value for name, value in environment(settings).items() if value != "None"}
    places = json.loads((await command("slack", "list", "--json", env=env)).out)["installations"]
    assert [(one["team"], one["why"]) for one in places] == [(BETA, None), (TEAM, "tokens_revoked")]
    done = await command("slack", "rekey", "--as", "omar", env=env)
    assert done.out.startswith("the tokens of 1 installation are under key "), done.err
    wrong = environment(_settings(dsn, opa, tmp_path))
    wrong = {name: value for name, value in wrong.items() if value != "None"}
    refused = await command("slack", "rekey", "--as", "omar", env=wrong)
    assert is_one_sentence(refused, "nothing was changed: there is no key")


async def test_a_process_serves_the_pages_and_posts_with_granted_tokens_where_its_settings_say_so(
    stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    await stage.install(BETA)
    _, link = await stage.link(lasts=10_000 * DAY)  # the process reads the real clock
    base_url = stage.workspaces._client.base_url
    settings = _settings(dsn, opa, tmp_path, slack_api_url=base_url)
    listener = socket.create_server(("127.0.0.1", 0))
    async with compose(settings, frozenset({Role.BOT, Role.WORKER})) as system:
        assert system.bot
        app = make_edge(system, Readiness(system, system.bot.health), make_refusals(system))
        async with heard(app, listener):
            here = f"http://127.0.0.1:{listener.getsockname()[1]}"
            status, where, _ = await stage.begin(link.replace(stage.public, here))
        assert status == 302
        assert where.startswith("https://slack.com/oauth/v2/authorize?")
        assert "redirect_uri=https://countersign.example/slack/oauth_redirect" in where
        assert (await system.bot.client.auth_test())["team_id"] == BETA
    listener.close()


async def test_the_doctor_names_each_place_and_what_is_wrong_there(
    stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    base_url = stage.workspaces._client.base_url
    settings = _settings(
        dsn, opa, tmp_path, slack_api_url=base_url, slack_channel="C0APPROVALS", slack_channels={"compliance": CHANNEL}
    )
    (nowhere,) = [fact for fact in await slack(settings) if not fact.ok]
    assert nowhere.detail == "the app is installed nowhere"
    await stage.install(TEAM)
    await stage.install(BETA)
    facts = {fact.name: fact for fact in await slack(settings)}
    assert {name for name, fact in facts.items() if not fact.ok} == set()
    assert {f"slack token of {BETA}", f"slack scopes of {TEAM}", f"slack channel {CHANNEL}"} <= facts.keys()
    await (await stage.person("ann", BETA)).uninstall()
    wrong = {fact.name: fact for fact in await slack(settings) if not fact.ok}
    assert wrong.keys() == {f"slack workspace {BETA}", f"slack channel {CHANNEL}"}
    assert "install-link" in wrong[f"slack workspace {BETA}"].remedy
    stage.sandboxes[TEAM].store.data.uninstalled = True
    wrong = {fact.name: fact for fact in await slack(settings) if not fact.ok}
    assert wrong[f"slack token of {TEAM}"].detail == "account_inactive"


async def test_the_doctor_names_people_who_have_left(stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    await stage.life.note_member(TEAM, "UANN", is_active=False)
    (fact,) = await members(_settings(dsn, opa, tmp_path))
    assert (fact.ok, fact.detail) == (False, "deactivated in Slack: ann")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE slack_installations SET team = 'T0EVIL' WHERE team = 'T0BETA'",
        "UPDATE slack_installations SET removed_at = NULL, removed_why = NULL",
        "UPDATE slack_installations SET installed_by = 'slack:T0BETA:UEVE'",
        "DELETE FROM slack_installations WHERE team = 'T0BETA'",
        NEW_ONE,
    ],
)
async def test_an_audit_finds_installations_that_are_not_as_they_were_put_on_record(stage: Stage, change: str) -> None:
    await stage.install(BETA)
    await (await stage.person("ann", BETA)).uninstall()
    while await Sequencer(stage.bench.engine)():
        pass
    assert (await asyncio.to_thread(audit, stage.bench.superuser, TENANT, ())).findings == []
    await stage.bench.meddle(change)
    assert (await asyncio.to_thread(audit, stage.bench.superuser, TENANT, ())).findings


async def test_the_manifest_is_printed_with_the_domain_of_our_links() -> None:
    done = await command("slack", "manifest", env={"COUNTERSIGN_PUBLIC_URL": "https://countersign.example"})
    assert (done.code, done.out) == (0, manifest_of("https://countersign.example"))
