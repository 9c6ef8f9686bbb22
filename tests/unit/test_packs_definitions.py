"""Packs: sound verbs and runbooks, and closed settings.

The verbs and runbooks of the packs: sound, and as cautious as their effects demand.

The settings of packs: closed, checked, and never shown.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from countersign_access_request.handlers import handlers as access
from countersign_incident_triage.handlers import handlers as triage
from countersign_kyc.handlers import handlers as kyc
from countersign_kyc.settings import GLEIF_URL, KycSettings

from countersign.engine import load_packs, offered_handlers
from countersign.settings import ROOT, Settings
from runtime.definitions.cel.expressions import compile_expression
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.definitions.model import Definition, EffectClass
from runtime.definitions.registry import HandlerRegistryError
from runtime.definitions.schemas import violations
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.outbox.entities import entity_handlers
from tests.functions import installed

FOLDERS = [Path("packs/kyc"), Path("packs/incident-triage"), Path("packs/access-request")]


async def _post(call: Call) -> JsonObject:
    """Stand for the bot's operation, which the packs only name."""
    return {"key": call.key}


async def _find(call: Call) -> Reconciled:
    return Done({"key": call.key})


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    nobody: Any = None
    ours = {**entity_handlers(nobody, {}), "slack::post_task": Handler(_post, reconcile=_find)}
    return load_catalog(FOLDERS, {**kyc({}), **triage({}), **access({}), **ours})


@pytest.fixture(scope="module")
def onboarding(catalog: Catalog) -> Definition:
    return catalog.definitions["kyc-onboarding", 4]


@pytest.fixture(scope="module")
def triaging(catalog: Catalog) -> Definition:
    return catalog.definitions["incident-triage", 3]


def test_packs_have_no_problems(catalog: Catalog) -> None:
    assert [str(problem) for problem in catalog.problems] == []
    assert catalog.unavailable == frozenset()


@pytest.mark.parametrize(
    ("folder", "runbook"),
    list(zip(FOLDERS, ("kyc-onboarding", "incident-triage", "access-request"), strict=True)),
)
def test_example_trigger_fits_its_runbook(catalog: Catalog, folder: Path, runbook: str) -> None:
    trigger = json.loads((folder / "example-trigger.json").read_text(encoding="utf-8"))
    definition = next(one for one in catalog.definitions.values() if one.name == runbook)
    assert violations(definition.trigger_schema, trigger) == []


def test_research_and_documents_run_side_by_side(onboarding: Definition) -> None:
    for step in ("officers", "shareholdings", "documents", "holdings"):
        assert onboarding.needs(step) == ("hierarchy",)
    assert set(onboarding.needs("completeness")) == {"hierarchy", "officers", "shareholdings", "documents"}


def test_filing_waits_for_the_review_and_wants_the_highest_tier(onboarding: Definition) -> None:
    verb = onboarding.verb_of("filing")
    assert "review" in onboarding.needs("filing")
    assert (verb.tier, verb.reversible_by, verb.in_doubt) == (Tier.HIGH, None, OnDoubt.RECONCILE)


def test_waits_have_deadlines_and_escalate_in_time(onboarding: Definition) -> None:
    durable = [verb for verb in onboarding.verbs.values() if verb.wait_type in ("external", "human_task")]
    assert {verb.name: (verb.timeout.days, *(entry.after.days for entry in verb.escalation)) for verb in durable} == {
        "request_client_documents": (14, 10),
        "await_compliance_review": (7, 7),
        "decide_on_gaps": (7, 7),
        "request_additional_information": (14, 10),
    }


def test_contact_email_is_redacted_wherever_it_is_a_param(onboarding: Definition) -> None:
    for verb in onboarding.verbs.values():
        assert ("/contact_email" in verb.redact) == ("contact_email" in verb.input_schema.get("properties", {}))


def test_every_incident_write_carries_the_priority_and_can_be_undone(triaging: Definition) -> None:
    calls = {path: verb for path in triaging.steps if (verb := triaging.calls(path))}
    starts = {path for path, verb in calls.items() if verb.handler == "run::continue_with"}
    writes = {
        path: verb for path, verb in calls.items() if verb.effect_class is EffectClass.WRITE and path not in starts
    }
    assert {path: verb.tier for path, verb in writes.items()} == {
        "work_note": Tier.LOW,
        "assignment": Tier.MEDIUM,
        "labels": Tier.MEDIUM,
    }
    for verb in writes.values():
        assert "priority" in verb.input_schema["required"]
        assert verb.reversible_by
        assert verb.in_doubt is OnDoubt.RECONCILE


def test_what_undoes_an_incident_write_is_as_risky_as_that_and_carries_the_priority(triaging: Definition) -> None:
    ways = {
        verb.name: triaging.verbs[verb.compensate.verb]
        for verb in triaging.verbs.values()
        if verb.compensate is not None
    }
    assert {name: by.name for name, by in ways.items()} == {
        "add_work_note": "correct_work_note",
        "assign_incident": "restore_assignment",
        "add_incident_labels": "remove_incident_labels",
    }
    for name, by in ways.items():
        assert by.tier is triaging.verbs[name].tier
        assert "priority" in by.input_schema["required"]


