"""Complete exports: runs that an index leaves out are found; and tables for spreadsheets.

A run that an index leaves out, or tells otherwise than the log, is found by whoever has the log.

Tables for spreadsheets, and periods of days.
"""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.export.index import PeriodError, csv_of, period
from evidence.export.verify import ExportFault, ExportReport, verify_export
from evidence.statement import sha256
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.checkpoint import LogKeys, sign_checkpoint
from tests.unit.export_sample import LOG, MADE_AT, OPEN, Sample, refused, run
from tests.unit.log_sample import MemoryLog, key_of, publish, signer, vkey

TRUST = Trust(key_of(1).public, log=LogKeys((vkey(LOG),)))
SIZE = 300
"""Leaves before the one that puts the export on record."""
MOMENT = "2026-02-01T00:00:00.000000Z"
SHA256 = "e" * 64
LATER = "2026-02-01T00:00:01.000000Z"
BUNDLED = {"state": "sealed", "why": "", "sha256": SHA256, "size": 7}


def leaf(run_id: str, event: str, at: str, seq: int = 1, **data: Any) -> dict[str, Any]:
    actor = data.pop("actor", {"id": "countersign", "kind": "system"})
    about = dict.fromkeys(("request_id", "run_id", "step", "approval_id", "effect_id"))
    told = {"run_id": run_id, "event": event, "at": at, "seq": seq, "prev_hash": "0" * 64}
    return {**told, "actor": actor, "correlation": about, "data": data}


