"""The verbs and runbooks of the packs: sound, and as cautious as their effects demand."""

import json
from pathlib import Path
from typing import Any

import pytest
from countersign_access_request.handlers import handlers as access
from countersign_incident_triage.handlers import handlers as triage
from countersign_kyc.handlers import handlers as kyc

from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.definitions.model import Definition, EffectClass
from runtime.definitions.schemas import violations
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.outbox.entities import entity_handlers

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
