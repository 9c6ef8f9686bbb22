"""OPA: the decisions of the repository's policies, and access by token and certificate.

The policies of this repository, asked through the client on a real OPA.

An OPA that wants a token, has a certificate of one's own authority, or asks for ours, and an S3 likewise.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import rfc8785

from countersign.bucket import BucketError, make_bucket
from countersign.doctor.database import policy_text
from countersign.doctor.doctor import examine
from countersign.embedded.ports import free_port
from countersign.engine import make_policy
from countersign.parts import Role
from countersign.settings import ConfigError, Settings
from policy.bundle import PolicyFolders, build_bundle, read_policy
from policy.client import MOST_QUESTIONS, OpaEngine
from policy.contract import Answer, Outcome, PolicyUnavailableError, Question, Verdict
from policy.engine import PolicyEngine
from policy.transport import Access, connect
from runtime.clock import utc_now
from tests.certificates import Authority, Pair
from tests.integration.servers import PASSWORD, USER, minio_server
from tests.opa_server import PACKS, POLICIES, SHIPPED, copy_policies, opa_program, own_opa, question, start_opa, vote
from tests.patience import MINUTE


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OpaEngine]:
    async with (
        start_opa(POLICIES, tmp_path_factory.mktemp("opa"), poll=MINUTE) as child,
        OpaEngine(child.url, timeout=MINUTE) as engine,
    ):
        yield engine


async def answer(engine: PolicyEngine, asked: Question) -> Answer:
    return (await engine.ask(asked)).answer


def codes(answer: Answer) -> list[str]:
    return [reason.code for reason in answer.reasons]


async def test_irreversible_high_tier_write_needs_two_signatures_with_reasons(engine: OpaEngine) -> None:
    got = await answer(engine, question())
    assert got.outcome is Outcome.NEEDS_APPROVAL
    assert codes(got) == ["writes.high_tier"]
    assert got.requirement is not None
    assert got.requirement.model_dump() == {
        "quorum": 2,
        "groups": ["compliance"],
        "all_groups": False,
        "exclude": ["ann", "hook"],
        "expires_in": "PT8H",
        "reason_required": True,
        "escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}],
    }


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ([vote("bob")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("ann")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("hook")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("bob")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("eve", group="sales")], Outcome.NEEDS_APPROVAL),
        ([vote("bob"), vote("cyd")], Outcome.ALLOW),
        ([vote("bob"), vote("cyd"), vote("dan", "reject")], Outcome.DENY),
    ],
)
async def test_votes_count_by_distinct_entitled_people(
    engine: OpaEngine, votes: list[dict[str, Any]], outcome: Outcome
) -> None:
    assert (await answer(engine, question(votes))).outcome is outcome


async def test_policy_has_the_last_word_after_the_votes(engine: OpaEngine) -> None:
    got = await answer(engine, question([vote("bob"), vote("cyd")], writes=60))
    assert (got.outcome, codes(got)) == (Outcome.DENY, ["limits.writes_per_run"])


@pytest.mark.parametrize(
    ("effect", "code"),
    [
        ({"connector": "mail"}, "connectors.connector"),
        ({"operation": "delete_report"}, "connectors.operation"),
        ({"target": "elsewhere:1"}, "connectors.target"),
        ({"target": "register:1/../2"}, "connectors.target"),
    ],
)
async def test_what_the_tenant_does_not_list_is_denied(engine: OpaEngine, effect: dict[str, Any], code: str) -> None:
    got = await answer(engine, question(**effect))
    assert (got.outcome, codes(got)) == (Outcome.DENY, [code])


async def test_unknown_tenant_is_denied(engine: OpaEngine) -> None:
    got = await answer(engine, question().model_copy(update={"tenant": "nobody"}))
    assert (got.outcome, codes(got)) == (Outcome.DENY, ["config.tenant_unknown"])


SLACK: dict[str, Any] = {"connector": "slack", "tier": "low", "target": "C0COMPLIANCE"}
PORTAL: dict[str, Any] = {"connector": "portal", "tier": "low", "target": "portal:case-1"}
INCIDENT: dict[str, Any] = {
    "connector": "servicenow",
    "tier": "medium",
    "target": "incident:" + "a" * 32,
    "reversible": True,
}


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [
        ({**SLACK, "operation": "post_card"}, Outcome.ALLOW),
        ({**SLACK, "operation": "update_card"}, Outcome.ALLOW),
        ({**SLACK, "operation": "post_task"}, Outcome.ALLOW),
        ({**SLACK, "operation": "post_message", "target": "#general"}, Outcome.DENY),
        ({**PORTAL, "operation": "request_documents"}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "add_work_note", "tier": "low", "fields": {"priority": 1}}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "assign", "fields": {"priority": 3}}, Outcome.ALLOW),
        ({**INCIDENT, "operation": "assign", "fields": {"priority": "1"}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "fields": {"priority": 1}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "fields": {}}, Outcome.NEEDS_APPROVAL),
        ({**INCIDENT, "operation": "add_labels", "tier": "high", "fields": {"priority": 5}}, Outcome.NEEDS_APPROVAL),
    ],
)
async def test_packs_effects_get_the_outcome_of_their_tier(
    engine: OpaEngine, effect: dict[str, Any], outcome: Outcome
) -> None:
    assert (await answer(engine, question(**effect))).outcome is outcome


async def test_urgent_incident_is_signed_by_one_incident_manager(engine: OpaEngine) -> None:
    urgent: dict[str, Any] = {**INCIDENT, "operation": "assign", "fields": {"priority": 1}}
    got = await answer(engine, question(**urgent))
    assert got.requirement is not None
    assert (got.requirement.quorum, got.requirement.groups) == (1, ["incident-managers"])
    signed = question([vote("max", group="incident-managers")], **urgent)
    assert (await answer(engine, signed)).outcome is Outcome.ALLOW


async def test_an_operator_breaks_the_glass_of_an_urgent_incident_as_often_as_policy_says(engine: OpaEngine) -> None:
    urgent: dict[str, Any] = {**INCIDENT, "operation": "assign", "fields": {"priority": 1}}
    glass = (await answer(engine, question(**urgent))).requirement
    assert glass is not None
    assert glass.break_glass is not None
    assert (glass.break_glass.groups, glass.break_glass.at_most) == (["operators"], 2)
    broken = vote("omar", group="operators")
    for nth, outcome in ((1, Outcome.ALLOW), (2, Outcome.ALLOW), (3, Outcome.NEEDS_APPROVAL)):
        said = question([{**broken, "break_glass": {"ticket": "INC-7", "nth": nth}}], **urgent)
        assert (await answer(engine, said)).outcome is outcome
    assert (await answer(engine, question([broken], **urgent))).outcome is Outcome.NEEDS_APPROVAL
    filed = await answer(engine, question())
    assert filed.requirement is not None
    assert filed.requirement.break_glass is None, "no glass where there is time"


async def test_run_at_its_limit_may_still_post_its_card(engine: OpaEngine) -> None:
    got = await answer(engine, question(writes=99, operation="post_card", **SLACK))
    assert got.outcome is Outcome.ALLOW


@pytest.mark.parametrize("value", [None, [], {}, "x", 1e300, -0.0, "\x00\u202e", {"a": [{"b": None}]}])
async def test_odd_fields_change_no_outcome(engine: OpaEngine, value: Any) -> None:
    got = await answer(engine, question(fields={"priority": value, "lei": value}))
    assert got.outcome is Outcome.NEEDS_APPROVAL


async def test_verdict_carries_the_digest_of_the_text_that_gave_it(engine: OpaEngine) -> None:
    verdict = await engine.ask(question())
    text = engine.text(verdict.policy_digest)
    assert text == read_policy(SHIPPED)
    assert hashlib.sha256(rfc8785.dumps(dict(text.files))).hexdigest() == verdict.policy_digest


async def test_each_verdict_has_its_own_decision_id_and_latency(engine: OpaEngine) -> None:
    started = time.perf_counter()
    verdicts = [await engine.ask(question()) for _ in range(3)]
    took_ms = (time.perf_counter() - started) * 1000
    assert len({verdict.decision_id for verdict in verdicts}) == 3
    assert all(verdict.latency_ms > 0 for verdict in verdicts)
    assert sum(verdict.latency_ms for verdict in verdicts) <= took_ms


async def test_questions_of_a_list_are_answered_as_each_alone(engine: OpaEngine) -> None:
    asked = [
        question(),
        question([vote("bob"), vote("cyd")]),
        question(writes=99),
        question(target="elsewhere:1"),
        question(operation="post_card", **SLACK),
        question().model_copy(update={"tenant": "nobody"}),
        *(question(fields={"lei": str(number)}) for number in range(34)),
    ]
    found = [one for one in await engine.ask_all(asked) if isinstance(one, Verdict)]
    assert [one.answer for one in found] == [await answer(engine, one) for one in asked]
    requests = [one.decision_id.partition("/") for one in found]
    assert [int(place) for _, _, place in requests] == [number % MOST_QUESTIONS for number in range(40)]
    assert len({request for request, _, _ in requests}) == 2


async def test_a_question_that_breaks_its_request_is_unavailable_alone(engine: OpaEngine) -> None:
    signed = question([vote("bob"), vote("cyd")])
    asked = [signed, signed.model_copy(update={"time": "now"}), signed]
    first, broken, last = await engine.ask_all(asked)
    assert isinstance(broken, PolicyUnavailableError)
    assert "HTTP status 500" in str(broken)
    assert isinstance(first, Verdict)
    assert isinstance(last, Verdict)
    assert first.answer.outcome is last.answer.outcome is Outcome.ALLOW


async def test_flaws_of_a_configuration_make_its_tenant_unavailable_and_no_other(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    config = policies / "countersign_config"
    flawed = (config / "acme/data.json").read_text().replace('"PT1H"', '"1h"').replace('"PT6H"', '"PT6H2M"')
    (config / "flawed").mkdir()
    (config / "flawed/data.json").write_text(flawed)
    card = question(operation="post_card", **SLACK)
    async with own_opa(policies, tmp_path) as url, OpaEngine(url, timeout=MINUTE) as engine:
        good, bad = await engine.ask_all([card, card.model_copy(update={"tenant": "flawed"})])
    assert isinstance(good, Verdict)
    assert good.answer.outcome is Outcome.ALLOW
    assert isinstance(bad, PolicyUnavailableError)
    assert "flawed: requirements.urgent_incident.expires_in: Does not match pattern" in str(bad)


async def test_text_of_a_digest_never_seen_is_a_lookup_error(engine: OpaEngine) -> None:
    with pytest.raises(LookupError):
        engine.text("00" * 32)


TOKEN = "a-token-that-only-we-know"
# What a policy says stands in the evidence: it knows the token's digest, and not the token.
AUTHZ = f"""# METADATA
# title: Who may ask
# description: Whoever shows the token, or a certificate of our authority. Health is everybody's.
package system.authz

