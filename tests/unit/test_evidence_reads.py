"""Reads in evidence: each attempt on the chain, costs that add up, and governed reads.

Reads and costs: each attempt has its record on the chain, and all that they tell adds up.

Governed reads: each was allowed before it was done, and its step's result is what its receipt says.
"""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidence.build import Dossier
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from tests.unit.evidence_bends import drop, members_of, move, outcome, resealed
from tests.unit.evidence_sample import Office, Story, story
from tests.unit.evidence_variants import GOT, TOLD, USAGE, governed, looked, read, redefine

FIRST, SECOND, WRITE = "reads/00001-read-1.json", "reads/00002-read-2.json", "receipts/00002-r-3.json"
SUMS = {
    "provider": "openai",
    "model": "gpt-5",
    "calls": 3,
    "calls_without_cost": 1,
    "units": {"input_tokens": "2436"},
    "amounts": {"USD": "0.00246"},
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def failure(office: Office, path: Path) -> tuple[str, str, str]:
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    return caught.value.rule, caught.value.member, caught.value.what


def told_with(*bends: Callable[[Story], object]) -> Dossier:
    told = looked()
    for bend in bends:
        bend(told)
    return told.dossier()


def bent(name: str = "read-2", **change: Any) -> Dossier:
    """Return the dossier of a read that was recorded otherwise, with the digest on the chain."""
    return told_with(lambda s: s.reads[name].update(change))


def unchained(**change: Any) -> Dossier:
    """Return the dossier of a read that was changed after the chain had named it."""
    dossier = looked().dossier()
    return dataclasses.replace(dossier, reads=[dict(dossier.reads[0]) | change, *dossier.reads[1:]])


def once_more(told: Story, attempt: int) -> None:
    """Let the step be read again after its success."""
    told.reads["read-3"] = read(3, attempt, 1)
    told.events.insert(4, ("read.recorded", {"read_id": "read-3", "step": "look", "minute": 1}))


def test_a_run_with_reads_passes_every_step_and_says_how_many(office: Office) -> None:
    report = verify(office.seal(looked().dossier()), office.public)
    assert "2 receipts, 2 reads, 1 approvals" in report.steps[6].fact
    assert report.steps[10].fact.endswith("1 writes have their receipts, 1 reads their records")


def pause(told: Story) -> None:
    """Let the step be a timer."""
    definition = canonical.loads(told.definition)
    definition["verbs"]["register.look"]["execution"] |= {"handler": "timer::wait", "wait": "timer"}
    told.definition = canonical.dumps(definition)
    told.events[0][1]["definition_digest"] = hashlib.sha256(told.definition).hexdigest()


def unread(told: Story) -> None:
    """Leave no trace of the reads."""
    drop(told, "read.recorded")
    told.reads.clear()


def test_a_timer_that_went_off_asked_nobody_and_has_no_record(office: Office) -> None:
    verify(office.seal(told_with(pause, unread)), office.public)


LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a read changed": (
        ("reads.on-record", FIRST, "its SHA-256 is not the digest in audit.jsonl line 3"),
        lambda: unchained(error="none"),
    ),
    "a read left out": (
        ("reads.on-record", SECOND, "is not in the bundle"),
        lambda: dataclasses.replace(looked().dossier(), reads=looked().dossier().reads[:1]),
    ),
    "a read that no leaf names": (
        ("reads.on-record", "reads/00003-read-3.json", "no line of audit.jsonl names it"),
        lambda: told_with(lambda s: s.reads.update({"read-3": read(3, 3, 3)})),
    ),
    "a read of another run": (
        ("reads.in-place", SECOND, "is of run run-2 of tenant acme"),
        lambda: bent(run_id="run-2"),
    ),
    "a read of another tenant": (
        ("reads.in-place", SECOND, "is of run run-1 of tenant evil"),
        lambda: bent(tenant="evil"),
    ),
    "a read at a step that there is not": (
        ("reads.in-place", SECOND, "definition.json has no read register.look at the step peek"),
        lambda: bent(step="peek"),
    ),
    "a read by another verb": (
        ("reads.in-place", SECOND, "definition.json has no read register.file at the step look"),
        lambda: bent(verb="register.file"),
    ),
    "a write that is said to be a read": (
        ("reads.in-place", SECOND, "definition.json has no read register.file at the step file"),
        lambda: bent(step="file", verb="register.file", handler="register::file_report"),
    ),
    "a timer that is said to have read": (
        ("reads.in-place", FIRST, "definition.json has no read register.look at the step look"),
        lambda: told_with(pause),
    ),
    "a read by another handler": (
        ("reads.in-place", SECOND, "its handler is not that of the verb register.look"),
        lambda: bent(handler="register::peek"),
    ),
    "a read under a leaf of another step": (
        ("reads.in-place", SECOND, "its step or its time is not that of audit.jsonl line 4"),
        lambda: told_with(lambda s: s.events[3][1].update(step="file")),
    ),
    "a read that ended at another time": (
        ("reads.in-place", SECOND, "its step or its time is not that of audit.jsonl line 4"),
        lambda: bent(finished_at="2026-01-31T09:02:01.000000Z"),
    ),
    "a read that ended before it started": (
        ("reads.in-place", SECOND, "its step or its time is not that of audit.jsonl line 4"),
        lambda: bent(started_at="2026-01-31T09:02:01.000000Z"),
    ),
    "a success without a response": (
        ("reads.in-place", SECOND, "says success, and has a response where it must not, or none where it must"),
        lambda: bent(response=None),
    ),
    "a failure with a response": (
        ("reads.in-place", FIRST, "says failure, and has a response where it must not, or none where it must"),
        lambda: bent("read-1", response={"bytes": 1, "commitment": GOT}),
    ),
    "an attempt twice": (("reads.in-place", SECOND, "cannot follow the attempt in read-1"), lambda: bent(attempt=1)),
    "an attempt after a success": (
        ("reads.in-place", "reads/00003-read-3.json", "cannot follow the attempt in read-2"),
        lambda: told_with(lambda s: once_more(s, 3)),
    ),
    "a member that a record does not have": (
        ("reads.on-record", SECOND, "cached: Extra inputs are not permitted"),
        lambda: bent(cached=1),
    ),
    "a cost without its currency": (
        ("reads.on-record", SECOND, "told.usage.0: Value error, cost and currency go together"),
        lambda: bent(told=TOLD | {"usage": [USAGE | {"currency": None}]}),
    ),
    "a cost in another spelling": (
        ("reads.on-record", SECOND, "told.usage.0.cost: String should match pattern"),
        lambda: bent(told=TOLD | {"usage": [USAGE | {"cost": "0.0012300"}]}),
    ),
    "a success that no record shows": (
        ("reads.done", "audit.jsonl", "line 4: step look succeeded, and no record says that it read"),
        lambda: told_with(lambda s: drop(s, "read.recorded", read_id="read-2"), lambda s: s.reads.pop("read-2")),
    ),
    "a success that was recorded later": (
        ("reads.done", "audit.jsonl", "line 4: step look succeeded, and no record says that it read"),
        lambda: told_with(_record_late),
    ),
    "another result": (
        ("reads.done", "audit.jsonl", "line 5: its result is not what read-2 got"),
        lambda: told_with(lambda s: s.events[4][1].update(result="c" * 32)),
    ),
}


