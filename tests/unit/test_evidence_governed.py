"""Governed reads in format 2: each was allowed before it was done, and its step's result is what its receipt says."""

from collections.abc import Callable
from typing import Any

import pytest

from evidence.build import Dossier
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from tests.unit.evidence_bends import drop, move, outcome
from tests.unit.evidence_governed import governed, redefine
from tests.unit.evidence_reads import GOT, read
from tests.unit.evidence_sample import Office, Story

DECISION, RECEIPT = "decisions/00001-d-0.json", "receipts/00001-r-1.json"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def bent(*bends: Callable[[Story], object]) -> Dossier:
    told = governed()
    for bend in bends:
        bend(told)
    return told.dossier()


def answered(**change: Any) -> Dossier:
    """Return the dossier of a receipt that was written otherwise, with the digest on the chain."""
    return bent(lambda told: told.receipts["r-1"].update(change))


def asked(**change: Any) -> Dossier:
    """Return the dossier of a read of which policy was told otherwise."""
    return bent(lambda told: told.decisions["d-0"]["input"]["effect"].update(change))


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


LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a read that policy denied": (
        ("acts.allowed", RECEIPT, ""),
        lambda: bent(lambda told: outcome(told, "d-0", "deny")),
    ),
    "a read without a decision": (("acts.allowed", RECEIPT, ""), lambda: answered(decision_id=None)),
    "a read before its decision": (("acts.after-decision", RECEIPT, ""), lambda: bent(acted_first)),
    "a read under the decision of another effect": (("acts.allowed", RECEIPT, ""), lambda: answered(decision_id="d-2")),
    "a governed read that passed no gate": (
        ("reads.in-place", "reads/00001-read-1.json", "definition.json has no read register.look at the step look"),
        lambda: bent(unasked),
    ),
    "an effect of a read that is not governed": (
        ("effects.of-definition", "audit.jsonl", "line 3: register::look is not what step look is to be allowed to do"),
        lambda: bent(undeclared, lambda told: told.events[-2][1].update(writes=2)),
    ),
    "a read that succeeded without a receipt": (
        ("steps.receipts", "audit.jsonl", "line 5: step look succeeded, and no receipt says that it acted"),
        lambda: bent(unreceived),
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
        lambda: bent(lambda told: told.decisions["d-1"]["input"]["effect"].update(reads=True)),
    ),
    "a read that is counted as a write": (
        ("run.writes", "run.json", "writes is 2, and 1 receipts say success"),
        lambda: bent(lambda told: told.events[-2][1].update(writes=2)),
    ),
}


def test_a_governed_read_that_was_allowed_passes_every_step(office: Office) -> None:
    report = verify(office.seal(governed().dossier()), office.public)
    assert report.steps[10].fact.endswith("1 writes have their receipts, 1 reads their records")


@pytest.mark.parametrize("name", LIES)
def test_what_is_told_of_governed_reads_must_agree_with_policy_and_chain(office: Office, name: str) -> None:
    (rule, member, what), lie = LIES[name]
    with pytest.raises(VerificationError) as caught:
        verify(office.seal(lie()), office.public)
    assert (caught.value.rule, caught.value.member) == (rule, member), caught.value.what
    assert caught.value.what.startswith(what)


def test_the_sample_is_told_by_its_commitment_alone() -> None:
    assert governed().receipts["r-1"]["response"] == {"bytes": 42, "commitment": GOT}
