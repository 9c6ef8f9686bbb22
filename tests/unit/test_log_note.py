"""Notes, checkpoints, cosignatures and proofs in files: what was signed reads back, and all else is refused by name."""

import base64

import pytest

from receipts.checkpoint import (
    Checkpoint,
    LogKeys,
    cosignatures,
    open_checkpoint,
    parse_checkpoint,
    sign_checkpoint,
)
from receipts.entry_proof import EntryProof, parse_entry_proof, verify_entry_proof
from receipts.errors import CheckpointError, LogError, NoteError, ProofError
from receipts.hashes import EMPTY_ROOT, TreeHead, hash_leaf
from receipts.note import (
    MAX_SIGNATURES,
    NOTE_LIMIT,
    Algorithm,
    Note,
    Signature,
    VerifierKey,
    parse_note,
    parse_verifier_key,
    verified,
)
from tests.unit.log_sample import sample_log, signer, vkey, witness_key

# The example in the documentation of Go's golang.org/x/mod/sumdb/note.
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = """If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
""".encode()
# The key of a witness, from the tests of Go's github.com/transparency-dev/formats.
GO_WITNESS_KEY = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"

LOG, WITNESS, STRANGER = signer("log.example/acme", 1), signer("witness.example/w1", 2), signer("else.example", 3)
KEYS = LogKeys((vkey(LOG),))
SAMPLE = sample_log(70)
SIGNED = SAMPLE.checkpoint(LOG, 70)
AT = 1_790_000_000


def edited(note: Note, old: str, new: str) -> bytes:
    data = bytes(note).replace(old.encode(), new.encode(), 1)
    assert data != bytes(note)
    return data


def test_note_that_go_signed_verifies() -> None:
    key = parse_verifier_key(GO_KEY)
    note = parse_note(GO_NOTE)
    assert [by for by, _ in verified(note, [key])] == [key]
    assert bytes(note) == GO_NOTE
    assert str(key) == GO_KEY


def test_key_of_a_witness_reads_back_as_it_was_written() -> None:
    key = parse_verifier_key(GO_WITNESS_KEY)
    assert (key.algorithm, str(key)) == (Algorithm.COSIGNATURE_V1, GO_WITNESS_KEY)


