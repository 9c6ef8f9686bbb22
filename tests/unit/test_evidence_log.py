"""Evidence in the log: leaves, keys, and checkpoints that somebody has kept.

A bundle's leaves stand in the log that was signed, and its key counted when it was sealed; no less is believed.

`--checkpoint`: whoever has kept a checkpoint finds out that a bundle's log is another one; no less is believed.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from countersign.cli.evidence_options import VerifierInputs
from countersign.cli.verify import report_one, verify_all
from evidence.build import Dossier
from evidence.errors import UndecidedError
from evidence.log_proofs import ActPlace, ActsProof, LogProof, Span
from evidence.verify.audit_log import one_log_with, tiles_in
from evidence.verify.judgement import Standing
from evidence.verify.trust import Trust, TrustError, open_kept, trust_of
from evidence.verify.verify import VerificationError, verify
from receipts.hashes import TreeHead
from receipts.note import parse_note
from receipts.register import Register, RegisterError, entry, revoked, succeeded, write_register
from receipts.signing import SigningKey
from receipts.tiles import Tile
from tests.unit.evidence_bends import resealed
from tests.unit.evidence_sample import START, Office, story
from tests.unit.evidence_variants import LOG, OTHER, Grown, checkpoint, logged, run_in_log, trusted
from tests.unit.log_sample import signer, vkey, witness_key


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


CHECKPOINT, INCLUSION = "log/checkpoint.txt", "log/inclusion.json"


def broken(office: Office, dossier: Dossier, trust: Trust | None = None) -> tuple[str, str]:
    with pytest.raises(VerificationError) as error:
        verify(office.seal(dossier), trust or trusted(office))
    return error.value.rule, error.value.member


def test_leaves_that_stand_in_the_log_hold(office: Office) -> None:
    for trust in (trusted(office), trusted(office, LOG), trusted(office, OTHER, LOG)):
        report = verify(office.seal(logged()), trust)
        assert {held.rule: held.found for held in report.rules}["log.inclusion"] == "22 leaves"


def test_where_the_logs_key_is_given_the_bundle_must_stand_in_it(office: Office) -> None:
    assert broken(office, story().dossier(), trusted(office, LOG)) == ("log.signed", CHECKPOINT)
    assert broken(office, logged(), trusted(office, OTHER)) == ("log.signed", CHECKPOINT)


def test_the_sixth_step_says_which_log_and_whether_its_key_was_given(office: Office) -> None:
    file = office.seal(logged())
    known, unknown = (verify(file, trust).steps[5].fact for trust in (trusted(office, LOG), trusted(office)))
    assert re.search(r"; they stand among the [0-9]+ leaves of the log \S+; no time stamp$", known)
    assert re.search(r" leaves of the log \S+, whose key was not given; no time stamp$", unknown)
    assert "; they stand in no log;" in verify(office.seal(story().dossier()), trusted(office)).steps[5].fact


def test_a_checkpoint_of_another_log_does_not_count(office: Office) -> None:
    assert broken(office, logged(), trusted(office, signer("countersign/other", 7))) == ("log.signed", CHECKPOINT)


def _forged(proof: LogProof) -> LogProof:
    return replace(proof, checkpoint=proof.checkpoint.replace("\n28\n", "\n29\n", 1))


LIES: dict[str, tuple[tuple[str, str], Callable[[LogProof], LogProof]]] = {
    "no note": (("log.signed", CHECKPOINT), lambda proof: replace(proof, checkpoint="no note")),
    "a hash": (
        ("log.inclusion", INCLUSION),
        lambda proof: replace(proof, hashes=[bytes(32), *proof.hashes[1:]]),
    ),
    "a hash fewer": (("log.inclusion", INCLUSION), lambda proof: replace(proof, hashes=proof.hashes[1:])),
    "another place": (
        ("log.inclusion", INCLUSION),
        lambda proof: replace(proof, places=[proof.places[0], proof.places[1].model_copy(update={"first_index": 7})]),
    ),
    "a leaf without a place": (("log.inclusion", INCLUSION), lambda proof: replace(proof, places=proof.places[:1])),
    "leaves out of order": (("log.inclusion", INCLUSION), lambda proof: replace(proof, places=proof.places[::-1])),
    "two leaves in one place": (
        ("log.inclusion", INCLUSION),
        lambda proof: replace(proof, places=[proof.places[0], proof.places[1].model_copy(update={"first_index": 4})]),
    ),
    "acts on which nothing rests": (
        ("passkeys.logged", "log/acts.json"),
        lambda proof: replace(proof, acts=ActsProof([ActPlace(seq=1, index=0)], [])),
    ),
    "more leaves than there are": (
        ("log.inclusion", INCLUSION),
        lambda proof: replace(proof, places=[*proof.places, Span(first_seq=23, count=1, first_index=28)]),
    ),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_another_place_in_the_log_is_not_believed(
    office: Office, lie: tuple[tuple[str, str], Callable[[LogProof], LogProof]]
) -> None:
    said, change = lie
    assert broken(office, logged(change)) == said


def test_a_checkpoint_that_was_changed_is_not_signed(office: Office) -> None:
    assert broken(office, logged(_forged), trusted(office, LOG)) == ("log.signed", CHECKPOINT)


def test_a_proof_without_its_checkpoint_does_not_hold(office: Office) -> None:
    path = resealed(office, office.seal(logged()), **{CHECKPOINT: None})
    with pytest.raises(VerificationError, match=r"log\.inclusion"):
        verify(path, office.public)


WATCH = signer("witness.example/w1", 9)


def _watched(proof: LogProof) -> LogProof:
    """Return the proof with its checkpoint cosigned."""
    note = parse_note(proof.checkpoint.encode())
    return replace(proof, checkpoint=bytes(note.signed_by(WATCH.cosign(note.text, 1_767_603_600))).decode())


def test_as_many_witnesses_as_are_asked_for_must_have_cosigned(office: Office) -> None:
    trust = replace(trusted(office, LOG), witnesses=(witness_key(WATCH),), witnessed=1)
    verify(office.seal(logged(_watched)), trust)
    assert broken(office, logged(), trust) == ("log.witnessed", CHECKPOINT)
    verify(office.seal(logged()), replace(trust, witnessed=0))
    other = replace(trust, witnesses=(witness_key(signer("witness.example/w1", 10)),))
    assert broken(office, logged(_watched), other) == ("log.witnessed", CHECKPOINT)


def test_witnesses_are_asked_for_only_with_the_logs_key_and_no_more_than_are_known(office: Office) -> None:
    watch = str(witness_key(WATCH))
    with pytest.raises(TrustError, match="a log whose key is given"):
        trust_of(office.public, witnesses=[watch])
    with pytest.raises(TrustError, match="2 witnesses cannot have cosigned: 1 are given"):
        trust_of(office.public, None, [str(vkey(LOG))], [watch], 2)


# The key: the sample is sealed ten minutes after START.

DAY = timedelta(days=1)
NEXT = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([3]) * 32))


def _trust(office: Office, since: timedelta, until: timedelta, gone: timedelta | None = None) -> Trust:
    """Return the trust of somebody who has the next key and a register in which the office's key counted then."""
    keys = succeeded([entry(office.key.public, START + since)], NEXT, START + until)
    if gone is not None:
        keys = revoked(keys, office.key.public.key_id, NEXT, START + gone, "the machine was stolen")
    return Trust(NEXT.public, register=Register(keys=keys))


