"""A bundle's JSON of any shape is verified without being kept as values, and what does not hold is told as ever."""

import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evidence.verify.verify import VerificationError, verify
from receipts import pieces, piecewise
from tests.unit import test_evidence_claims as claims
from tests.unit import test_evidence_forgeries as forgeries
from tests.unit import test_evidence_runs as told
from tests.unit.evidence_bends import broken_by_members, rewrite, told_with
from tests.unit.evidence_sample import Office, story

MIB = 2**20


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


APART = {
    (piecewise, "AT_ONCE"): 40,
    (piecewise, "LARGE"): 3,
    (piecewise, "LONG"): 3,
    (pieces, "PIECE"): 64,
    (pieces, "_FIRST"): 16,
}
"""With these, everything stands apart that may, and is read in many pieces."""


def said(office: Office, path: Path) -> tuple[str, object]:
    """Return what is found, a sentence if that is a fault, and what the rules about members find by themselves."""
    by_members = broken_by_members(office, path)
    try:
        return str(verify(path, office.public)), by_members
    except VerificationError as error:
        return str(error), by_members


LIES = (
    {name: make for name, (*_, make) in (claims.CHANGES | forgeries.CHANGES).items()}
    | {name: lie for name, (_, lie) in told.LIES.items()}
    | {name: partial(told_with, *bends) for name, bends in claims.SOUND.items()}
)


@pytest.mark.parametrize("name", LIES)
def test_the_same_is_found_where_all_that_may_stands_apart(
    office: Office, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = office.seal(LIES[name]())
    found = said(office, path)
    for (module, setting), value in APART.items():
        monkeypatch.setattr(module, setting, value)
    assert said(office, path) == found


def large_answers(value: Any) -> Any:
    """Return the dossier of a run whose receipts and a decision hold this."""
    sample = story()
    for record in sample.receipts.values():
        record["response"] = value
    sample.decisions["d-1"]["note"] = [value]
    return sample.dossier()


def large_params(value: Any) -> Any:
    """Return the dossier of a run that was asked to write this."""
    sample = story()
    rewrite(sample, fields={"rows": value})
    return sample.dossier()


def large_cards(value: Any) -> Any:
    """Return the dossier of a run whose card shows this, and whose receipts say that as much was redacted."""
    sample = story()
    sample.approvals["a-1"]["cards"][0]["card"]["blocks"] = value[: 7 * len(value) // 10]
    for record in sample.receipts.values():
        record["redacted"] += [f"/response/rows/{number:08d}" for number in range(MIB // 52)]
    return sample.dossier()


def large_leaves(value: Any) -> Any:
    """Return the dossier of a run of many leaves, half of which say parts of this, and the others nothing."""
    sample = story()
    noted, part = {"step": None, "minute": 9}, value[: 800 * len(value) // MIB]
    sample.events[-2:-2] = [("countersign.noted", noted | {"noted": part})] * (MIB // 900)
    sample.events[-2:-2] = [("countersign.noted", noted)] * (MIB // 450)
    return sample.dossier()


@pytest.mark.parametrize("dossier", [large_answers, large_params, large_cards, large_leaves])
@pytest.mark.parametrize(
    "value",
    [
        [[]] * (MIB // 12),
        [{"name": "Ingrid Halvorsen", "share": 36}] * (MIB // 160),
        [{"name": "Ingrid Halvorsen", "token": "s3cret"}] * (MIB // 160),
        [0.5] * (MIB // 16),
        [0.0000015] * (MIB // 36),
    ],
    ids=["lists", "rows", "rows with secrets", "numbers", "millionths"],
)
def test_large_json_is_verified_in_little_more_memory_than_its_bytes(office: Office, dossier: Any, value: Any) -> None:
    path = office.seal(dossier(value))
    size = path.stat().st_size
    assert size > 0.7 * MIB
    tracemalloc.start()
    try:
        verify(path, office.public)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < size + 8 * MIB  # kept as values, it is 16 to 73