def _record_late(told: Story) -> None:
    move(told, "read.recorded", "decision.recorded", read_id="read-2")


@pytest.mark.parametrize("name", LIES)
def test_what_is_told_of_reads_must_agree_with_the_chain(office: Office, name: str) -> None:
    (rule, member, what), lie = LIES[name]
    found = failure(office, office.seal(lie()))
    assert found[:2] == (rule, member), found
    assert found[2].startswith(what)


def test_costs_are_the_sums_of_what_reads_and_receipts_tell(office: Office) -> None:
    members = members_of(office.seal(looked().dossier()))
    assert canonical.loads(members["costs.json"]) == [SUMS]


def test_where_nobody_told_any_usage_the_costs_are_an_empty_list(office: Office) -> None:
    path = office.seal(story().dossier())
    assert members_of(path)["costs.json"] == b"[]"
    verify(path, office.public)


@pytest.mark.parametrize("sums", [[], [SUMS | {"amounts": {"USD": "0.00245"}}], [SUMS, SUMS]])
def test_costs_that_are_not_the_sums_are_named(office: Office, sums: list[Any]) -> None:
    path = resealed(office, office.seal(looked().dossier()), **{"costs.json": canonical.dumps(sums)})
    assert failure(office, path) == ("costs.sum", "costs.json", "is not what the reads and the receipts add up to")


def test_a_bundle_has_costs(office: Office) -> None:
    path = resealed(office, office.seal(looked().dossier()), **{"costs.json": None})
    assert failure(office, path) == ("costs.sum", "costs.json", "is not in the bundle")


@pytest.mark.parametrize("told", [{"usage": 1}, "much", TOLD | {"usage": [USAGE | {"provider": ""}]}])
def test_a_row_that_was_made_nonsense_is_sealed_and_named(office: Office, told: Any) -> None:
    assert failure(office, office.seal(bent(told=told)))[:2] == ("reads.on-record", SECOND)


DECISION, RECEIPT = "decisions/00001-d-0.json", "receipts/00001-r-1.json"


