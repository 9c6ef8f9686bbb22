"""A report tells what was verified: the file, and what is large in it, is read once."""

import sys
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from evidence.page.report import report_on
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import Rule
from evidence.verify.trust import trust_of
from evidence.zipform import pack
from receipts import piecewise
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office
from tests.unit.test_evidence_report import words_of


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


@pytest.mark.parametrize("fault", ["", "is not so"])
def test_a_report_tells_what_was_verified_though_the_file_is_another_one_by_then(office: Office, fault: str) -> None:
    path = office.seal(bound().dossier())

    def check(then: bytes, _: Contents) -> str:
        path.write_bytes(then)
        if fault:
            raise BrokenError("run.json", fault)
        return "holds"

    rules = [Rule("x", "x", partial(check, then)) for then in (path.read_bytes(), pack({"x": b"{}"}))]
    still, changed = (report_on(path, trust_of(office.public), rule) for rule in rules)
    assert changed == still
    assert "Ben approved" in words_of(changed)


@pytest.mark.parametrize("key", [True, False])
def test_a_report_reads_large_json_once(office: Office, *, key: bool) -> None:
    told = bound()
    told.receipts["r-3"]["response"] = {"rows": [{"id": number} for number in range(10_000)]}
    told.decisions["d-1"]["note"] = ["x"] * 20_000
    reads = list[bytes]()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is piecewise.read.__code__:
            reads.append(frame.f_locals["data"])

    path = office.seal(told.dossier())
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        report_on(path, trust_of(office.public) if key else None)
    finally:
        sys.setprofile(before)
    assert len(reads) == 2, "a receipt and a decision"
    assert reads[0] != reads[1]
