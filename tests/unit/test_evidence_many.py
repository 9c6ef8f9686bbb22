"""A bundle of very many small records takes time and memory in proportion to its size."""

import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from evidence.reading import material
from evidence.verify.verify import verify
from tests.unit.evidence_many import many
from tests.unit.evidence_sample import Office

WRITES = 12
"""For twice as many, a loop over all of a kind for each of a kind takes four times as long; for thrice, nine times."""
_FEW = 1_000
"""Steps of the interpreter that prove nothing."""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def steps_of(office: Office, bundle: Path) -> Counter[str]:
    """Return how many steps of the interpreter each function of the verifier takes for a bundle."""
    found = Counter[str]()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if "/evidence/" not in code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            found[f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"] += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        verify(bundle, office.public)
    finally:
        sys.settrace(before)
    return found


def test_no_rule_looks_at_all_records_for_each_record(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "_NEAR", 1)  # a few records are kept, and are not read
    verify(office.seal(many(1).dossier()), office.public)  # what is made once is made
    once, twice, thrice = (steps_of(office, office.seal(many(times * WRITES).dossier())) for times in (1, 2, 3))
    growing = {
        name: (once[name], twice[name], steps)
        for name, steps in thrice.items()
        if steps > _FEW and (steps - twice[name]) > 4 / 3 * (twice[name] - once[name])
    }
    assert growing == {}


def test_many_records_are_verified_in_memory_in_proportion_to_their_bytes(office: Office) -> None:
    path = office.seal(many(150).dossier())
    verify(path, office.public)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        verify(path, office.public)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 7.5 * size