import rego.v1

default allow := false

allow if input.path == ["health"]

allow if crypto.sha256(input.identity) == "{hashlib.sha256(TOKEN.encode()).hexdigest()}"

allow if count(input.client_certificates) > 0
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def server(ours: Authority) -> Pair:
    return ours.vouch_for("server")


@asynccontextmanager
async def secured(work: Path, server: Pair, access: Access, *arguments: str) -> AsyncIterator[str]:
    """Serve the repository's policies, and who may ask, over TLS; yield the address."""
    work.mkdir()
    rego = copy_policies(work / "rego")
    (rego / "system").mkdir()
    (rego / "system/authz.rego").write_text(AUTHZ, encoding="utf-8")
    (work / "bundle.tar.gz").write_bytes(build_bundle(PolicyFolders(rego, PACKS)).data)
    url = f"https://127.0.0.1:{free_port()}"
    tls = (f"--tls-cert-file={server.certificate}", f"--tls-private-key-file={server.key}")
    command = ("run", "--server", "--addr", url, "--set=decision_logs.console=true", "--authorization=basic")
    with (work / "opa.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            opa_program(),
            *(*command, *tls, *arguments, "--bundle", "bundle.tar.gz"),
            cwd=work,
            env={},
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(MINUTE), connect(url, 5.0, access) as client:
            while not await client.is_healthy():
                assert process.returncode is None, (work / "opa.log").read_text()
                await asyncio.sleep(0.02)
        yield url
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture(scope="module")
async def wants_token(ours: Authority, server: Pair, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    work = tmp_path_factory.mktemp("token") / "work"
    async with secured(work, server, Access(authority=ours.certificate), "--authentication=token") as url:
        yield url


async def refusal(url: str, access: Access) -> str:
    """Ask, and return why there is no answer."""
    async with OpaEngine(url, timeout=MINUTE, access=access) as engine:
        with pytest.raises(PolicyUnavailableError) as caught:
            await engine.ask(question())
    assert TOKEN not in str(caught.value)
    return str(caught.value)


async def test_an_opa_that_wants_a_token_answers_whoever_shows_it(wants_token: str, ours: Authority) -> None:
    async with OpaEngine(wants_token, timeout=MINUTE, access=Access(TOKEN, ours.certificate)) as engine:
        verdict = await engine.ask(question())
        assert engine.text(verdict.policy_digest).digest == verdict.policy_digest
    for token in (None, "another"):
        assert "401: it wants a token, or another one" in await refusal(wants_token, Access(token, ours.certificate))


async def test_an_opa_that_nobody_vouches_for_is_not_asked(wants_token: str, tmp_path: Path) -> None:
    others = Authority(tmp_path, "others").certificate
    for authority in (None, others):
        assert "certificate verify failed" in await refusal(wants_token, Access(TOKEN, authority))


async def test_an_opa_that_asks_for_a_certificate_gets_ours(ours: Authority, server: Pair, tmp_path: Path) -> None:
    client = ours.vouch_for("client")
    access = Access(authority=ours.certificate, certificate=client.certificate, key=client.key)
    arguments = ("--authentication=tls", f"--tls-ca-cert-file={ours.certificate}")
    async with secured(tmp_path / "work", server, access, *arguments) as url:
        async with OpaEngine(url, timeout=MINUTE, access=access) as engine:
            assert (await engine.ask(question())).policy_digest
        assert "policy unavailable" in await refusal(url, Access(authority=ours.certificate))


async def test_the_settings_say_how_it_is_reached(wants_token: str, ours: Authority) -> None:
    settings = Settings(opa_url=wants_token, opa_token=TOKEN, opa_ca=ours.certificate, opa_timeout=MINUTE)
    assert TOKEN not in repr(settings)
    assert (await policy_text(settings, utc_now)).files["system/authz.rego"] == AUTHZ


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"opa_token": "another-token"}, "Set COUNTERSIGN_OPA_TOKEN"),
        ({"opa_ca": None}, "Set COUNTERSIGN_OPA_CA"),
        ({"opa_url": "https://127.0.0.1:1"}, "Start OPA, or set COUNTERSIGN_OPA_URL"),
    ],
)
async def test_doctors_hint_is_that_of_the_cause(
    wants_token: str, ours: Authority, given: dict[str, Any], names: str
) -> None:
    right: dict[str, Any] = {
        "opa_url": wants_token,
        "opa_token": TOKEN,
        "opa_ca": ours.certificate,
        "opa_timeout": MINUTE,
    }
    facts = await examine(Settings(**right | given), utc_now, frozenset({Role.SWEEPS}))
    policy = next(fact for fact in facts if fact.name == "policy")
    assert not policy.ok
    assert policy.remedy.startswith(names)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"opa_ca": "/nowhere.pem"}, r"^COUNTERSIGN_OPA_CA: cannot be read .*No such file"),
        ({"opa_certificate": __file__}, r"^COUNTERSIGN_OPA_CERTIFICATE: cannot be read .*PEM"),
    ],
)
def test_a_certificate_that_cannot_be_read_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make_policy(Settings(opa_url="https://127.0.0.1:1", **given))


def test_a_key_without_its_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="COUNTERSIGN_OPA_KEY: there is no COUNTERSIGN_OPA_CERTIFICATE"):
        Settings(opa_key="/keys/client.pem")


def test_an_s3_of_ones_own_authority_is_believed_where_the_settings_name_it(
    ours: Authority, server: Pair, tmp_path: Path
) -> None:
    with minio_server(tmp_path, server, ours.certificate) as minio:
        keys: dict[str, Any] = {"s3_endpoint": minio.endpoint, "s3_access_key": USER, "s3_secret_key": PASSWORD}
        with pytest.raises(BucketError, match="certificate verify failed"):
            make_bucket(Settings(**keys, s3_bucket="evidence"), utc_now)
        believed = Settings(**keys, s3_bucket="evidence", s3_ca=ours.certificate)
        assert "the bucket evidence has Object Lock" in " ".join(make_bucket(believed, utc_now))
