"""The shapes of the browser's verifier, which are generated: they take what the program's models take, and no more."""

import json
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

import pytest
from playwright.async_api import Page
from pydantic import BaseModel, ValidationError

from evidence.records import ApprovalRecord, DecisionRecord, DefinitionRecord, RunRecord
from evidence.statement import Statement
from evidence.verify import forms
from evidence.verify.definition import DefinitionForm
from receipts import canonical
from receipts.chain import Leaf
from receipts.receipt import Receipt
from receipts.signing import verify_envelope
from receipts.usage import ReadRecord, plain_decimal
from tests.browser import verify_page
from tests.integration.test_evidence_page import members_of
from tests.unit import test_evidence_forgeries as chosen
from tests.unit.evidence_sample import Office, story
from tests.unit.evidence_variants import governed, looked
from tests.unit.test_evidence_bundle import VALUES, places, put
from tools.verifier_shapes import ROOTS, WHOLE, name_of

LEFT_OUT = object()
OTHERS = [*(value for value in VALUES if len(str(value)) < 1000), LEFT_OUT, "x" * 201, 2, 16, ["ben", 1], "f" * 64]

OF_FOLDER: dict[str, tuple[type[BaseModel], ...]] = {
    "decisions": (DecisionRecord, forms.DecisionForm),
    "approvals": (ApprovalRecord, forms.ApprovalForm),
    "receipts": (Receipt,),
    "reads": (ReadRecord,),
    "run.json": (RunRecord,),
    "definition.json": (DefinitionRecord, DefinitionForm),
}
_NOW, _DIGEST = "2026-01-31T09:00:00.000000Z", "f" * 64
_ALLOWED = {"decision_id": "d-1", "digest": _DIGEST}
_VOTED = {"approval_id": "a-1", "person": "ben", "digest": _DIGEST, "reason": "not now"}
_TAKEN = {"name": "refunds", "period": "2026-01-05", "count": 1, "sum": "2.50"}
SAID: dict[str, dict[str, Any]] = {
    "Register": {
        "keys": [
            {"id": _DIGEST, "public_key": "AA==", "from": _NOW, "revoked": {"at": _NOW, "why": "lost"}},
            {
                "id": _DIGEST,
                "public_key": "AA==",
                "from": _NOW,
                "until": _NOW,
                "signed_by": _DIGEST,
                "signature": "AA==",
            },
        ]
    },
    "Inclusion": {"places": [{"first_seq": 1, "count": 2, "first_index": 0}], "proof": [_DIGEST]},
    "Acts": {"places": [{"seq": 1, "index": 0}], "proof": [_DIGEST]},
    "PasskeyRegistered": {
        "credential_id": "AAAA",
        "person": "ben",
        "reason": "new",
        "policy": _ALLOWED,
        "public_key": "AAAA",
        "algorithm": -7,
        "origin": "https://votes.example:8443",
        "invited_by": "ann",
    },
    "DelegationRecorded": {
        "delegation_id": "d-1",
        "reason": "away",
        "policy": _ALLOWED,
        "delegator": "ann",
        "delegate": "ben",
        "groups": ["legal"],
        "starts_at": _NOW,
        "ends_at": _NOW,
    },
    "Chosen": {"among": [{"name": "kyc", "version": 3, "digest": _DIGEST}]},
    "Proposed": {"action": "a::b", "target": "DE/1", "digest": _DIGEST},
    "Waiting": {"decision_id": "d-1", "since": _NOW, "opens_at": _NOW, "until": _NOW},
    "Reserved": {"decision_id": "d-1", "budgets": [_TAKEN], "kept": ["other"]},
    "Returned": {"budgets": ["refunds"]},
    "Spent": {"decision_id": "d-1", "budgets": [_TAKEN], "opens_at": _NOW},
    "Opened": {"wait_id": "w-1", "type": "approval", "correlation_key": "", "deadline": _NOW},
    "Escalated": {
        "wait_id": "w-1",
        "entry": 0,
        "to": ["legal"],
        "deadline": _NOW,
        "started": {"runbook": "late", "run_id": "run-2", "error": "none"},
    },
    "Progressed": {"wait_id": "w-1", "count": 1},
    "ChildEnded": {"child": "run-2", "child_end": _DIGEST},
    "QuestionLeaf": {"approval_id": "a-1", "question_id": "q-1", "person": "ben", "digest": _DIGEST, "deadline": _NOW},
    "Withdrawn": _VOTED,
    "Handed": {"approval_id": "a-1", "person": "ben", "to": "ann", "reason": "knows more"},
    "FellBack": {"approval_id": "a-1", "why": "nobody", "to": ["legal"]},
    "CancelForm": {"reason": "no more", "policy": _ALLOWED},
    "SettledForm": {"reason": "done by hand", "policy": _ALLOWED, "result": "f" * 32},
}
"""What is said in leaves and files that the samples have not, by its model."""

