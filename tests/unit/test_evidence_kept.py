"""`--checkpoint`: whoever has kept a checkpoint finds out that a bundle's log is another one; no less is believed."""

import json
from pathlib import Path

import pytest

from countersign.cli.evidence_options import VerifierInputs
from countersign.cli.verify import report_one, verify_all
from evidence.errors import UndecidedError
from evidence.verify.audit_log import one_log_with, tiles_in
from evidence.verify.judgement import Standing
from evidence.verify.trust import Trust, TrustError, open_kept
from evidence.verify.verify import VerificationError, verify
from receipts.log.hashes import TreeHead
from receipts.log.tiles import Tile
from tests.unit.evidence_bound import bound
from tests.unit.evidence_logged import LOG, OTHER, Grown, checkpoint, run_in_log, trusted
from tests.unit.evidence_sample import Office, story
from tests.unit.log_sample import vkey

SIZE = 28
"""Leaves of the log that the sample run's bundle is proven by."""
MORE = [bytes([number % 251]) * 32 for number in range(600)]


class Kept:
    """A bundle, and checkpoints of its log before and after, which is published for each of them."""

    def __init__(self, folder: Path) -> None:
        self.office, self.folder = Office.in_folder(folder), folder / "log"
        self.log, dossier = run_in_log()
        self.path = self.office.seal(dossier)
        self.heads = {SIZE: self.log.range.head()}
        self.log.publish(self.folder)
        for more in (MORE[:70], MORE[70:]):
            old = self.log.range.size
            head = self.log.append(more)
            self.heads[head.size] = head
            self.log.publish(self.folder, old)

    @property
    def trust(self) -> Trust:
        return trusted(self.office, LOG)

    def verified(self, *heads: TreeHead, folder: Path | None = None) -> str:
        """Return what is found where these checkpoints were kept."""
        rule = one_log_with(heads, tiles_in(folder or self.folder))
        return verify(self.path, self.trust, rule).steps[-1].fact

    def broken(self, head: TreeHead, folder: Path | None = None) -> str:
        """Return what is said where this checkpoint was kept, which is of another log."""
        with pytest.raises(VerificationError) as error:
            self.verified(head, folder=folder)
        assert (error.value.rule, error.value.member) == ("log.kept", "log/checkpoint.txt")
        return error.value.what


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def older(size: int) -> TreeHead:
    """Return the head of the bundle's log when it was smaller."""
    log, _ = run_in_log()
    return Grown().append([log.node(0, index) for index in range(size)])


@pytest.mark.parametrize("size", [SIZE, SIZE + 70, SIZE + 600])
def test_a_checkpoint_of_the_same_log_holds_whether_it_is_newer_or_not(kept: Kept, size: int) -> None:
    assert kept.verified(kept.heads[size]) == "one log with 1 checkpoint that was kept"


@pytest.mark.parametrize("size", [0, 1, 2, 16, 27])
def test_a_checkpoint_that_was_kept_before_the_bundle_was_sealed_holds(kept: Kept, size: int) -> None:
    assert kept.verified(older(size), kept.heads[98]) == "one log with 2 checkpoints that were kept"


def test_a_fork_is_found_whatever_its_size(kept: Kept) -> None:
    assert "there are two roots of 28 leaves" in kept.broken(TreeHead(SIZE, bytes(32)))
    for size in (5, SIZE + 70, SIZE + 600):
        assert f"the checkpoint of {size} leaves that was kept" in kept.broken(TreeHead(size, bytes(32)))


def test_tiles_of_the_fork_prove_nothing(kept: Kept, tmp_path: Path) -> None:
    other = Grown()
    head = other.append(MORE[:98])
    assert "not of one log" in kept.broken(head, other.publish(tmp_path / "other"))
    assert "not of one log" in kept.broken(kept.heads[98], tmp_path / "other")


def test_a_width_that_was_never_published_is_read_from_a_wider_tile(kept: Kept) -> None:
    (kept.folder / Tile(0, 0, 98).path).unlink()
    assert kept.verified(kept.heads[98])
    full = kept.folder / Tile(0, 0, 256).path
    (kept.folder / Tile(0, 0, 99).path).write_bytes(full.read_bytes()[: 99 * 32])
    full.unlink()
    assert kept.verified(kept.heads[98])


def test_where_tiles_are_missing_nothing_is_judged(kept: Kept, tmp_path: Path) -> None:
    with pytest.raises(UndecidedError, match="has no tile/0/000"):
        kept.verified(kept.heads[98], folder=tmp_path / "none")
    with pytest.raises(UndecidedError, match="only with the log's tiles"):
        verify(kept.path, kept.trust, one_log_with([kept.heads[98]], None))
    assert verify(kept.path, kept.trust, one_log_with([kept.heads[SIZE]], None))


def test_a_bundle_without_a_checkpoint_is_not_of_that_log(kept: Kept) -> None:
    for told in (bound(), story()):
        path = kept.office.seal(told.dossier())
        with pytest.raises(VerificationError, match=r"log\.kept: log/checkpoint\.txt: is not in the bundle"):
            verify(path, kept.office.public, one_log_with([kept.heads[SIZE]], None))


def test_a_checkpoint_counts_only_where_the_logs_key_signed_it(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "kept.txt"
    with pytest.raises(TrustError, match="cannot be read"):
        open_kept(file, kept.trust.log)
    file.write_text(checkpoint(kept.heads[98], OTHER))
    with pytest.raises(TrustError, match="is not signed by"):
        open_kept(file, kept.trust.log)
    with pytest.raises(TrustError, match="a log whose key is given, and none is"):
        open_kept(file, None)
    file.write_text(checkpoint(kept.heads[98]))
    assert open_kept(file, kept.trust.log) == kept.heads[98]


def test_a_log_without_a_checkpoint_to_compare_with_it_is_not_taken_for_one_that_was_compared(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    given = VerifierInputs(key=kept.office.public, log_keys=[str(vkey(LOG))], log=kept.folder)
    assert verify_all([kept.path], given, None, as_json=False) == Standing.UNREAD
    assert report_one(kept.path, given, kept.folder / "report.html") == Standing.UNREAD
    said = "countersign: --checkpoint needs the log to compare with, and none is given\n"
    assert capsys.readouterr().err == said * 2
    assert not (kept.folder / "report.html").exists()


@pytest.mark.parametrize(
    ("head", "folder", "code", "name"),
    [
        (None, "log", 0, None),
        (TreeHead(98, bytes(32)), "log", 1, "log.kept"),
        (None, "none", 3, "log.kept"),
    ],
    ids=["one log", "a fork", "no tiles"],
)
def test_the_exit_status_tells_a_fork_from_what_cannot_be_compared(
    kept: Kept, capsys: pytest.CaptureFixture[str], head: TreeHead | None, folder: str, code: int, name: str | None
) -> None:
    file = kept.folder / "kept.txt"
    file.write_text(checkpoint(head or kept.heads[98]))
    given = VerifierInputs(
        key=kept.office.public, log_keys=[str(vkey(LOG))], checkpoints=[file], log=kept.folder.parent / folder
    )
    assert verify_all([kept.path], given, None, as_json=True) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["holds"], told["failed"] and told["failed"]["name"]) == (code == 0, name)
    assert verify_all([kept.path], given, None, as_json=False) == code
    told_people = capsys.readouterr()
    assert (name or "13. one log with 1 checkpoint") in told_people.out + told_people.err