def test_what_the_client_was_asked_for_is_withdrawn_when_a_case_is_canceled(onboarding: Definition) -> None:
    asking = [verb for verb in onboarding.verbs.values() if verb.wait_type == "external"]
    assert {verb.on_cancel and verb.on_cancel.verb for verb in asking} == {"withdraw_client_request"}


def test_access_can_be_taken_back_by_a_verb_that_needs_less_than_giving_it(catalog: Catalog) -> None:
    verbs = catalog.definitions["access-request", 2].verbs
    grant, revoke = verbs["grant_access"], verbs["revoke_access"]
    assert grant.reversible_by == revoke.name
    assert (grant.tier, revoke.tier) == (Tier.MEDIUM, Tier.LOW)


def test_all_that_passes_the_gate_has_its_run_in_its_key(catalog: Catalog) -> None:
    for definition in catalog.definitions.values():
        for verb in definition.verbs.values():
            assert ("${run.id}" in verb.idempotency_key) == verb.passes_gate


def test_pack_loads_without_settings() -> None:
    assert {"register::file_report", "portal::request_documents"} <= kyc({}).keys()
    assert {"servicenow::assign", "triage::classify"} <= triage({}).keys()
    assert {"access::grant", "access::revoke"} <= access({}).keys()


def test_only_listed_packs_offer_handlers_and_those_that_come_with_the_program_are_listed() -> None:
    offered = {name.partition("::")[0] for name in offered_handlers(Settings())}
    kyc_alone = {name.partition("::")[0] for name in offered_handlers(Settings(packs=[ROOT / "packs/kyc"]))}
    assert {"register", "servicenow"} <= offered
    assert "register" in kyc_alone
    assert "servicenow" not in kyc_alone


def test_expressions_know_the_functions_of_listed_packs_once_these_are_loaded() -> None:
    kyc_alone, access_alone = (Settings(packs=[ROOT / "packs" / name]) for name in ("kyc", "access-request"))
    with installed():
        load_packs(kyc_alone, offered_handlers(kyc_alone))
        assert compile_expression("kyc_is_lei('x')").functions == ("kyc_is_lei",)
        load_packs(access_alone, offered_handlers(access_alone))
        with pytest.raises(ExpressionError, match="unknown function 'kyc_is_lei'"):
            compile_expression("kyc_is_lei('x')")


def test_gleif_is_the_public_api_unless_set() -> None:
    assert KycSettings().gleif_url == GLEIF_URL == "https://api.gleif.org/api/v1"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kyc": {"portal_token": "s3cret!"}}, "settings: portal_token has fewer than 8 characters"),
        ({"kyc": {"portal_token": "s3cret-value", "register_token": "s3cret!"}}, "settings: register_token has fewer"),
        (
            {"incident-triage": {"servicenow_user": "u", "servicenow_password": "s3cret!"}},
            "servicenow_password has fewer",
        ),
    ],
)
def test_secret_that_is_too_short_is_refused_and_named(given: dict[str, dict[str, str]], says: str) -> None:
    with pytest.raises(HandlerRegistryError) as refused:
        offered_handlers(Settings(pack=given))
    assert says in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_secret_that_is_empty_is_not_set() -> None:
    assert offered_handlers(Settings(pack={"kyc": {"portal_token": ""}}))


def test_unknown_setting_is_named() -> None:
    with pytest.raises(ValueError, match="settings of pack kyc: register_urll: "):
        kyc({"register_urll": "https://register.example"})


@pytest.mark.parametrize(
    "url",
    [
        "http://register.example",
        "ftp://register.example",
        "https://user:pw@register.example",
        "https://register.example?x=1",
        "https://register.example#x",
        "register.example",
    ],
)
def test_url_must_be_https_or_this_machine_and_bare(url: str) -> None:
    with pytest.raises(ValueError, match="register_url"):
        kyc({"register_url": url})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/x", "http://localhost", "http://[::1]:1", "https://a.example/"])
def test_this_machine_may_be_plain_http(url: str) -> None:
    assert kyc({"register_url": url})


@pytest.mark.parametrize("timeout", ["0", "-1", "121", "soon", "nan"])
def test_timeout_must_be_a_sensible_number(timeout: str) -> None:
    with pytest.raises(ValueError, match="timeout"):
        kyc({"timeout": timeout})


@pytest.mark.parametrize(
    "settings",
    [
        {"servicenow_user": "u"},
        {"servicenow_password": "s3cret-value"},
        {"servicenow_url": "https://x.example"},
        {
            "servicenow_url": "https://x.example",
            "servicenow_user": "u",
            "servicenow_password": "s3cret-value",
            "servicenow_token": "s3cret-value",
        },
    ],
)
def test_servicenow_wants_exactly_one_way_in_and_errors_hide_secrets(settings: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match="servicenow_user") as caught:
        triage(settings)
    assert "s3cret-value" not in str(caught.value)
