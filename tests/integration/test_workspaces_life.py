"""What becomes of workspaces: several at once, Grid, tokens that expire or are revoked, and an app that is removed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from bot.views.references import APPROVE
from bot.workspaces import Workspaces
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.installation import InstallPlace
from runtime.model.states import ApprovalStatus
from runtime.services import health as inspection
from runtime.services import installations
from sandbox.harness import SandboxUser
from tests.bench import TEAM, TENANT
from tests.integration.conftest import Targets
from tests.integration.workspaces_stage import (
    BETA,
    CHANNEL,
    CREDENTIALS,
    SECOND,
    Stage,
    desk_of,
    installing,
    workspace,
)
from tests.patience import MINUTE

ROTATING = {**SECOND, "app": {**SECOND["app"], "token_rotation": True}}
GRID = "E0GRID"
WHOLE = workspace(
    {"id": BETA, "name": "Beta", "domain": "beta", "enterprise_id": GRID},
    (CHANNEL, "compliance"),
    is_org_install=True,
)


@pytest.fixture
async def policy(opa: OpaChild) -> AsyncIterator[OpaEngine]:
    async with OpaEngine(opa.url, timeout=MINUTE) as engine:
        yield engine


@pytest.fixture
async def stage(dsn: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Stage]:
    async with installing(dsn, policy, targets) as running:
        yield running


@pytest.fixture
async def rotating(dsn: str, policy: OpaEngine, targets: Targets) -> AsyncIterator[Stage]:
    async with installing(dsn, policy, targets, ROTATING) as running:
        await running.install(BETA)
        yield running


async def approve(stage: Stage, person: SandboxUser) -> None:
    """Approve by the newest card, with a reason, and wait until that is counted."""
    card = await person.find_card(lambda message: APPROVE in str(message))
    assert (await person.click(card, APPROVE))["ok"]
    await person.find_modal()
    votes = len(await stage.bench.rows("SELECT FROM votes"))
    await person.submit({"reason": "seen and checked"})
    async with asyncio.timeout(MINUTE):
        while len(await stage.bench.rows("SELECT FROM votes")) == votes:
            await asyncio.sleep(0.02)


async def known_there(stage: Stage, team: str = BETA) -> None:
    """Have the directory know all people by their accounts in a team."""
    await stage.bench.meddle(
        "INSERT INTO slack_accounts (tenant, team, account, actor_id)"
        " SELECT tenant, %s, account, actor_id FROM slack_accounts WHERE team = %s RETURNING 1",
        team,
        TEAM,
    )


async def blocked(stage: Stage) -> list[str]:
    rows = await stage.bench.rows("SELECT error FROM effects WHERE status = 'blocked' AND operation = 'post_card'")
    return [row["error"] for row in rows]


async def test_each_workspace_is_answered_with_its_own_token(stage: Stage) -> None:
    await stage.install(TEAM)
    await stage.install(BETA)
    await known_there(stage)
    approval_id = await stage.file()
    for team in (TEAM, BETA):
        person = await stage.person("ann", team)
        assert (await person.command("C0APPROVALS" if team == TEAM else CHANNEL, "/countersign pending"))["ok"]
        assert approval_id in str(await person.see())
    await approve(stage, await stage.person("ann", BETA))
    await approve(stage, await stage.person("ben", BETA))
    await stage.bench.settle()
    view = await stage.bench.desk.approval(approval_id)
    assert view
    assert view.status is ApprovalStatus.APPROVED
    assert "Approved" in str(stage.posted(BETA, CHANNEL))


async def test_a_command_is_answered_in_time_in_each_of_several_workspaces_while_slack_takes_ten_seconds(
    stage: Stage,
) -> None:
    await stage.install(TEAM)
    await stage.install(BETA)
    await known_there(stage)
    stage.faults.hold("users.info")
    for team, channel in ((TEAM, "C0APPROVALS"), (BETA, CHANNEL)):
        async with asyncio.timeout(3):
            assert (await (await stage.person("ann", team)).command(channel, "/countersign pending"))["ok"]
    stage.faults.lift("users.info")


async def test_a_workspace_without_an_installation_is_answered_to_nobody(stage: Stage) -> None:
    await stage.install(TEAM)
    await known_there(stage)
    person = await stage.person("ann", BETA)
    await stage.file()
    await person.command(CHANNEL, "/countersign pending")
    assert "Slack did not confirm who you are" in str(await person.see())


async def test_an_organization_is_served_by_one_token_and_its_members_are_known_by_it(
    dsn: str, policy: OpaEngine, targets: Targets
) -> None:
    colleague = {"id": "W0KIM", "name": "kim", "real_name": "Kim", "team_id": "T0OTHER", "enterprise_id": GRID}
    stranger = {"id": "U0EVE", "name": "eve", "real_name": "Eve", "team_id": "T0EVIL", "enterprise_id": "E0EVIL"}
    said = {**WHOLE, "users": [*WHOLE["users"], colleague, stranger]}
    (channel,) = said["channels"]
    said["channels"] = [{**channel, "members": [*channel["members"], "W0KIM", "U0EVE"]}]
    async with installing(dsn, policy, targets, said) as stage:
        await stage.install(BETA)
        (one,) = await stage.desk.live()
        assert one.place == InstallPlace("", GRID)
        for account in ("W0KIM", "U0EVE"):
            await stage.bench.meddle(
                "INSERT INTO slack_accounts (tenant, team, account, actor_id) VALUES (%s, %s, %s, 'ann') RETURNING 1",
                *(TENANT, GRID, account),
            )
        await stage.file()
        eve = await stage.account("U0EVE", BETA)
        await eve.click(await eve.find_card(lambda message: APPROVE in str(message)), APPROVE)
        await eve.find_card(lambda message: "another workspace" in message["text"] or "organization" in message["text"])
        await approve(stage, await stage.account("W0KIM", BETA))
        rows = await stage.bench.rows("SELECT team, account FROM votes")
        assert rows == [{"team": GRID, "account": "W0KIM"}]


async def test_a_removed_app_has_its_cards_held_and_they_go_on_when_it_is_back(stage: Stage) -> None:
    await stage.install(BETA)
    (before,) = await stage.desk.live()
    await (await stage.person("ann", BETA)).uninstall()
    assert await stage.desk.live() == []
    ended = {"installation_id": before.installation_id, "why": "tokens_revoked"}
    assert await stage.acts("slack.removed") == [ended]
    assert await stage.bench.rows("SELECT 1 FROM slack_tokens") == []
    await stage.file()
    assert await blocked(stage) == ["Slack refuses: not_installed"]
    async with stage.bench.engine.pool.connection() as conn:
        assert [one.place.team for one in await installations.ended(conn, TENANT)] == [BETA]
    await stage.install(BETA)
    await stage.bench.later(minutes=3)
    assert await blocked(stage) == []
    assert "Approval needed" in str(stage.posted(BETA, CHANNEL))


async def test_what_slack_said_before_does_not_end_the_installation_that_came_since(stage: Stage) -> None:
    said_at = stage.bench.clock()
    stage.bench.clock.move(hours=1)
    await stage.install(BETA)
    assert not await stage.life.remove(InstallPlace(BETA, ""), "app_uninstalled", said_at)
    assert len(await stage.desk.live()) == 1
    assert await stage.life.remove(InstallPlace(BETA, ""), "app_uninstalled", stage.bench.clock())
    assert not await stage.life.remove(InstallPlace(BETA, ""), "app_uninstalled", stage.bench.clock())


async def test_a_removal_that_cannot_be_recorded_is_not_acknowledged(stage: Stage) -> None:
    await stage.install(BETA)
    ann = await stage.person("ann", BETA)
    await stage.bench.meddle("ALTER TABLE slack_installations RENAME TO gone")
    assert not (await ann.uninstall())["ok"]
    await stage.bench.meddle("ALTER TABLE gone RENAME TO slack_installations")
    assert len(await stage.desk.live()) == 1
    assert (await ann.uninstall())["ok"]  # Slack says it again
    assert await stage.desk.live() == []


async def test_tokens_are_replaced_before_they_expire_by_one_of_many(rotating: Stage) -> None:
    (first,) = await rotating.desk.live()
    assert first.tokens.expires_at == rotating.bench.clock() + timedelta(hours=12)
    await rotating.workspaces.look()
    rotating.bench.clock.move(hours=10)
    others = [Workspaces(rotating.desk, CREDENTIALS, rotating.bench.clock, None) for _ in range(3)]
    for one in others:
        one._client.base_url = rotating.workspaces._client.base_url
    calls = rotating.faults.calls["oauth.v2.access"]
    await asyncio.gather(*(one.look() for one in (rotating.workspaces, *others)))
    (second,) = await rotating.desk.live()
    assert rotating.faults.calls["oauth.v2.access"] == calls + 1
    assert second.tokens.access != first.tokens.access
    assert second.tokens.expires_at == rotating.bench.clock() + timedelta(hours=12)
    rotating.bench.clock.move(hours=3)
    await rotating.file()
    assert "Approval needed" in str(rotating.posted(BETA, CHANNEL))


async def test_a_lost_answer_with_new_tokens_locks_nobody_out(rotating: Stage) -> None:
    (first,) = await rotating.desk.live()
    rotating.bench.clock.move(hours=10, minutes=30)
    rotating.faults.lose("oauth.v2.access")
    await rotating.workspaces.look()
    assert (await rotating.desk.live())[0].tokens == first.tokens
    rotating.faults.lift("oauth.v2.access")
    rotating.bench.clock.move(minutes=2)
    await rotating.workspaces.look()
    (second,) = await rotating.desk.live()
    assert second.tokens.access != first.tokens.access
    assert rotating.workspaces.troubles == {}


async def test_the_refresh_token_before_is_kept_until_the_new_token_was_used(rotating: Stage) -> None:
    (first,) = await rotating.desk.live()
    rotating.bench.clock.move(hours=10, minutes=30)
    rotating.faults.refuse("auth.test", "internal_error")
    await rotating.workspaces.look()
    assert (await rotating.desk.live())[0].tokens.before == first.tokens.refresh
    rotating.faults.lift("auth.test")
    await rotating.workspaces.look()
    assert (await rotating.desk.live())[0].tokens.before is None


async def test_where_the_new_refresh_token_is_not_known_the_one_before_is_asked_with(rotating: Stage) -> None:
    rotating.bench.clock.move(hours=10, minutes=30)
    rotating.faults.refuse("auth.test", "internal_error")
    await rotating.workspaces.look()
    tokens = rotating.sandboxes[BETA].store.data.tokens
    (one,) = await rotating.desk.live()
    tokens[one.tokens.access].refresh = "xoxe-1-lost"  # Slack knows nothing of what it answered
    rotating.faults.lift("auth.test")
    rotating.bench.clock.move(hours=10, minutes=30)
    rotating.faults.refuse("auth.test", "internal_error")
    await rotating.workspaces.look()
    (two,) = await rotating.desk.live()
    assert two.tokens.access != one.tokens.access


async def test_a_call_with_a_token_that_another_has_replaced_is_made_again(rotating: Stage) -> None:
    await rotating.workspaces.look()
    rotating.bench.clock.move(hours=11)
    other = Workspaces(desk_of(rotating.bench), CREDENTIALS, rotating.bench.clock, None)
    other._client.base_url = rotating.workspaces._client.base_url
    await other.look()
    rotating.bench.clock.move(hours=2)
    await rotating.file()
    assert await blocked(rotating) == []
    assert "Approval needed" in str(rotating.posted(BETA, CHANNEL))


async def test_a_token_that_nobody_replaced_has_its_card_held(rotating: Stage) -> None:
    await rotating.workspaces.look()
    rotating.bench.clock.move(hours=13)
    await rotating.file()
    assert await blocked(rotating) == ["Slack refuses: token_expired"]


async def test_one_workspace_that_is_out_of_order_leaves_the_others_ready(stage: Stage) -> None:
    await stage.install(TEAM)
    await stage.install(BETA)
    stage.sandboxes[BETA].store.data.uninstalled = True
    await stage.workspaces.look()
    assert stage.workspaces.troubles == {BETA: "auth.test: account_inactive"}


async def test_who_is_deactivated_counts_no_more_among_those_who_can_be_asked(stage: Stage) -> None:
    await stage.install(TEAM)
    ann = await stage.person("rita")
    for name in ("ann", "ben"):
        await ann.change_member(f"U{name.upper()}", "deactivate")
    requirement = {"quorum": 2, "groups": ["compliance"], "all_groups": False, "exclude": [], "reason_required": False}
    requirement |= {"expires_in": "PT1H", "escalate_to": []}
    async with stage.bench.engine.pool.connection() as conn:
        assert await inspection.shortfalls(conn, TENANT, {"high": requirement}, stage.bench.clock())
        assert await installations.people_left(conn, TENANT) == ["ann", "ben"]
    await ann.change_member("UANN", "activate")
    async with stage.bench.engine.pool.connection() as conn:
        assert await inspection.shortfalls(conn, TENANT, {"high": requirement}, stage.bench.clock()) == {}
    said = [(act["user"], act["is_active"]) for act in await stage.acts("slack.member_changed")]
    assert said == [("UANN", False), ("UBEN", False), ("UANN", True)]


async def test_a_member_of_an_organization_is_noted_by_the_team_that_the_directory_names(
    dsn: str, policy: OpaEngine, targets: Targets
) -> None:
    async with installing(dsn, policy, targets, WHOLE) as stage:
        await stage.install(BETA)
        await known_there(stage, GRID)
        await (await stage.person("rita", BETA)).change_member("UANN", "deactivate")
        said = [(act["team"], act["user"]) for act in await stage.acts("slack.member_changed")]
        assert said == [(GRID, "UANN")]


async def test_who_is_none_of_the_directory_is_not_noted(stage: Stage) -> None:
    await stage.life.note_member("T0ELSE", "U0NOBODY", is_active=False)
    await stage.life.note_member(TEAM, "UANN", is_active=True)
    assert await stage.acts("slack.member_changed") == []


async def test_an_archived_channel_has_its_cards_held_until_it_is_in_use_again(stage: Stage) -> None:
    await stage.install(BETA)
    ann = await stage.person("ann", BETA)
    await ann.change_channel(CHANNEL, "archive")
    await stage.file()
    assert await blocked(stage) == ["Slack refuses: is_archived"]
    await ann.change_channel(CHANNEL, "unarchive")
    await ann.change_channel(CHANNEL, "remove_bot")
    await stage.bench.later(minutes=3)
    assert await blocked(stage) == ["Slack refuses: not_in_channel"]
    await ann.change_channel(CHANNEL, "invite_bot")
    await stage.bench.later(minutes=3)
    assert await blocked(stage) == []
