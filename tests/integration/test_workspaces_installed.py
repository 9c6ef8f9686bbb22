"""The app is installed by OAuth: by the leave of a link alone, on record, and with tokens that nobody can read."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.vault import VaultError
from runtime.services.installations import rekey
from tests.bench import TEAM, TENANT
from tests.integration.conftest import Targets
from tests.integration.workspaces_stage import BETA, CHANNEL, OUR_KEY, Stage, desk_of, installing
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
        assert await rekey(conn, TENANT, desk_of(stage.bench, new, OUR_KEY).vault, stage.bench.clock()) == 1
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