@pytest.mark.parametrize("of", [vkey(LOG), witness_key(WITNESS)])
def test_key_reads_back_from_its_text(of: VerifierKey) -> None:
    assert parse_verifier_key(str(of)) == of


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("PeterNeumann", "a verifier key is name"),
        ("PeterNeumann+c74f20a3", "a verifier key is name"),
        (GO_KEY.replace("c74f20a3", "C74F20A3"), "lowercase hex"),
        (GO_KEY.replace("c74f20a3", "c74f20a4"), "has the hash c74f20a3, but says c74f20a4"),
        (GO_KEY.replace("Peter", "Pete"), "has the hash"),
        (GO_KEY[:-1], "is not base64"),
        (GO_KEY + "\n", "is not base64"),
        (GO_KEY.replace("+AR", "+Ag"), "is not of Ed25519"),
        ("a+00000000+", "is not of Ed25519"),
        ("a+00000000+AQAA", "has 2 bytes, not 32"),
        ("a b" + str(vkey(LOG)).removeprefix(LOG.name), "has no space"),
        (str(vkey(LOG)).removeprefix(LOG.name), "is not empty"),
    ],
)
def test_text_that_is_no_key_is_refused(text: str, why: str) -> None:
    with pytest.raises(NoteError, match=why):
        parse_verifier_key(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\u2028b", "a\nb", "a\x01b"])
def test_key_whose_name_could_not_stand_in_a_note_is_none(name: str) -> None:
    with pytest.raises(NoteError, match="a key's name"):
        VerifierKey(name, Algorithm.ED25519, bytes(32))


def test_signed_checkpoint_opens() -> None:
    checkpoint = open_checkpoint(parse_note(bytes(SIGNED)), KEYS)
    assert checkpoint == Checkpoint(LOG.name, SAMPLE.head(70))
    assert open_checkpoint(sign_checkpoint(LOG, TreeHead(0, EMPTY_ROOT)), KEYS).head.size == 0


def test_text_may_have_empty_lines_and_the_last_one_parts_the_signatures() -> None:
    text = "one\n\n\ntwo\n\n"
    note = Note(text, (LOG.sign(text),))
    assert parse_note(bytes(note)) == note
    assert len(verified(parse_note(bytes(note)), KEYS.keys)) == 1


def test_signatures_of_strangers_are_ignored_even_under_the_name_or_the_hash_of_a_known_key() -> None:
    real = SIGNED.signatures[0]
    namesake = Signature(real.name, b"\x00\x00\x00\x00", real.data)
    same_hash = Signature("else.example", real.key_hash, real.data)
    strange = STRANGER.sign(SIGNED.text)
    assert open_checkpoint(Note(SIGNED.text, (namesake, same_hash, strange, real)), KEYS).head.size == 70
    for alone in (namesake, same_hash, strange):
        with pytest.raises(NoteError, match=f"is not signed by {LOG.name}"):
            open_checkpoint(Note(SIGNED.text, (alone,)), KEYS)


def test_signature_of_a_known_key_that_does_not_hold_spoils_the_note() -> None:
    real = SIGNED.signatures[0]
    forged = Signature(real.name, real.key_hash, bytes(64))
    for signatures in ((forged,), (real, forged), (forged, real)):
        with pytest.raises(NoteError, match="does not hold"):
            open_checkpoint(Note(SIGNED.text, signatures), KEYS)
    with pytest.raises(NoteError, match="does not hold"):
        open_checkpoint(Note(SIGNED.text, (Signature(real.name, real.key_hash, real.data[:-1]),)), KEYS)


def test_one_of_several_keys_of_a_log_is_enough() -> None:
    successor = signer(LOG.name, 4)
    both = LogKeys((vkey(LOG), vkey(successor)))
    assert open_checkpoint(SIGNED, both) == open_checkpoint(SAMPLE.checkpoint(successor, 70), both)


def test_keys_of_a_log_have_its_origin_and_sign_notes() -> None:
    for keys in ((), (vkey(LOG), vkey(STRANGER))):
        with pytest.raises(NoteError, match="have its origin as their name"):
            LogKeys(keys)
    with pytest.raises(NoteError, match="must be of Ed25519"):
        LogKeys((witness_key(LOG),))


def test_checkpoint_of_another_log_does_not_open() -> None:
    text = Checkpoint("log.example/globex", SAMPLE.head(70)).text()
    with pytest.raises(CheckpointError, match=r"is of 'log\.example/globex', not of log\.example/acme"):
        open_checkpoint(Note(text, (LOG.sign(text),)), KEYS)


def test_extension_lines_are_signed_and_kept() -> None:
    text = Checkpoint(LOG.name, SAMPLE.head(70), ("one more",)).text()
    note = Note(text, (LOG.sign(text),))
    assert open_checkpoint(note, KEYS).extensions == ("one more",)
    with pytest.raises(NoteError, match="does not hold"):
        open_checkpoint(parse_note(edited(note, "one", "two")), KEYS)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("\n70\n", "\n070\n", "without leading zeroes"),
        ("\n70\n", "\n+70\n", "without leading zeroes"),
        ("\n70\n", "\n\u0667\u0660\n", "without leading zeroes"),
        ("\n70\n", f"\n{2**63}\n", "up to 2"),
        ("\n70\n", "\n70 \n", "without leading zeroes"),
        ("\n70\n", "\n\n70\n", "none of them empty"),
        ("\n70\n", "\n0\n", "not that of an empty log"),
        ("\n70\n", "\n", "at least three lines"),
    ],
)
def test_checkpoint_that_is_malformed_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(CheckpointError, match=why):
        parse_checkpoint(edited(SIGNED, old, new).decode().partition("\n\n—")[0] + "\n")


def test_root_has_one_spelling_and_length() -> None:
    root = base64.b64encode(SAMPLE.head(70).root).decode()
    alike = root[:-2] + chr(ord(root[-2]) + 1) + "="
    for line, why in ((alike, "canonical spelling"), (root[:-4], "bytes, not 32"), (root[:-1], "is not base64")):
        with pytest.raises(CheckpointError, match=why):
            parse_checkpoint(f"{LOG.name}\n70\n{line}\n")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "has no text"),
        (b"text\n", "has no text"),
        (b"text\n\n", "has no text"),
        (bytes(SIGNED)[:-1], "has no text"),
        (bytes(SIGNED) + b"\n", "has no text"),
        (bytes(SIGNED) + b"\n\n", "has no text"),
        (edited(SIGNED, "—", "-"), "a signature line is"),
        (edited(SIGNED, "— ", "—  "), "a key's name is not empty"),
        ("text\n\n— log\u2003example AAAAAAA=\n".encode(), "a key's name"),
        (b"text\n\n\xe2\x80\x94 name\n", "a signature line is"),
        (b"text\n\n\xe2\x80\x94 name AAAA\n", "is no key hash and signature"),
        (b"text\n\n\xe2\x80\x94 name AAAAAA==\n", "is no key hash and signature"),
        (b"text\n\n\xe2\x80\x94 name AAAAAAB=\n", "canonical spelling"),
        (b"text\n\n\xe2\x80\x94 name AAAA AAAA\n", "is not base64"),
        (b"te\xffxt\n\n", "is not UTF-8 at byte 2"),
        (b"te\x00xt\n\n", "control character U\\+0000"),
        (b"te\rxt\n\n", "control character U\\+000D"),
        (b"x" * (NOTE_LIMIT + 1), f"may have {NOTE_LIMIT}"),
        (b"text\n\n" + "— name AAAAAAA=\n".encode() * (MAX_SIGNATURES + 1), f"may have {MAX_SIGNATURES}"),
    ],
)
def test_bytes_that_are_no_note_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(NoteError, match=why):
        parse_note(data)


