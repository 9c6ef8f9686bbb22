"""A witness cosigns what continues the log that it saw before, and refuses all else with the status of its reason."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from countersign.witness import logs_of, make_witness
from receipts.add_checkpoint import AddCheckpoint, parse_request, parse_size, with_cosignatures
from receipts.checkpoint import Checkpoint, cosignatures, sign_checkpoint
from receipts.errors import NoteError, ProofError
from receipts.hashes import EMPTY_ROOT, TreeHead
from receipts.note import Note, NoteSigner, Signature, VerifierKey, signature_line
from receipts.signing import KeyFileError
from tests.unit.log_sample import MemoryLog, sample_log, signer, vkey, witness_key
from witness.errors import OtherSizeError, RefusedError, WitnessError
from witness.witness import Witness

OWNER, OTHER = signer("log.example/acme", 1), signer("log.example/globex", 2)
LOG = sample_log(40)
FORK = sample_log(12).append(*sample_log(28, salt="forked ").entries)
NAME = "witness.example/w1"
AT = datetime(2026, 11, 22, 9, tzinfo=UTC)


class Post:
    """A witness in a folder, and what a log sends to it."""

    def __init__(self, witness: Witness, key: VerifierKey) -> None:
        self.witness, self.key = witness, key

    def send(self, old: int, new: int, log: MemoryLog = LOG, by: NoteSigner = OWNER) -> str:
        """Send an honest request of a log."""
        proof = tuple(log.consistency(old, new)) if old <= new else ()
        return self.witness.add_checkpoint(bytes(AddCheckpoint(old, proof, log.checkpoint(by, new))))

    def refusal(self, request: AddCheckpoint) -> int:
        """Return the status with which a request is refused."""
        with pytest.raises(RefusedError) as refused:
            self.witness.add_checkpoint(bytes(request))
        return refused.value.status


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def post(folder: Path) -> Iterator[Post]:
    with opened(folder) as made:
        yield made


@contextmanager
def opened(folder: Path, *vkeys: str) -> Iterator[Post]:
    """Give a witness of both logs, or of those that have these keys, until the block ends."""
    keys = vkeys or (str(vkey(OWNER)), str(vkey(OTHER)))
    with make_witness(NAME, folder.with_name("witness.pem"), folder, keys, lambda: AT) as made:
        yield Post(made.witness, made.key)


def size_told(post: Post, old: int, new: int, log: MemoryLog = LOG) -> int:
    with pytest.raises(OtherSizeError) as refused:
        post.send(old, new, log)
    return refused.value.size


def test_log_that_grows_is_cosigned_at_each_size(post: Post) -> None:
    for old, new in ((0, 1), (1, 7), (7, 8), (8, 40)):
        note = with_cosignatures(LOG.checkpoint(OWNER, new), post.send(old, new).encode(), [post.key])
        (seen,) = cosignatures(note, [post.key])
        assert (seen.key.name, seen.timestamp) == (NAME, int(AT.timestamp()))


def test_empty_log_is_cosigned_too(post: Post) -> None:
    assert post.send(0, 0)
    assert post.send(0, 3)


def test_same_checkpoint_is_cosigned_again(post: Post) -> None:
    assert post.send(0, 7) == post.send(7, 7)


def test_request_that_does_not_begin_at_the_last_size_hears_which_that_is(post: Post) -> None:
    assert size_told(post, 3, 7) == 0
    post.send(0, 7)
    for old, new in ((0, 9), (6, 9), (8, 9), (0, 7)):
        assert size_told(post, old, new) == 7


def test_smaller_checkpoint_is_never_cosigned(post: Post) -> None:
    post.send(0, 9)
    assert size_told(post, 7, 7) == 9
    assert post.refusal(AddCheckpoint(9, (), LOG.checkpoint(OWNER, 7))) == 400


def test_fork_is_never_cosigned(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    post.send(0, 20)
    assert post.refusal(AddCheckpoint(20, (), FORK.checkpoint(OWNER, 20))) == 409
    assert "a log has forked" in caplog.text
    for proof in (FORK.consistency(20, 40), LOG.consistency(20, 40), []):
        assert post.refusal(AddCheckpoint(20, tuple(proof), FORK.checkpoint(OWNER, 40))) == 422
    assert post.send(20, 40)


def test_wrong_proof_is_refused_and_changes_nothing(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    post.send(0, 7)
    note = LOG.checkpoint(OWNER, 9)
    for proof in (LOG.consistency(6, 9), LOG.consistency(7, 10), LOG.consistency(7, 9)[:-1]):
        assert post.refusal(AddCheckpoint(7, tuple(proof), note)) == 422
    assert "not cosigned, of log.example/acme: consistency proof" in caplog.text
    assert post.send(7, 9)


def test_first_checkpoint_needs_no_proof_and_may_have_none(post: Post) -> None:
    assert post.refusal(AddCheckpoint(0, (EMPTY_ROOT,), LOG.checkpoint(OWNER, 9))) == 422
    assert post.send(0, 9)


def test_log_that_is_not_known_is_not_found(post: Post) -> None:
    stranger = signer("else.example", 3)
    assert post.refusal(AddCheckpoint(0, (), LOG.checkpoint(stranger, 9))) == 404


def test_checkpoint_that_no_key_of_its_log_signed_is_forbidden(post: Post) -> None:
    text = Checkpoint(OWNER.name, LOG.head(9)).text()
    another = signer(OWNER.name, 4)
    forged = Note(text, (Signature(OWNER.name, vkey(OWNER).hash, bytes(64)),))
    for note in (Note(text, (OTHER.sign(text),)), Note(text, (another.sign(text),)), forged):
        assert post.refusal(AddCheckpoint(0, (), note)) == 403
    assert post.refusal(AddCheckpoint(0, (), Note(text, (OWNER.sign(text), *forged.signatures)))) == 403
    assert post.refusal(AddCheckpoint(0, (), Note(text, (OWNER.cosign(text, 1),)))) == 403


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"old 0", b"old 00"),
        (b"old 0", b"old"),
        (b"old 0", b"new 0"),
        (b"old 0", b"old -1"),
        (b"old 0", b"old 0\nAAAA"),
        (b"old 0\n\n", b"old 0\n"),
        (b"old 0", b"old 0" + b"\n" + b"A" * 43 + b"=" + (b"\n" + b"A" * 43 + b"=") * 63),
        (b"\n9\n", b"\n09\n"),
        (b"log.example/acme\n9", b"log.example/acme\n\n9"),
        (b"old 0", b"old \xff"),
        (b"old 0", b"x" * 300_000),
    ],
)
def test_malformed_request_is_a_bad_one(post: Post, old: bytes, new: bytes) -> None:
    body = bytes(AddCheckpoint(0, (), LOG.checkpoint(OWNER, 9))).replace(old, new, 1)
    with pytest.raises(RefusedError) as refused:
        post.witness.add_checkpoint(body)
    assert refused.value.status == 400


def test_logs_are_witnessed_apart(post: Post) -> None:
    post.send(0, 20)
    assert post.send(0, 7, FORK, OTHER)
    assert post.send(20, 21)


def test_witness_that_starts_again_goes_on_where_it_was(folder: Path) -> None:
    with opened(folder) as before:
        before.send(0, 20)
    with opened(folder) as after:
        assert after.key == before.key
        assert size_told(after, 0, 20, FORK) == 20
        assert after.refusal(AddCheckpoint(20, tuple(FORK.consistency(20, 40)), FORK.checkpoint(OWNER, 40))) == 422
        assert after.send(20, 40)


def test_log_may_change_its_key_and_stay_the_log_that_it_was(folder: Path) -> None:
    successor = signer(OWNER.name, 4)
    with opened(folder) as before:
        before.send(0, 20)
    with opened(folder, str(vkey(OWNER)), str(vkey(successor))) as both:
        assert both.send(20, 30, by=successor)
    with opened(folder, str(vkey(successor))) as after:
        assert after.refusal(AddCheckpoint(30, (), LOG.checkpoint(OWNER, 40))) == 403
        assert after.send(30, 40, by=successor)


def test_one_process_uses_a_folder_at_a_time(folder: Path, post: Post) -> None:
    assert post.send(0, 1)
    with pytest.raises(WitnessError, match="another witness uses"), opened(folder):
        pass


def test_checkpoint_that_cannot_be_recorded_is_not_cosigned(post: Post, folder: Path) -> None:
    post.send(0, 7)
    moved = folder.rename(folder.with_name("away"))
    with pytest.raises(FileNotFoundError):
        post.send(7, 9)
    moved.rename(folder)
    assert post.send(7, 8)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda _: b"", "has no text"),
        (lambda data: data.replace(b"\n20\n", b"\n10\n"), "does not hold"),
        (lambda _: bytes(LOG.checkpoint(OTHER, 20)), "holds a checkpoint of log.example/globex"),
    ],
)
def test_record_that_was_spoilt_keeps_the_witness_from_starting(
    folder: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    with opened(folder) as post:
        post.send(0, 20)
    (file,) = folder.glob("*.checkpoint")
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(WitnessError, match=why), opened(folder):
        pass


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(WitnessError, match="file cannot be used: File exists"), opened(tmp_path / "file"):
        pass
    with (
        pytest.raises(KeyFileError, match=r"witness.pem cannot be made: File exists"),
        opened(tmp_path / "file" / "state"),
    ):
        pass


def test_of_many_requests_at_once_each_size_is_cosigned_after_the_one_before(post: Post) -> None:
    """Both sides of a fork ask at once, again and again; one side alone is ever heard."""
    start = threading.Barrier(8)

    def grow(log: MemoryLog) -> list[tuple[int, bytes]]:
        start.wait()
        cosigned, old = [], 0
        for _ in range(200):
            try:
                post.send(old, min(40, old + 1), log)
                old = min(40, old + 1)
                cosigned.append((old, log.head(old).root))
            except OtherSizeError as error:
                old = error.size
            except RefusedError:
                old = min(40, old + 1)
        return cosigned

    with ThreadPoolExecutor(8) as threads:
        heads = {head for done in threads.map(grow, [LOG, FORK] * 4) for head in done}
    roots = dict(heads)
    assert len(roots) == len(heads)
    assert all(roots[size] in (LOG.head(size).root, FORK.head(size).root) for size in roots)
    after = {size for size, root in heads if size > 12 and root == LOG.head(size).root}
    assert after in (set(), {size for size in roots if size > 12})


def test_request_reads_back_as_it_was_written() -> None:
    request = AddCheckpoint(7, tuple(LOG.consistency(7, 40)), LOG.checkpoint(OWNER, 40))
    assert parse_request(bytes(request)) == request
    with pytest.raises(ProofError, match="does not begin with `old`"):
        parse_request(bytes(request)[1:])


def test_size_that_a_witness_tells_is_a_line_with_a_number() -> None:
    assert parse_size(b"20852014\n") == 20852014
    for wrong in (b"7", b"07\n", b"\n", b"7\n\n", b"7" * 70 + b"\n", b"\xff\n"):
        with pytest.raises(NoteError, match="the witness's size"):
            parse_size(wrong)


def test_cosignatures_of_strangers_are_left_out_and_wrong_ones_refused() -> None:
    witness, stranger = signer(NAME, 5), signer("else.example", 6)
    note = sign_checkpoint(OWNER, TreeHead(0, EMPTY_ROOT))
    lines = [signature_line(one.cosign(note.text, 1)) for one in (witness, stranger)]
    known = [witness_key(witness)]
    assert len(with_cosignatures(note, "".join(lines).encode(), known).signatures) == 2
    wrong = signature_line(witness.cosign("another", 1))
    with pytest.raises(NoteError, match="does not hold"):
        with_cosignatures(note, wrong.encode(), known)
    for malformed in (b"", b"\n", lines[0].encode()[:-1], b"ok\n"):
        with pytest.raises(NoteError, match=r"not of whole lines|a signature line is"):
            with_cosignatures(note, malformed, known)


def test_keys_of_one_name_are_those_of_one_log() -> None:
    keys = [str(vkey(OWNER)), str(vkey(OTHER)), str(vkey(signer(OWNER.name, 4)))]
    assert [(log.origin, len(log.keys)) for log in logs_of(keys)] == [(OWNER.name, 2), (OTHER.name, 1)]
