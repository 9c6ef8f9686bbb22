"""Stamped evidence: time stamps on checkpoints, and the attestation beside a bundle.

A bundle's leaves existed no later than its time stamp says, or that of a later checkpoint; no less is believed.

Beside a bundle stands a statement about it that the tools of others take.
"""

import base64
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from evidence.build import MEDIA_TYPE, Dossier, Sealed, attest, build
from evidence.log_proofs import LaterStamp, LogProof, Span, read_later
from evidence.verify.audit_log import CLOCKS, dated
from evidence.verify.contents import BrokenError
from evidence.verify.trust import Trust, TrustError, trust_of
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from receipts.chain import Leaf
from receipts.checkpoint import sign_checkpoint
from receipts.fields import timestamp
from receipts.hashes import EMPTY, hash_leaf
from receipts.note import NoteSigner
from receipts.proofs import consistency_proof
from receipts.signing import load_public
from receipts.stamp import StampError, make_request
from runtime.clock import utc_now
from tests.stamps import Tsa
from tests.unit.evidence_bends import resealed
from tests.unit.evidence_sample import Office, story
from tests.unit.log_sample import new_nodes, signer, vkey

LOG, OTHER = signer("countersign/acme", 7), signer("countersign/acme", 8)
ELSEWHERE = signer("countersign/other", 7)
CHECKPOINT, STAMP = "log/checkpoint.txt", "log/checkpoint.tsr"
LATER = [hash_leaf(bytes([number])) for number in range(40)]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Tsa:
    return Tsa(tmp_path_factory.mktemp("tsa"))


def hashes_of(dossier: Dossier) -> list[bytes]:
    return [bytes.fromhex(leaf["hash"]) for leaf in dossier.leaves]


def note_of(hashes: list[bytes], by: NoteSigner = LOG) -> bytes:
    return bytes(sign_checkpoint(by, EMPTY.append(hashes).range.head()))


def logged(tsa: Tsa | None = None, of: bytes | None = None) -> Dossier:
    """Return the sample run in a log of its own, with a stamp of the checkpoint, or of other bytes."""
    dossier = story().dossier()
    hashes = hashes_of(dossier)
    note = note_of(hashes)
    stamp = tsa.reply(make_request(of or note).body) if tsa else None
    places = [Span(first_seq=1, count=len(hashes), first_index=0)]
    return replace(dossier, log=LogProof(note.decode(), places, [], stamp))


def later(tsa: Tsa, by: NoteSigner = LOG, first: list[bytes] | None = None) -> LaterStamp:
    """Return a stamp of the log when it had grown."""
    hashes = first or hashes_of(story().dossier())
    growth = EMPTY.append([*hashes, *LATER])
    nodes = new_nodes(growth)
    size = growth.range.head().size
    proof = consistency_proof(lambda level, index: nodes[level, index], len(hashes), size)
    note = note_of([*hashes, *LATER], by)
    return LaterStamp(note, tsa.reply(make_request(note).body), proof)


def trusted(office: Office, tsa: Tsa | None = None, *stamps: LaterStamp) -> Trust:
    return Trust(load_public(office.public), authority=tsa.authority if tsa else None, later=stamps)


def found(path: Path, trust: Trust) -> str:
    return {held.rule: held.found for held in verify(path, trust).rules}["log.stamped"]


def broken(path: Path, trust: Trust) -> str:
    """Return what does not hold about the stamp."""
    with pytest.raises(VerificationError) as error:
        verify(path, trust)
    assert (error.value.rule, error.value.member) == ("log.stamped", STAMP)
    return error.value.what


def test_a_stamp_says_since_when_the_leaves_exist(office: Office, tsa: Tsa) -> None:
    said = found(office.seal(logged(tsa)), trusted(office, tsa))
    moment = said.removeprefix("they existed no later than ").removesuffix(", by their time stamp")
    assert timestamp(utc_now() - timedelta(minutes=10)) < moment < timestamp(utc_now() + timedelta(minutes=1))


def test_the_step_tells_of_the_stamp(office: Office, tsa: Tsa) -> None:
    told = [step.fact for step in verify(office.seal(logged(tsa)), trusted(office, tsa)).steps if step.step == 6]
    assert "they existed no later than" in told[0]


def test_without_a_certificate_a_stamp_is_there_and_not_checked(office: Office, tsa: Tsa) -> None:
    assert found(office.seal(logged(tsa)), trusted(office)).startswith("the time stamp is not checked")
    assert found(office.seal(logged()), trusted(office)) == "no time stamp"


def test_where_a_certificate_is_given_there_must_be_a_stamp(office: Office, tsa: Tsa) -> None:
    for dossier in (logged(), story().dossier()):
        assert "no stamp of a later checkpoint holds" in broken(office.seal(dossier), trusted(office, tsa))


def test_a_stamp_of_something_else_does_not_hold_whether_or_not_its_authority_is_known(
    office: Office, tsa: Tsa
) -> None:
    path = office.seal(logged(tsa, of=note_of(LATER)))
    assert broken(path, trusted(office, tsa)) == broken(path, trusted(office)) == "the stamp is of something else"


def test_a_stamp_by_another_authority_does_not_hold(office: Office, tsa: Tsa, tmp_path: Path) -> None:
    other = Tsa(tmp_path / "tsa", family=1)
    assert broken(office.seal(logged(tsa)), trusted(office, other)).startswith("the stamp does not hold")