_TAKES = """
(texts) => texts.map((text) => {
  try {
    SHAPE(JSON.parse(text), "");
    return true;
  } catch (error) {
    if (error instanceof Misshapen) return false;
    throw error;
  }
})
"""


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[type[BaseModel], list[Any]]:
    """What genuine bundles have of each model."""
    office = Office.in_folder(tmp_path_factory.mktemp("office"))
    found: dict[type[BaseModel], list[Any]] = {
        model: [SAID[model.__name__]] for model in ROOTS if model.__name__ in SAID
    }
    leaves: dict[str, Any] = {}
    for sample in (looked, governed, chosen.chosen, story):
        members = members_of(office.seal(sample().dossier()))
        opened = verify_envelope(members["statement.dsse.json"], office.key.public)
        found.setdefault(Statement, []).append(canonical.loads(opened.payload))
        leaves |= {leaf["event"]: leaf for leaf in map(canonical.loads, members["audit.jsonl"].splitlines())}
        for name, data in members.items():
            for model in OF_FOLDER.get(name.partition("/")[0], ()):
                found.setdefault(model, []).append(canonical.loads(data))
    return found | {Leaf: list(leaves.values())}


def takes(model: type[BaseModel], value: Any) -> bool:
    """Return whether a model takes a value."""
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


def bent(record: Any, way: tuple[Any, ...]) -> Iterator[Any]:
    """Give a record with something else at a place, without what stands there, and with more beside it."""
    for value in OTHERS:
        if value is not LEFT_OUT:
            yield put(record, way, value)
        elif way:
            holder = record
            for key in way[:-1]:
                holder = holder[key]
            rest = [one for place, one in enumerate(holder) if place != way[-1]]
            kept = {name: one for name, one in holder.items() if name != way[-1]} if isinstance(holder, dict) else rest
            yield put(record, way[:-1], kept)
            if isinstance(holder, dict):
                yield put(record, way[:-1], {**holder, "and more": 1})


def cases(genuine: list[Any]) -> Iterator[Any]:
    """Give records as they are, and bent at each place that is not like one before."""
    seen = set()
    for record in genuine:
        yield record
        for way in places(record):
            like = tuple("#" if isinstance(part, int) else part for part in way)
            if like not in seen:
                seen.add(like)
                yield from bent(record, way)


@pytest.mark.parametrize("model", ROOTS)
async def test_a_shape_takes_what_its_model_takes(
    page: Page, records: dict[type[BaseModel], list[Any]], model: type[BaseModel]
) -> None:
    assert all(takes(model, record) for record in records[model])
    values = list(cases(records[model]))
    shown = await shown_by(page, name_of(model), values)
    told = [takes(model, value) for value in values]
    assert {True, False} == set(told)
    assert [
        value for value, here, there in zip(values, told, shown, strict=True) if here != there and is_whole(value)
    ] == []


@pytest.mark.parametrize("model", [DecisionRecord, forms.DecisionForm])
async def test_a_decision_says_development_as_true_or_not_at_all(
    page: Page, records: dict[type[BaseModel], list[Any]], model: type[BaseModel]
) -> None:
    values = [{**records[model][0], "development": value} for value in (True, False, None, "yes", 1, 0)]
    only_true = [True, *[False] * 5]
    assert [takes(model, value) for value in values] == only_true
    assert await shown_by(page, name_of(model), values) == only_true


def is_whole(value: Any) -> bool:
    """Return whether a record names each member that records have, whatever the program takes for a missing one."""
    return all(
        model.model_fields.keys() <= value["correlation"].keys()
        for model in WHOLE
        if isinstance(value, dict) and isinstance(value.get("correlation"), dict)
    )


async def test_a_leaf_names_all_that_it_could_be_about(page: Page, records: dict[type[BaseModel], list[Any]]) -> None:
    leaf, *_ = records[Leaf]
    about = leaf["correlation"]
    without = [{**leaf, "correlation": {name: about[name] for name in about if name != missing}} for missing in about]
    assert await shown_by(page, "LEAF_SHAPE", [leaf, *without]) == [True] + [False] * 5


async def shown_by(page: Page, shape: str, values: list[Any]) -> list[bool]:
    """Return which of these values the page takes for something of a shape."""
    taken: list[bool] = await page.evaluate(_TAKES.replace("SHAPE", shape), [json.dumps(value) for value in values])
    return taken


AMOUNTS = ["0", "0.000000000001", "999999999999999.999999999999", "1.5", "0.25", "10", "0.1", "0.2"]


async def test_amounts_are_added_up_exactly(page: Page) -> None:
    for number in range(1, len(AMOUNTS) + 1):
        exact = plain_decimal(sum(map(Decimal, AMOUNTS[:number]), Decimal()))
        assert await page.evaluate("sumOf", AMOUNTS[:number]) == exact
