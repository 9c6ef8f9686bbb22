"""A run that an index leaves out, or tells otherwise than the log, is found by whoever has the log."""

from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from evidence.export.verify import ExportFault, ExportReport, verify_export
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.log.checkpoint import LogKeys, sign_checkpoint
from receipts.log.tile_data import bundle_data
from receipts.log.tiles import EntryBundle, tiles_between
from tests.unit.export_sample import LOG, MADE_AT, OPEN, Sample, key_of, run
from tests.unit.log_sample import MemoryLog, signer, vkey

TRUST = Trust(key_of(1).public, log=LogKeys((vkey(LOG),)))


def leaf(run_id: str, event: str, at: str, **data: Any) -> dict[str, Any]:
    return {"run_id": run_id, "event": event, "at": at, "data": data, "seq": 1, "prev_hash": "0" * 64}


def queued(one: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"trigger_ref": one["reference"], "definition_digest": one["definition_digest"], **more}
    return leaf(one["run_id"], "run.queued", one["created_at"], **told)


@dataclass
class Office:
    """Three runs of the period with others around them, 300 leaves in all, published below `folder`."""

    folder: Path
    runs: list[dict[str, Any]] = field(
        default_factory=lambda: [run(1, log_index=10), run(2, log_index=20), run(3, log_index=30, **OPEN)]
    )
    said: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Have the log tell what the runs are."""
        for one in self.runs:
            self.said[one["log_index"]] = queued(one)
        for one in self.runs[:2]:
            self.said[one["log_index"] + 5] = leaf(one["run_id"], "evidence.sealed", MOMENT, sha256=one["sha256"])
        self.said[0] = leaf("run_before", "run.queued", "2025-12-31T23:59:59.999999Z")
        self.said[299] = leaf("run_after", "run.queued", "2026-04-01T00:00:00.000000Z")

    @property
    def entries(self) -> list[bytes]:
        other = leaf("tenant_acme", "definition.stored", MOMENT)
        return [canonical.dumps(self.said.get(place, other)) for place in range(300)]

    def publish(self, size: int = 300, entries: list[bytes] | None = None) -> None:
        entries = entries or self.entries
        for one in tiles_between(0, size):
            if isinstance(one, EntryBundle):
                file = self.folder / one.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(bundle_data(entries[one.index * 256 : one.index * 256 + one.width]))
        head = MemoryLog().append(*entries).head(size)
        (self.folder / "checkpoint").write_bytes(bytes(sign_checkpoint(LOG, head)))

    def verify(
        self, runs: list[dict[str, Any]] | None = None, signed: int = 300, made_at: str = MADE_AT
    ) -> ExportReport | ExportFault:
        """Verify an export with a checkpoint over so many leaves against what is published."""
        head = MemoryLog().append(*self.entries).head(signed)
        made = {"made_at": made_at}
        sample = Sample(self.runs if runs is None else runs, index=made, predicate=made, log={"size": 300})
        sample.checkpoint = bytes(sign_checkpoint(LOG, head)).decode()
        folder = self.folder.with_name("export")
        sample.write(folder)
        sealed = {one["run_id"] for one in sample.runs if one["sha256"]}
        for file in (folder / "bundles").iterdir():
            if file.stem not in sealed:
                file.unlink()
        return verify_export(folder, TRUST, self.folder)


MOMENT = "2026-02-01T00:00:00.000000Z"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "log")


def broken(found: ExportReport | ExportFault) -> str:
    assert isinstance(found, ExportFault)
    assert found.rule == "export.complete"
    return found.what


def test_an_index_with_every_run_of_the_period_is_complete(office: Office) -> None:
    office.publish()
    report = office.verify()
    assert isinstance(report, ExportReport)
    assert report.rules[-1].found == "3 runs of 300 leaves, and no other of the period"


def test_a_run_that_was_left_out_is_named(office: Office) -> None:
    office.publish()
    assert broken(office.verify(office.runs[1:])).startswith("run_1, queued at 2026-01-01T09")


def test_a_run_that_the_log_does_not_have_is_named(office: Office) -> None:
    del office.said[20]
    office.publish()
    assert broken(office.verify()) == "run_2 has place 20, and the log queues no such run"


@pytest.mark.parametrize("change", [{"reference": "case-9"}, {"definition_digest": "0" * 64}, {"log_index": 11}])
def test_a_run_that_is_told_otherwise_is_named(office: Office, change: dict[str, Any]) -> None:
    office.publish()
    assert (
        broken(office.verify([{**office.runs[0], **change}, *office.runs[1:]])) == "run_1 is told otherwise by the log"
    )


def test_a_run_is_of_the_index_although_the_first_release_did_not_tell_its_reference(office: Office) -> None:
    del office.said[10]["data"]["trigger_ref"]
    office.publish()
    assert isinstance(office.verify(), ExportReport)


def test_another_bundle_than_the_one_that_was_stored_is_named(office: Office) -> None:
    office.said[15]["data"]["sha256"] = "0" * 64
    office.publish()
    assert broken(office.verify()).startswith("run_1: the log tells of another bundle, 000")


def test_a_run_that_was_queued_in_the_first_minute_may_be_of_the_day_before(office: Office) -> None:
    office.said[5] = leaf("run_edge", "run.queued", "2026-01-01T00:00:59.000000Z")
    office.publish()
    assert isinstance(office.verify(), ExportReport)


def test_what_came_after_the_checkpoint_is_not_held_against_it(office: Office) -> None:
    office.publish(size=28)
    assert isinstance(office.verify(signed=28), ExportReport)


def test_a_run_that_was_left_out_is_named_although_an_older_checkpoint_was_put_into_the_export(office: Office) -> None:
    office.publish()
    assert broken(office.verify(office.runs[:1], signed=15)).startswith("run_2, queued at 2026-01-02T09")


def test_what_was_told_after_the_checkpoint_of_runs_under_it_is_not_held_against_the_export(office: Office) -> None:
    office.said[250] = leaf("run_3", "evidence.sealed", MOMENT, sha256="e" * 64)
    office.publish()
    report = office.verify(signed=200)
    assert isinstance(report, ExportReport)
    assert report.rules[-1].found == "3 runs of 300 leaves, and no other of the period"


def test_a_run_that_was_triggered_while_the_export_was_made_may_be_missing(office: Office) -> None:
    office.said[250] = leaf("run_late", "run.queued", "2026-01-06T11:30:00.000000Z")
    office.publish()
    assert isinstance(office.verify(signed=200, made_at="2026-01-06T12:00:00.000000Z"), ExportReport)
    rmtree(office.folder.with_name("export"))
    later = office.verify(signed=200, made_at="2026-01-06T12:30:00.000001Z")
    assert broken(later).startswith("run_late, queued at")
    rmtree(office.folder.with_name("export"))
    assert isinstance(office.verify(signed=200, made_at="0001-01-01T00:00:00.000000Z"), ExportReport)


def test_a_published_checkpoint_is_believed_where_the_logs_key_signed_it(office: Office) -> None:
    office.publish()
    head = MemoryLog().append(*office.entries).head(300)
    (office.folder / "checkpoint").write_bytes(bytes(sign_checkpoint(signer(LOG.name, 8), head)))
    assert broken(office.verify()).startswith(f"{office.folder / 'checkpoint'}: ")
    rmtree(office.folder.with_name("export"))
    (office.folder / "checkpoint").unlink()
    assert broken(office.verify()) == f"{office.folder / 'checkpoint'} cannot be read: No such file or directory"


def test_a_published_log_that_forks_behind_the_checkpoint_is_said(office: Office) -> None:
    forked = office.entries
    forked[250] = canonical.dumps(leaf("run_x", "run.moved", MOMENT))
    office.publish(entries=forked)
    (office.folder / "checkpoint").write_bytes(
        bytes(sign_checkpoint(LOG, MemoryLog().append(*office.entries).head(300)))
    )
    assert broken(office.verify(signed=200)).endswith("are not those that the checkpoint was signed over")


def test_entries_of_another_log_are_not_believed(office: Office) -> None:
    other = office.entries
    other[7] = canonical.dumps(leaf("run_x", "run.moved", MOMENT))
    office.publish(entries=other)
    assert broken(office.verify()).endswith("are not those that the checkpoint was signed over")


def test_a_partial_bundle_is_taken_from_a_wider_one(office: Office) -> None:
    office.publish(size=299)
    assert isinstance(office.verify(signed=290), ExportReport)


def test_entries_that_are_missing_are_said(office: Office) -> None:
    office.publish(size=256)
    assert broken(office.verify()).endswith("tile/entries/001.p/44 is not there")


def test_a_bundle_that_breaks_off_is_said(office: Office) -> None:
    office.publish()
    file = office.folder / "tile/entries/000"
    file.write_bytes(file.read_bytes()[:-1])
    assert "breaks off" in broken(office.verify())


def test_an_entry_that_is_no_leaf_is_said(office: Office) -> None:
    office.said[9] = {"no": "leaf"}
    office.publish()
    assert broken(office.verify()).startswith("entry 9 of the log is no leaf")


def test_without_a_checkpoint_nothing_is_held_against_the_log(office: Office, tmp_path: Path) -> None:
    office.publish()
    Sample(checkpoint=None).write(tmp_path / "export")
    found = verify_export(tmp_path / "export", Trust(key_of(1).public), office.folder)
    assert broken(found) == "is not there, and the log is given"