def bent_governed(*bends: Callable[[Story], object]) -> Dossier:
    told = governed()
    for bend in bends:
        bend(told)
    return told.dossier()


def answered(**change: Any) -> Dossier:
    """Return the dossier of a receipt that was written otherwise, with the digest on the chain."""
    return bent_governed(lambda told: told.receipts["r-1"].update(change))


def asked(**change: Any) -> Dossier:
    """Return the dossier of a read of which policy was told otherwise."""
    return bent_governed(lambda told: told.decisions["d-0"]["input"]["effect"].update(change))


def undeclared(told: Story) -> None:
    """Let the definition say that nobody has to be asked."""
    definition = canonical.loads(told.definition)
    del definition["verbs"]["register.look"]["effect"]["governed"]
    redefine(told, definition)


def unasked(told: Story) -> None:
    """Let it have been read as if it were not governed: a record of it, and nothing else."""
    for event, key in (("effect.proposed", "e-look"), ("decision.recorded", "e-look"), ("receipt.written", "e-look")):
        drop(told, event, effect_id=key)
    del told.decisions["d-0"], told.receipts["r-1"]
    told.reads = {"read-1": read(1, 2, 1, read_id="read-1")}
    told.events.insert(2, ("read.recorded", {"read_id": "read-1", "step": "look", "minute": 1}))


def unreceived(told: Story) -> None:
    drop(told, "receipt.written", receipt_id="r-1")
    del told.receipts["r-1"]


def acted_first(told: Story) -> None:
    move(told, "receipt.written", "decision.recorded", receipt_id="r-1")


GOVERNED_LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a read that policy denied": (
        ("acts.allowed", RECEIPT, ""),
        lambda: bent_governed(lambda told: outcome(told, "d-0", "deny")),
    ),
    "a read without a decision": (("acts.allowed", RECEIPT, ""), lambda: answered(decision_id=None)),
    "a read before its decision": (("acts.after-decision", RECEIPT, ""), lambda: bent_governed(acted_first)),
    "a read under the decision of another effect": (("acts.allowed", RECEIPT, ""), lambda: answered(decision_id="d-2")),
    "a governed read that passed no gate": (
        ("reads.in-place", "reads/00001-read-1.json", "definition.json has no read register.look at the step look"),
        lambda: bent_governed(unasked),
    ),
    "an effect of a read that is not governed": (
        ("effects.of-definition", "audit.jsonl", "line 3: register::look is not what step look is to be allowed to do"),
        lambda: bent_governed(undeclared, lambda told: told.events[-2][1].update(writes=2)),
    ),
    "a read that succeeded without a receipt": (
        ("steps.receipts", "audit.jsonl", "line 5: step look succeeded, and no receipt says that it acted"),
        lambda: bent_governed(unreceived),
    ),
    "another result than the receipt's": (
        ("reads.done", "audit.jsonl", "line 6: its result is not what r-1 got"),
        lambda: answered(response={"bytes": 42, "commitment": "c" * 32}),
    ),
    "a receipt that keeps what was read": (
        ("reads.done", "audit.jsonl", "line 6: step look succeeded, and no record says that it read"),
        lambda: answered(response={"value": 3}),
    ),
    "a read that policy took for a write": (
        ("effects.as-declared", DECISION, "input.effect.reads is False, and definition.json says True"),
        lambda: asked(reads=False),
    ),
    "a write that policy took for a read": (
        (
            "effects.as-declared",
            "decisions/00002-d-1.json",
            "input.effect.reads is True, and definition.json says False",
        ),
        lambda: bent_governed(lambda told: told.decisions["d-1"]["input"]["effect"].update(reads=True)),
    ),
    "a read that is counted as a write": (
        ("run.writes", "run.json", "writes is 2, and 1 receipts say success"),
        lambda: bent_governed(lambda told: told.events[-2][1].update(writes=2)),
    ),
}


def test_a_governed_read_that_was_allowed_passes_every_step(office: Office) -> None:
    report = verify(office.seal(governed().dossier()), office.public)
    assert report.steps[10].fact.endswith("1 writes have their receipts, 1 reads their records")


@pytest.mark.parametrize("name", GOVERNED_LIES)
def test_what_is_told_of_governed_reads_must_agree_with_policy_and_chain(office: Office, name: str) -> None:
    (rule, member, what), lie = GOVERNED_LIES[name]
    with pytest.raises(VerificationError) as caught:
        verify(office.seal(lie()), office.public)
    assert (caught.value.rule, caught.value.member) == (rule, member), caught.value.what
    assert caught.value.what.startswith(what)


def test_the_sample_is_told_by_its_commitment_alone() -> None:
    assert governed().receipts["r-1"]["response"] == {"bytes": 42, "commitment": GOT}