def test_sixteen_signatures_of_the_largest_kind_fit() -> None:
    large = tuple(Signature(f"w{number}", b"\x00\x00\x00\x01", bytes(5000)) for number in range(16))
    note = SIGNED.signed_by(*large)
    assert open_checkpoint(parse_note(bytes(note)), KEYS).head.size == 70


def test_cosignature_tells_who_saw_the_checkpoint_and_when() -> None:
    note = parse_note(bytes(SIGNED.signed_by(WITNESS.cosign(SIGNED.text, AT), STRANGER.cosign(SIGNED.text, AT))))
    (seen,) = cosignatures(note, [witness_key(WITNESS)])
    assert (seen.key.name, seen.timestamp) == (WITNESS.name, AT)
    assert open_checkpoint(note, KEYS).head.size == 70
    assert cosignatures(SIGNED, [witness_key(WITNESS)]) == []


def test_cosignature_of_another_time_or_text_does_not_hold() -> None:
    real = WITNESS.cosign(SIGNED.text, AT)
    later = Signature(real.name, real.key_hash, (AT + 1).to_bytes(8, "big") + real.data[8:])
    for text, signature in ((SIGNED.text, later), (SAMPLE.checkpoint(LOG, 69).text, real)):
        with pytest.raises(NoteError, match="does not hold"):
            cosignatures(Note(text, (signature,)), [witness_key(WITNESS)])


@pytest.mark.parametrize(("data", "why"), [(bytes(8), "no timestamp"), (b"\xff" * 72, "beyond 2")])
def test_cosignature_without_a_time_that_can_be_is_refused(data: bytes, why: str) -> None:
    signature = Signature(WITNESS.name, witness_key(WITNESS).hash, data)
    with pytest.raises(NoteError, match=why):
        cosignatures(Note(SIGNED.text, (signature,)), [witness_key(WITNESS)])


def test_signature_of_a_log_is_no_cosignature_and_the_other_way_round() -> None:
    assert cosignatures(SIGNED, [witness_key(LOG)]) == []
    with pytest.raises(NoteError, match="is not signed by"):
        open_checkpoint(Note(SIGNED.text, (LOG.cosign(SIGNED.text, AT),)), KEYS)
    with pytest.raises(NoteError, match="must be of cosignatures"):
        cosignatures(SIGNED, [vkey(WITNESS)])


PROOF = EntryProof(
    41, tuple(SAMPLE.inclusion(41, 70)), SIGNED.signed_by(WITNESS.cosign(SIGNED.text, AT)), extra=b"\x00more"
)
LEAF = hash_leaf(SAMPLE.entries[41])


def test_proof_of_an_entry_verifies_from_its_file_alone() -> None:
    proof = parse_entry_proof(bytes(PROOF))
    assert proof == PROOF
    shown = verify_entry_proof(proof, LEAF, KEYS, [witness_key(WITNESS)])
    assert (shown.checkpoint.head.size, len(shown.cosignatures)) == (70, 1)


def test_proof_of_the_only_entry_has_no_hashes() -> None:
    proof = parse_entry_proof(bytes(EntryProof(0, (), SAMPLE.checkpoint(LOG, 1))))
    assert verify_entry_proof(proof, hash_leaf(SAMPLE.entries[0]), KEYS, []).checkpoint.head.size == 1


def test_proof_of_another_entry_or_place_does_not_hold() -> None:
    with pytest.raises(ProofError, match="does not give the root"):
        verify_entry_proof(PROOF, hash_leaf(b"never logged"), KEYS, [])
    with pytest.raises(ProofError, match="does not give the root"):
        verify_entry_proof(EntryProof(40, PROOF.path, PROOF.checkpoint), LEAF, KEYS, [])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("@v1", "@v2", "does not begin with"),
        ("index 41", "index 041", "without leading zeroes"),
        ("index 41\n", "", "does not say the index"),
        ("extra AG1v", "extra AG1", "is not base64"),
        ("extra", "index 3\nextra", "is not base64"),
        ("index 41\n", "index 41\nAAAA\n", "has 3 bytes, not 32"),
        ("index 41\n", "index 41\n" + "AAAA\n" * 64, "may have 63"),
        ("\n\n", "\n", "has no text|has no checkpoint|is not base64"),
        ("tlog", "tlo\x07g", "control character"),
    ],
)
def test_file_that_is_no_proof_is_refused(old: str, new: str, why: str) -> None:
    data = bytes(PROOF).replace(old.encode(), new.encode(), 1)
    assert data != bytes(PROOF)
    with pytest.raises(LogError, match=why):
        parse_entry_proof(data)


def test_file_of_a_proof_without_a_checkpoint_is_refused() -> None:
    with pytest.raises(ProofError, match="has no checkpoint"):
        parse_entry_proof(b"c2sp.org/tlog-proof@v1\nindex 0\n")