def queued(one: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = ("definition", "definition_version", "definition_digest")
    told = {name if name != "definition" else "definition_name": one[name] for name in names}
    told |= {"trigger_ref": one["reference"], "trigger_type": one["trigger_type"], **more}
    actor = {"id": one["requested_by"], "kind": "person"}
    return leaf(one["run_id"], "run.queued", one["created_at"], actor=actor, **told)


@dataclass
class Office:
    """Three runs of the period with others around them, 300 leaves in all, published below `folder`."""

    folder: Path
    runs: list[dict[str, Any]] = field(
        default_factory=lambda: [
            run(1, log_index=10, leaves=3, **BUNDLED),
            run(2, log_index=20, leaves=2),
            run(3, log_index=30, leaves=2, **OPEN),
        ]
    )
    refused: list[dict[str, Any]] = field(default_factory=lambda: [refused(5), refused(6, at=LATER)])
    said: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Have the log tell what the runs are."""
        for one in self.runs:
            self.said[one["log_index"]] = queued(one)
        for one in self.runs[:2]:
            ended = leaf(one["run_id"], "run.succeeded", one["finished_at"], 2)
            self.said[one["log_index"] + 4] = ended
        self.said[15] = leaf("run_1", "evidence.sealed", MOMENT, 3, sha256=SHA256, size=7)
        self.said[35] = leaf("run_3", "run.waiting", MOMENT, 2)
        for place, row in zip((50, 60), self.refused, strict=True):
            actor, data = {"id": row["actor"], "kind": "person"}, canonical.loads(row["data"].encode())
            self.said[place] = leaf("tenant_acme", row["event"], row["at"], row["leaf"], actor=actor, **data)
        self.said[0] = leaf("run_before", "run.queued", "2025-12-31T23:59:59.999999Z")
        self.said[299] = leaf("run_after", "run.queued", "2026-04-01T00:00:00.000000Z")

    @property
    def entries(self) -> list[bytes]:
        other = leaf("tenant_acme", "definition.stored", MOMENT)
        return [canonical.dumps(self.said.get(place, other)) for place in range(SIZE)]

    def act(self, folder: Path, at: str, by: str = "omar", asked: Any = None, **more: Any) -> bytes:
        """Return the entry that puts the export on record."""
        index = (folder / "index.json").read_bytes()
        told = {
            "from": "2026-01-01T00:00:00.000000Z",
            "until": "2026-04-01T00:00:00.000000Z",
            "asked": {"statement": sha256((folder / "statement.dsse.json").read_bytes()), "format": 2},
            "rows": len(canonical.loads(index)["runs"]),
            "sha256": sha256(index),
            **more,
        }
        told["asked"] = {**told["asked"], **(asked or {})}
        actor = {"id": by, "kind": "person"}
        return canonical.dumps(leaf("tenant_acme", "evidence.exported", at, 9, actor=actor, **told))

    def verify(
        self,
        runs: list[dict[str, Any]] | None = None,
        signed: int = SIZE,
        made_at: str = MADE_AT,
        log_size: int | None = None,
        meddle: Callable[[list[bytes]], object] | None = None,
        act: dict[str, Any] | None = None,
        refused: list[dict[str, Any]] | None = None,
    ) -> ExportReport | ExportFault:
        """Verify an export with a checkpoint over so many leaves against the log with the act about it."""
        head = MemoryLog().append(*self.entries).head(signed)
        made: dict[str, Any] = {"made_at": made_at}
        sample = Sample(self.runs if runs is None else runs, index={**made, "has_bundles": False}, predicate=made)
        sample.refused = self.refused if refused is None else refused
        sample.log = {"size": signed if log_size is None else log_size, "until": min(made_at, MOMENT)}
        sample.checkpoint = bytes(sign_checkpoint(LOG, head)).decode()
        folder = self.folder.with_name("export")
        rmtree(folder, ignore_errors=True)
        sample.write(folder)
        entries = [*self.entries, self.act(folder, **{"at": made_at, **(act or {})})]
        if meddle:
            meddle(entries)
        publish(self.folder, entries, LOG)
        return verify_export(folder, TRUST, self.folder)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "log")


def broken(found: ExportReport | ExportFault, rule: str = "export.complete") -> str:
    assert isinstance(found, ExportFault)
    assert found.rule == rule
    return found.what


def test_an_index_with_every_run_of_the_period_is_complete(office: Office) -> None:
    report = office.verify()
    assert isinstance(report, ExportReport)
    assert [passed.found for passed in report.rules[-4:]] == [
        "3 runs of 301 leaves, and no other of the period",
        "3 runs and 0 votes, as the entries tell them",
        "2 records, as the entries tell them",
        f"by omar at {MADE_AT}",
    ]


def test_a_run_that_was_left_out_is_named(office: Office) -> None:
    assert broken(office.verify(office.runs[1:])).startswith("run_1, queued at 2026-01-01T09")


def test_a_run_on_which_people_voted_is_listed_although_it_is_of_another_day(office: Office) -> None:
    office.said[40] = leaf("run_before", "vote.counted", MOMENT, 2, approval_id="a", person="ann", verdict="approve")
    assert broken(office.verify()).startswith("run_before, voted on at 2026-02-01T00")


def test_a_run_that_the_log_does_not_have_is_named(office: Office) -> None:
    invented = run(4, log_index=None, leaves=1)
    assert broken(office.verify([*office.runs, invented]), "export.entries") == (
        "run_4 is a run that the log does not have"
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"reference": "case-9"}, "the log tells another reference"),
        ({"definition_digest": "0" * 64}, "the log tells another definition_digest"),
        ({"sha256": "0" * 64}, "the log tells another sha256"),
        ({"size": 8}, "the log tells another size"),
        ({"outcome": "done"}, "the log tells another outcome"),
        ({"log_index": 11}, "the log has its first leaf at place 10"),
        ({"log_index": None}, "the log has its first leaf at place 10"),
        ({"leaves": 2}, "the index tells of 2 leaves of 3"),
        ({"leaves": 4}, "the index tells of 4 leaves, and the log as published has 3"),
    ],
)
def test_a_run_that_is_told_otherwise_is_named(office: Office, change: dict[str, Any], what: str) -> None:
    told = [{**office.runs[0], **change}, *office.runs[1:]]
    assert broken(office.verify(told), "export.entries") == f"run_1: {what}"


def test_an_open_run_has_no_end(office: Office) -> None:
    told = [*office.runs[:2], {**office.runs[2], "finished_at": MOMENT}]
    assert broken(office.verify(told), "export.entries") == "run_3: the log tells another finished_at"


def test_a_first_leaf_that_does_not_tell_the_reference_is_held_against_the_export(office: Office) -> None:
    del office.said[10]["data"]["trigger_ref"]
    fault = office.verify()
    assert isinstance(fault, ExportFault)
    assert fault.what.endswith("the log tells another reference")


def test_why_there_is_no_bundle_of_a_run_that_has_ended_is_more_than_the_log_knows(office: Office) -> None:
    told = [office.runs[0], {**office.runs[1], "why": "not sealed: the archive is full"}, office.runs[2]]
    assert isinstance(office.verify(told), ExportReport)


def test_what_came_after_the_checkpoint_is_not_held_against_the_export(office: Office) -> None:
    for place in (250, 251):
        office.said[place] = leaf(f"run_{place}", "run.queued", MADE_AT)
    assert isinstance(office.verify(signed=200), ExportReport)


def test_a_run_that_was_left_out_is_named_although_an_older_checkpoint_was_put_into_the_export(office: Office) -> None:
    assert broken(office.verify(office.runs[:1], signed=16)).startswith("run_2, queued at 2026-01-02T09")


def test_a_run_that_had_a_place_when_the_log_was_looked_through_is_listed_whatever_made_at_says(office: Office) -> None:
    office.said[250] = leaf("run_late", "run.queued", "2026-02-01T00:00:01.000000Z")
    early = "2026-02-01T00:00:02.000000Z"
    assert broken(office.verify(signed=200, log_size=251, made_at=early)).startswith("run_late, queued at")
    unknown = broken(office.verify(signed=200, log_size=250, made_at=early), "export.recorded")
    assert unknown.endswith("another time")


def test_an_export_is_not_made_before_the_newest_leaf_that_it_must_know(office: Office) -> None:
    office.said[250] = leaf("run_before", "run.moved", "2026-04-01T08:00:00.000001Z", 2)
    assert broken(office.verify()) == (
        f"says that it was made at {MADE_AT}, before the log's leaf of 2026-04-01T08:00:00.000001Z"
    )


def test_what_was_told_after_the_checkpoint_of_runs_under_it_is_not_held_against_the_export(office: Office) -> None:
    office.said[250] = leaf("run_3", "run.succeeded", MOMENT, 3)
    assert isinstance(office.verify(signed=200), ExportReport)


def test_a_run_that_was_triggered_while_the_export_was_made_may_be_missing(office: Office) -> None:
    office.said[299] = leaf("run_late", "run.queued", "2026-02-06T11:30:00.000000Z")
    assert isinstance(office.verify(signed=200, made_at="2026-02-06T12:00:00.000000Z"), ExportReport)
    later = office.verify(signed=200, made_at="2026-02-06T12:30:00.000001Z")
    assert broken(later).startswith("run_late, queued at")


@pytest.mark.parametrize(
    ("act", "what"),
    [
        ({"sha256": "0" * 64}, "its SHA-256 stands in no `evidence.exported` of the 301 leaves published"),
        ({"rows": 4}, "`evidence.exported` in the log is about another number of runs"),
        ({"asked": {"statement": "0" * 64}}, "`evidence.exported` in the log is about another statement"),
        ({"until": MADE_AT}, "`evidence.exported` in the log is about another period"),
        ({"by": "eve"}, "`evidence.exported` in the log is about another person"),
        ({"at": "2026-04-01T07:59:59.999999Z"}, "`evidence.exported` in the log is about another time"),
        ({"at": "2026-04-02T08:00:00.000001Z"}, "`evidence.exported` in the log is about another time"),
    ],
)
def test_an_export_is_on_record_as_it_is(office: Office, act: dict[str, Any], what: str) -> None:
    assert broken(office.verify(act=act), "export.recorded") == what


def test_an_export_is_not_on_record_a_day_before_what_the_log_had_by_then(office: Office) -> None:
    office.said[299] = leaf("run_after", "run.queued", "2026-04-02T08:00:00.000001Z")
    what = broken(office.verify(signed=200), "export.recorded")
    assert what == "`evidence.exported` in the log is about another time"


def test_a_published_checkpoint_is_believed_where_the_logs_key_signed_it(office: Office) -> None:
    office.verify()
    folder = office.folder.with_name("export")
    publish(office.folder, office.entries, signer(LOG.name, 8))
    assert broken(verify_export(folder, TRUST, office.folder)).startswith(f"{office.folder / 'checkpoint'}: ")
    (office.folder / "checkpoint").unlink()
    what = broken(verify_export(folder, TRUST, office.folder))
    assert what == f"{office.folder / 'checkpoint'} cannot be read: No such file or directory"


def _swap(place: int, entry: bytes) -> Callable[[list[bytes]], object]:
    return lambda entries: entries.__setitem__(place, entry)


def test_entries_of_another_log_are_not_believed(office: Office) -> None:
    other = canonical.dumps(leaf("run_x", "run.moved", MOMENT))
    assert broken(office.verify(meddle=_swap(7, other))).endswith("are not those that the checkpoint was signed over")


def test_a_published_log_that_forks_behind_the_checkpoint_is_said(office: Office) -> None:
    office.verify(signed=200)
    checkpoint = (office.folder / "checkpoint").read_bytes()
    forked = [*office.entries, b"{}"]
    publish(office.folder, forked, LOG)
    (office.folder / "checkpoint").write_bytes(checkpoint)
    what = broken(verify_export(office.folder.with_name("export"), TRUST, office.folder))
    assert what.startswith("entry 300 of the log is no leaf")
    forked[-1] = canonical.dumps(leaf("run_x", "run.moved", MOMENT))
    publish(office.folder, forked, LOG)
    (office.folder / "checkpoint").write_bytes(checkpoint)
    what = broken(verify_export(office.folder.with_name("export"), TRUST, office.folder))
    assert what.endswith("are not those that the checkpoint was signed over")


def test_leaves_of_a_run_stand_in_their_order(office: Office) -> None:
    office.said[14]["seq"] = 3
    assert broken(office.verify()) == "the log has leaf 3 of run_1 where leaf 2 belongs"


def test_a_partial_bundle_is_taken_from_a_wider_one(office: Office) -> None:
    assert isinstance(office.verify(signed=290), ExportReport)


def test_entries_that_are_missing_are_said(office: Office) -> None:
    office.verify()
    for file in (office.folder / "tile/entries/001.p").iterdir():
        file.unlink()
    what = broken(verify_export(office.folder.with_name("export"), TRUST, office.folder))
    assert what.endswith("tile/entries/001.p/44 is not there")


def test_a_bundle_that_breaks_off_is_said(office: Office) -> None:
    office.verify()
    file = office.folder / "tile/entries/000"
    file.write_bytes(file.read_bytes()[:-1])
    assert "breaks off" in broken(verify_export(office.folder.with_name("export"), TRUST, office.folder))


def test_an_entry_that_is_no_leaf_is_said(office: Office) -> None:
    office.said[9] = {"no": "leaf"}
    assert broken(office.verify()).startswith("entry 9 of the log is no leaf")


def test_without_a_checkpoint_nothing_is_held_against_the_log(office: Office, tmp_path: Path) -> None:
    publish(office.folder, office.entries, LOG)
    Sample(checkpoint=None).write(tmp_path / "export")
    found = verify_export(tmp_path / "export", Trust(key_of(1).public), office.folder)
    assert broken(found) == "is not there, and the log is given"


def _read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "|calc", "%0"])
def test_no_text_is_a_formula_to_a_spreadsheet(text: str) -> None:
    assert _read(csv_of(["a"], [{"a": text}])) == [["a"], [f"'{text}"]]


def test_numbers_and_nothing_stay_as_they_are_and_moments_are_in_utc() -> None:
    row = {"a": -1, "b": None, "c": datetime(2026, 1, 31, 10, tzinfo=timezone(timedelta(hours=1)))}
    assert csv_of(["a", "b", "c"], [row]) == b"a,b,c\r\n-1,,2026-01-31T09:00:00.000000Z\r\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))))
def test_every_text_comes_back_in_one_line_of_the_table(texts: list[str]) -> None:
    _, *lines = _read(csv_of(["n", "a"], [{"n": 1, "a": text} for text in texts]))
    assert [line[1].removeprefix("'") for line in lines] == [text.removeprefix("'") for text in texts]


def test_a_period_has_both_its_days() -> None:
    found = period("2026-01-01", "2026-03-31")
    assert found.since == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.until == datetime(2026, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "day", ["20260101", "2026-W01-1", "2026-13-01", "2026-02-29", "", "2026-01-01T00:00:00", "\u0662026-01-01"]
)
def test_what_is_no_day_is_said(day: str) -> None:
    with pytest.raises(PeriodError):
        period(day, "2026-12-31")


def test_a_period_does_not_end_before_it_begins() -> None:
    with pytest.raises(PeriodError, match="2026-02-01 is after 2026-01-31"):
        period("2026-02-01", "2026-01-31")