def test_who_has_a_later_key_and_the_register_can_verify_what_an_earlier_one_signed(office: Office) -> None:
    path = office.seal(story().dossier())
    assert verify(path, _trust(office, -DAY, DAY)).key_id == office.key.public.key_id
    with pytest.raises(VerificationError, match=r"statement\.signed"):
        verify(path, Trust(NEXT.public))


@pytest.mark.parametrize(
    ("since", "until", "gone", "said"),
    [
        (DAY, 2 * DAY, None, "signed only from"),
        (-2 * DAY, -DAY, None, "signed until"),
        (-DAY, DAY, timedelta(minutes=10), "was revoked at"),
    ],
    ids=["too early", "too late", "revoked"],
)
def test_a_key_signs_only_while_it_counts(
    office: Office, since: timedelta, until: timedelta, gone: timedelta | None, said: str
) -> None:
    with pytest.raises(VerificationError, match=said) as error:
        verify(office.seal(story().dossier()), _trust(office, since, until, gone))
    assert error.value.rule == "key.counted"


def test_what_was_sealed_before_its_key_was_revoked_still_holds(office: Office) -> None:
    verify(office.seal(story().dossier()), _trust(office, -DAY, DAY, timedelta(minutes=11)))


def test_a_key_that_nobody_vouches_for_signs_nothing(office: Office) -> None:
    trust = replace(_trust(office, -DAY, DAY), register=Register(keys=[entry(NEXT.public, START)]))
    with pytest.raises(VerificationError, match=r"statement\.signed"):
        verify(office.seal(story().dossier()), trust)


def test_the_key_that_signed_is_the_one_with_which_the_sealing_began(office: Office) -> None:
    told = story()
    told.events[-1][1]["key_id"] = "0" * 64
    assert broken(office, told.dossier()) == ("key.begun", "statement.dsse.json")
    del told.events[-1][1]["key_id"]
    assert broken(office, told.dossier()) == ("key.begun", "statement.dsse.json")
    told.events[-1][1]["key_id"] = office.key.public.key_id
    verify(office.seal(told.dossier()), office.public)


def test_a_register_that_cannot_be_used_is_refused_before_anything_is_read(office: Office, tmp_path: Path) -> None:
    register = tmp_path / "keys.json"
    with pytest.raises(TrustError, match=r"keys\.json cannot be read"):
        trust_of(office.public, register)
    register.write_bytes(write_register([entry(NEXT.public, START)]))
    with pytest.raises(RegisterError, match="does not have the key that is trusted"):
        trust_of(office.public, register)


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
    path = kept.office.seal(story().dossier())
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
    (told,) = json.loads(capsys.readouterr().out)["bundles"]
    assert (told["holds"], told["failed"] and told["failed"]["name"]) == (code == 0, name)
    assert verify_all([kept.path], given, None, as_json=False) == code
    told_people = capsys.readouterr()
    assert (name or "13. one log with 1 checkpoint") in told_people.out + told_people.err