def test_a_stamp_stands_beside_its_checkpoint(office: Office, tsa: Tsa) -> None:
    without = resealed(office, office.seal(logged(tsa)), **{CHECKPOINT: None, "log/inclusion.json": None})
    with pytest.raises(VerificationError, match=r"log\.stamped: log/checkpoint\.txt: is not in the bundle"):
        verify(without, trusted(office))


def test_leaves_do_not_come_after_their_stamp() -> None:
    leaf = Leaf.model_validate(dict(story().dossier().leaves[-1]))
    moment = utc_now()
    assert dated(leaf.model_copy(update={"at": timestamp(moment + CLOCKS)}), moment)
    with pytest.raises(BrokenError, match="that was not yet"):
        dated(leaf.model_copy(update={"at": timestamp(moment + CLOCKS + timedelta(seconds=1))}), moment)


# Stamps that came after the bundle.


def test_the_stamp_of_a_later_checkpoint_tells_of_earlier_leaves(office: Office, tsa: Tsa) -> None:
    assert "no later than" in found(office.seal(logged()), trusted(office, tsa, later(tsa)))


def test_of_several_later_stamps_those_count_that_hold(office: Office, tsa: Tsa) -> None:
    wrong = later(tsa, first=LATER)
    assert "no later than" in found(office.seal(logged()), trusted(office, tsa, wrong, later(tsa)))


def test_a_later_checkpoint_must_be_of_the_log_grown_and_the_one_that_was_stamped(office: Office, tsa: Tsa) -> None:
    path, good = office.seal(logged()), later(tsa)
    for stamp, said in (
        (later(tsa, first=hashes_of(story().dossier())[::-1]), "does not give the root"),
        (later(tsa, first=LATER), "consistency proof: it has fewer hashes"),
        (replace(good, growth=good.growth[1:]), "consistency proof: it has fewer hashes"),
        (later(tsa, by=ELSEWHERE), "a checkpoint of countersign/other, not of countersign/acme"),
        (replace(good, stamp=later(tsa, first=LATER).stamp), "the stamp is of something else"),
        (replace(good, checkpoint=b"no note"), "note"),
    ):
        assert said in broken(path, trusted(office, tsa, stamp))


def test_where_the_logs_key_is_given_it_signed_the_later_checkpoint(office: Office, tsa: Tsa) -> None:
    path, log = office.seal(logged()), str(vkey(LOG))
    file = office.folder / "later.stamp"
    file.write_bytes(bytes(later(tsa, by=OTHER)))
    assert "the checkpoint is not signed by" in broken(
        path, trust_of(office.public, None, [log], (), 0, tsa.ca, [file])
    )
    (office.folder / "good.stamp").write_bytes(bytes(later(tsa)))
    assert "no later" in found(
        path, trust_of(office.public, None, [log], (), 0, tsa.ca, [office.folder / "good.stamp"])
    )


def test_the_file_of_a_later_stamp_is_read_strictly(office: Office, tsa: Tsa) -> None:
    stamp, file = later(tsa), office.folder / "a.stamp"
    file.write_bytes(bytes(stamp))
    assert read_later(file) == replace(stamp, growth=list(stamp.growth))
    told = canonical.loads(file.read_bytes())
    wrongs: list[dict[str, object]] = [told | {"stamp": "no base64"}, told | {"more": 1}, {}, told | {"growth": ["00"]}]
    for wrong in wrongs:
        file.write_bytes(canonical.dumps(wrong))
        with pytest.raises(StampError, match="is not the stamp of a later checkpoint"):
            read_later(file)
    file.write_bytes(base64.b64encode(bytes(1024 * 1024)))
    with pytest.raises(StampError, match="has more than 1048576 bytes"):
        read_later(file)
    with pytest.raises(StampError, match="cannot be read: No such file"):
        read_later(office.folder / "none.stamp")


def test_later_stamps_are_taken_only_with_their_authoritys_certificate(office: Office) -> None:
    with pytest.raises(TrustError, match="whose certificate is given"):
        trust_of(office.public, later=[office.public])


@pytest.fixture
def sealed(office: Office) -> Sealed:
    return build(story().dossier(), office.key)


def test_it_is_a_sigstore_bundle_whose_subject_is_the_file(office: Office, sealed: Sealed) -> None:
    told = canonical.loads(attest(sealed, "run-1", "acme", office.key))
    assert set(told) == {"mediaType", "verificationMaterial", "dsseEnvelope"}
    assert told["mediaType"] == MEDIA_TYPE
    assert base64.b64decode(told["verificationMaterial"]["publicKey"]["hint"]).hex() == office.key.public.key_id
    statement = canonical.loads(base64.b64decode(told["dsseEnvelope"]["payload"]))
    assert statement["subject"] == [{"name": "run-1.zip", "digest": {"sha256": sealed.sha256}}]


def test_another_librarys_verifier_takes_its_envelope(office: Office, sealed: Sealed) -> None:
    told = canonical.loads(attest(sealed, "run-1", "acme", office.key))
    made = SSlibKey.from_crypto(office.key.public.key)
    key = SSlibKey("", made.keytype, made.scheme, made.keyval)
    assert list(Envelope.from_dict(told["dsseEnvelope"]).verify([key], 1)) == [""]


def test_the_same_bundle_gives_the_same_statement(office: Office, sealed: Sealed) -> None:
    assert attest(sealed, "run-1", "acme", office.key) == attest(sealed, "run-1", "acme", office.key)
