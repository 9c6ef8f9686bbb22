"""Refused attempts in an export: each line is a leaf of the log, and each leaf that it must know has its line."""

from pathlib import Path
from typing import Any

import pytest

from evidence.export.verify import ExportReport
from tests.unit.export_sample import refused
from tests.unit.test_export_complete import LATER, Office, broken


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "log")


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ([refused(5)], f"the log has a command.refused of slack:T1:U1 at {LATER}, and there is no line"),
        ([refused(4), refused(5)], "the log has no refused attempt as leaf 4 of the tenant's chain"),
        ([refused(5), refused(6)], "leaf 6: the log tells another at"),
        ([refused(5, actor="slack:T1:U2"), refused(6, at=LATER)], "leaf 5: the log tells another actor"),
        (
            [
                refused(5, data='{"code":"identity.bot","command":"show","team":"T1","user":"U1"}'),
                refused(6, at=LATER),
            ],
            "leaf 5: the log tells another data",
        ),
    ],
)
def test_refused_attempts_are_those_of_the_log(office: Office, table: list[dict[str, Any]], what: str) -> None:
    assert broken(office.verify(refused=table), "export.refusals") == what


def test_an_export_that_is_on_record_as_of_another_format_is_refused(office: Office) -> None:
    assert broken(office.verify(act={"asked": {"format": 1}}), "export.recorded").endswith("is about another format")
    assert isinstance(office.verify(), ExportReport)


def test_what_was_refused_in_another_tenant_or_on_another_day_is_not_told(office: Office) -> None:
    office.said[60]["run_id"] = "tenant_other"
    office.said[50]["at"] = "2025-12-31T23:59:59.999999Z"
    assert isinstance(office.verify(refused=[]), ExportReport)


def test_a_refused_attempt_that_the_export_need_not_know_may_have_a_line_or_none(office: Office) -> None:
    del office.said[299]
    made: dict[str, Any] = {"signed": 60, "made_at": "2026-02-01T00:30:00.000000Z"}
    assert isinstance(office.verify(**made, refused=office.refused[:1]), ExportReport)
    assert isinstance(office.verify(**made), ExportReport)
    late: dict[str, Any] = {"signed": 60, "made_at": "2026-02-01T01:30:00.000000Z"}
    assert "there is no line" in broken(office.verify(**late, refused=office.refused[:1]), "export.refusals")
