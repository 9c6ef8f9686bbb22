"""The doctor checks every part by itself: what is wrong is named with its remedy, and the rest is checked too."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.doctor import Fact
from countersign.doctor.diagnosis import diagnosis
from countersign.doctor.doctor import examine
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from countersign.settings import Settings
from receipts.signing import load_or_create
from runtime.clock import utc_now
from tests.files import DIRECTORY
from tests.integration.program_stage import SECRETS, command, composed, database, environment, sandbox, settings_of
from tests.integration.servers import PASSWORD, USER, MinioServer, minio_server
from tests.opa_server import copy_policies, own_opa, start_opa
from tests.patience import until

ALL = frozenset(Role)
CANARY = "canary-2b6d"
FACTS = {
    "program",
    "database",
    "writer",
    "database role",
    "clock",
    "round trip",
    "migrations",
    "schema",
    "policy",
    "policy version",
    "definitions",
    "directory file",
    "groups",
    "callers",
    "slack transport",
    "slack token",
    "slack scopes",
    "slack socket mode",
    "slack channel C0APPROVALS",
    "slack channel C0COMPLIANCE",
    "user groups",
    "blocked effects",
    "steps",
    "members",
    "archive writable",
    "archive versioned",
    "archive written once",
    "archive locked",
    "audit log",
    "evidence sealed",
    "evidence retention",
    "legal holds",
    "links",
    "signing key",
}


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with minio_server(tmp_path_factory.mktemp("minio")) as server:
        server.make_bucket("locked")
        server.make_bucket("plain", locked=False)
        yield server


@pytest.fixture(scope="module")
async def well(
    postgres: str, opa: OpaChild, minio: MinioServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[str, Any]]:
    """Settings of a system in which everything is as it should be."""
    home = tmp_path_factory.mktemp("home")
    with database(postgres, "doctor") as dsn:
        async with sandbox() as slack:
            given = {
                "slack_api_url": f"{slack}/api/",
                "slack_app_token": "xapp-sandbox-app-token",
                "callers": {name: SECRETS[name] for name in ("onboarding-portal", "servicenow")},
                "s3_endpoint": minio.endpoint,
                "s3_bucket": "locked",
                "s3_access_key": USER,
                "s3_secret_key": PASSWORD,
                "public_url": "https://countersign.example",
            }
            settings = settings_of(dsn, opa.url, home, **given)
            async with composed(settings):
                load_or_create(settings.key_path)
                yield {"dsn": dsn, "opa": opa.url, "home": home, **given}


async def ill(settings: Settings) -> dict[str, str]:
    """Return what the doctor finds wrong: name to detail. Every finding has a remedy, and nothing shows a secret."""
    facts = await examine(settings, utc_now, ALL)
    wrong = {fact.name: fact.detail for fact in facts if not fact.ok}
    assert all(fact.remedy and fact.detail and "\n" not in fact.detail for fact in facts if not fact.ok)
    assert CANARY not in str(facts)
    return wrong


async def test_a_system_in_order_has_every_check_and_no_finding(well: dict[str, Any]) -> None:
    facts = await examine(settings_of(**well), utc_now, ALL)
    assert [fact for fact in facts if not fact.ok] == []
    assert {fact.name for fact in facts} == FACTS


@pytest.mark.parametrize(
    ("change", "wrong", "says"),
    [
        (
            {"dsn": f"postgresql://u:{CANARY}@127.0.0.1:1/x"},
            {
                *(
                    "database",
                    "migrations",
                    "policy version",
                    "rollback",
                    "directory file",
                    "groups",
                    "callers",
                    "evidence",
                    "audit log",
                    "needs attention",
                ),
                *("user groups", "members"),
            },
            "refused",
        ),
        ({"opa": "http://127.0.0.1:1"}, {"policy", "groups"}, "policy unavailable"),
        ({"slack_bot_token": CANARY}, {"slack token"}, "invalid_auth"),
        ({"slack_app_id": "A0OTHER"}, {"slack app"}, "our links open A0OTHER"),
        ({"slack_app_token": CANARY}, {"slack socket mode"}, "invalid_auth"),
        ({"slack_api_url": "http://127.0.0.1:1/api/"}, {"slack token", "slack socket mode"}, "Client"),
        ({"slack_signing_secrets": [], "slack_app_token": None}, {"slack transport"}, "no click can be heard"),
        ({"slack_channel": None}, {"groups"}, "COUNTERSIGN_SLACK_CHANNEL is not set"),
        ({"slack_channels": {"treasury": "C0APPROVALS"}}, {"groups"}, "no eligible approver in: treasury"),
        ({"slack_channels": {"compliance": "C1"}}, {"slack channel C1"}, "channel_not_found"),
        ({"routing": Path("none.yaml")}, {"groups", "slack", "user groups"}, "none.yaml:1: $: cannot be read"),
        ({"callers": SECRETS}, {"callers"}, "not in the directory: stranger"),
        ({"s3_bucket": "plain"}, {"archive versioned", "archive locked"}, "has no Object Lock"),
        ({"s3_bucket": "absent"}, {"archive writable"}, "absent"),
        ({"s3_secret_key": CANARY}, {"archive writable"}, "SignatureDoesNotMatch"),
        ({"directory": Path("none.yaml")}, {"directory file"}, "none.yaml:1: $: cannot be read"),
        ({"public_url": None}, {"links"}, "nobody can sign what policy wants signed: access_vault"),
        ({"pack": {"nonesuch": {}}}, {"definitions"}, "no such pack"),
        ({"packs": [Path("nowhere")]}, {"definitions"}, "nowhere"),
    ],
)
async def test_what_is_wrong_is_named_and_all_else_is_checked(
    well: dict[str, Any], change: dict[str, Any], wrong: set[str], says: str
) -> None:
    found = await ill(settings_of(**{**well, **change}))
    assert found.keys() == wrong
    assert any(says in detail for detail in found.values())


@pytest.mark.parametrize("bucket", ["plain", None])
async def test_a_retention_that_the_store_does_not_grant_is_found(well: dict[str, Any], bucket: str | None) -> None:
    without = {**well, "s3_bucket": bucket, "require_lock": False}
    assert "archive locked" not in await ill(settings_of(**without))
    found = await ill(settings_of(**without, retention_days=1))
    assert found["archive locked"].endswith("; no bundle gets the retention of COUNTERSIGN_RETENTION_DAYS")
    assert "archive locked" not in await ill(settings_of(**well, retention_days=1))


async def test_channels_and_groups_of_the_rules_are_looked_into(well: dict[str, Any], tmp_path: Path) -> None:
    rules = "rules: [{send: {channels: [C0NONE]}}]\nfallback: {groups: [treasury], channels: [C0NOWHERE]}"
    (tmp_path / "routing.yaml").write_text(rules, encoding="utf-8")
    found = await ill(settings_of(**{**well, "routing": tmp_path / "routing.yaml"}))
    assert found == {
        "groups": "no eligible approver in: treasury",
        "slack channel C0NONE": "channel_not_found",
        "slack channel C0NOWHERE": "channel_not_found",
    }


async def test_a_group_that_must_sign_and_has_nowhere_to_read_is_named(well: dict[str, Any], tmp_path: Path) -> None:
    rules = "rules: [{when: {group: security}, send: {nobody: true}}]"
    (tmp_path / "routing.yaml").write_text(rules, encoding="utf-8")
    found = await ill(settings_of(**{**well, "routing": tmp_path / "routing.yaml"}))
    named = ("access_payments", "policy_activate", "policy_rollback")
    why = "needs security, which no card reaches: a routing rule says nobody"
    assert found == {"groups": "; ".join(f"requirement {name} {why}" for name in named)}


async def test_a_group_that_must_sign_and_shares_the_channel_for_all_is_said(well: dict[str, Any]) -> None:
    settings = settings_of(**{**well, "slack_channels": {"security": "C0APPROVALS"}})
    facts = {fact.name: fact for fact in await examine(settings, utc_now, ALL)}
    assert facts["groups"].ok
    assert facts["groups"].detail.endswith(
        "; no channel for compliance, payments-owners: their cards go to C0APPROVALS"
    )


async def test_user_groups_that_cards_call_and_groups_have_people_from_are_looked_for(
    well: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "routing.yaml").write_text("rules: [{send: {direct: true, mention: [S0NONE]}}]", encoding="utf-8")
    settings = settings_of(**{**well, "routing": tmp_path / "routing.yaml"})
    assert await ill(settings) == {"slack user group S0NONE": "no user group has this id"}


async def test_a_group_that_policy_asks_and_nobody_is_in_is_found(
    well: dict[str, Any], dsn: str, tmp_path: Path
) -> None:
    text = DIRECTORY.read_text(encoding="utf-8").replace(", senior-compliance]", "]")
    (tmp_path / "directory.yaml").write_text(text, encoding="utf-8")
    settings = settings_of(**{**well, "dsn": dsn, "directory": tmp_path / "directory.yaml"})
    async with composed(settings):
        assert await ill(settings) == {"groups": "no eligible approver in: senior-compliance"}


async def test_a_requirement_that_its_groups_cannot_fulfil_is_found(
    well: dict[str, Any], dsn: str, tmp_path: Path
) -> None:
    text = DIRECTORY.read_text(encoding="utf-8").replace("groups: [compliance", "groups: [onboarding", 2)
    (tmp_path / "directory.yaml").write_text(text.replace("senior-compliance]", "other]"), encoding="utf-8")
    settings = settings_of(**{**well, "dsn": dsn, "directory": tmp_path / "directory.yaml"})
    async with composed(settings):
        found = await ill(settings)
    assert "requirement high cannot be fulfilled: it needs 2 distinct people, and 1 may decide" in found["groups"]


async def test_migrations_that_are_behind_are_found(well: dict[str, Any], postgres: str) -> None:
    with database(postgres, "doctor_empty", template="template0") as dsn:
        found = await ill(settings_of(**{**well, "dsn": dsn}))
    assert found["migrations"].startswith("at none, newest ")


async def test_clocks_that_differ_are_found(well: dict[str, Any]) -> None:
    facts = await examine(settings_of(**well), lambda: utc_now() - timedelta(seconds=5), ALL)
    assert [fact.name for fact in facts if not fact.ok] == ["clock"]


async def test_an_opa_that_is_too_old_is_found(well: dict[str, Any]) -> None:
    answer: dict[str, Any] = {"outcome": "deny", "tier": "low", "requirement": None, "reasons": [], "obligations": []}
    provenance = {"version": "1.3.0", "bundles": {"b": {"revision": "0" * 64}}}

    async def decide(_: web.Request) -> web.Response:
        return web.json_response({"decision_id": "1", "provenance": provenance, "result": {"0": answer}})

    app = web.Application()
    app.router.add_post("/{path:.*}", decide)
    async with TestServer(app) as server:
        found = await ill(settings_of(**{**well, "opa": str(server.make_url(""))}))
    assert "OPA 1.3.0 is older than 1.4.0" in found["policy"]


async def test_a_policy_that_answers_nonsense_is_found(well: dict[str, Any], tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    decision = policies / "countersign/decision.rego"
    decision.write_text(decision.read_text().replace('"needs_approval"', '"maybe"'))
    async with own_opa(policies, tmp_path) as url:
        found = await ill(settings_of(**{**well, "opa": url}))
    assert "acme: access::revoke: policy unavailable" in found["policy"]
    assert ".outcome: " in found["policy"]


async def test_a_policy_that_is_in_force_because_its_change_was_refused_is_found(
    well: dict[str, Any], tmp_path: Path
) -> None:
    policies, home = copy_policies(tmp_path / "rego"), tmp_path / "home"
    text = (policies / "countersign/decision.rego").read_text()
    async with start_opa(policies, home / "opa") as child:
        settings = settings_of(**{**well, "opa": child.url, "home": home, "policies": policies})
        assert "policy" not in await ill(settings)
        (policies / "countersign/decision.rego").write_text(f"{text}\nnonsense")
        await until(lambda: _is_ill(settings))
        found = (await ill(settings))["policy"]
        assert found.startswith("the changed policy is refused, and the one before is in force, ")
        assert "decision.rego" in found
        (policies / "countersign/decision.rego").write_text(text)
        await until(lambda: _is_well(settings))


async def _is_ill(settings: Settings) -> bool:
    return not await _is_well(settings)


async def _is_well(settings: Settings) -> bool:
    facts = [fact for fact in await examine(settings, utc_now, ALL) if fact.name == "policy"]
    return all(fact.ok for fact in facts)


async def test_a_signing_key_among_the_data_or_open_to_others_is_found(well: dict[str, Any], tmp_path: Path) -> None:
    among = tmp_path / "evidence/key.pem"
    load_or_create(among)
    found = await ill(settings_of(**{**well, "home": tmp_path, "signing_key": among}))
    assert found == {"signing key": f"{among} is stored among the data"}
    apart = tmp_path / "keys/key.pem"
    load_or_create(apart)
    apart.chmod(0o640)
    found = await ill(settings_of(**{**well, "home": tmp_path, "signing_key": apart}))
    assert "can be used by others than its owner" in found["signing key"]


async def test_a_key_that_is_not_there_is_left_to_be_made(well: dict[str, Any], tmp_path: Path) -> None:
    settings = settings_of(**{**well, "home": tmp_path})
    assert await ill(settings) == {}
    assert not settings.key_path.exists()


async def test_a_local_folder_is_no_finding_but_its_limits_are_told(well: dict[str, Any], tmp_path: Path) -> None:
    settings = settings_of(**{**well, "home": tmp_path, "s3_bucket": None})
    facts = {fact.name: fact for fact in await examine(settings, utc_now, ALL)}
    assert all(fact.ok for fact in facts.values())
    assert "no locks" in facts["archive locked"].detail


async def test_the_command_ends_with_success_only_when_all_is_well(well: dict[str, Any]) -> None:
    finished = await command("doctor", env=environment(settings_of(**well)))
    assert finished.code == 0
    assert "FAIL" not in finished.out
    finished = await command("doctor", env=environment(settings_of(**{**well, "opa": "http://127.0.0.1:1"})))
    assert finished.code == 1
    assert "FAIL  policy: policy unavailable" in finished.out
    assert "\n      Start OPA" in finished.out


async def test_the_command_names_all_that_is_missing_where_nothing_is_set(tmp_path: Path) -> None:
    finished = await command("doctor", env={"COUNTERSIGN_HOME": str(tmp_path)})
    assert finished.code == 1
    assert "Traceback" not in finished.out + finished.err
    assert finished.out.startswith(
        f"FAIL  system: nothing runs here, in {tmp_path}\n      Start `countersign up`, or set what is missing.\n"
    )
    assert finished.out.count("FAIL") == 1
    for name in ("DATABASE_URL", "OPA_URL", "SLACK_BOT_TOKEN", "SLACK_CHANNEL", "SLACK_SIGNING_SECRETS"):
        assert f"not checked: COUNTERSIGN_{name} is not set" in finished.out


def test_one_cause_is_one_failure_and_what_hangs_on_it_is_not_checked() -> None:
    away = "connection refused"
    facts = [
        Fact("database", ok=False, detail=away, remedy="Start it."),
        Fact("key", ok=True, detail="there"),
        Fact("blocked effects", ok=False, detail=away, remedy="Mend."),
    ]
    assert [one.line() for one in diagnosis(facts, None)] == [
        "FAIL  database: connection refused\n      Start it.",
        "ok    key: there",
        "-     blocked effects: not checked: see database",
    ]


@pytest.mark.parametrize(
    ("roles", "lacks"),
    [
        (
            {Role.WORKER, Role.SWEEPS},
            {"slack_signing_secrets": [], "slack_app_token": None, "callers": {}, "directory": None},
        ),
        (
            {Role.EDGE, Role.BOT},
            {"s3_endpoint": "http://127.0.0.1:1", "s3_secret_key": CANARY, "signing_key": Path("/x")},
        ),
        ({Role.SWEEPS}, {"slack_bot_token": None}),
    ],
)
async def test_a_role_is_well_without_the_parts_of_others(
    well: dict[str, Any], roles: set[Role], lacks: dict[str, Any]
) -> None:
    facts = await examine(settings_of(**{**well, **lacks}), utc_now, frozenset(roles))
    assert [fact for fact in facts if not fact.ok] == []
