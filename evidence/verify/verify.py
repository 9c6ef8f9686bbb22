"""The offline verifier: believes a bundle and a public key, and nothing and nobody else.

It needs no network, no database and no private key, and unpacks nothing to disk.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evidence import names
from evidence.errors import EvidenceError
from evidence.statement import PAYLOAD_TYPE, Statement, count, largest, predicate_type, sha256
from evidence.verify import checks, outcome
from evidence.verify.contents import BrokenError, Contents, parse
from evidence.zipform import Unpacked, ZipFormError, unpack
from receipts.envelope import EnvelopeError, Opened, verify_envelope
from receipts.signing import PublicKey, load_public


class VerificationError(EvidenceError):
    """The first thing that does not hold: the step of the procedure, the member ("" for the whole file), and what."""

    def __init__(self, step: int, member: str, what: str) -> None:
        super().__init__(f"step {step}: {member}: {what}" if member else f"step {step}: {what}")
        self.step = step
        self.member = member
        self.what = what


@dataclass(frozen=True)
class Passed:
    """A step that holds, with what was found."""

    step: int
    fact: str


@dataclass(frozen=True)
class VerificationReport:
    """Everything holds: what the file is, whose key signed it, and what each step found."""

    sha256: str
    run_id: str
    tenant: str
    key_id: str
    steps: tuple[Passed, ...]


def verify(path: Path, public_key_path: Path) -> VerificationReport:
    """Verify a bundle, or raise VerificationError at the first thing that does not hold.

    1. The file is a ZIP in the one form that bundles have, within limits: see `evidence.zipform`.
    2. The statement's envelope is signed by the key, over exactly its payload and its type. Of one that is not, or that
       is larger than it can be, nothing is parsed.
    3. The payload is an in-toto Statement about a bundle, its counts are those of its subjects, and it names the key.
    4. The subjects are the other members: none missing, none extra, each with its SHA-256. All have the names of the
       format, and no two differ in case alone.
    5. The statement, run.json and definition.json speak of the same run and the same definition.
    6. The audit leaves are the whole chain of this run, from genesis to the sealed head. In format 2 no leaf is earlier
       than the one before it, the last says that the sealing began, and run.json is what they tell.
    7. The chain names each decision, receipt, approval and vote, with its digest, and there are no others. Each receipt
       is of this run and its tenant. In format 2 it names each request, vote, card and read with its digest, too, and
       each read is one that the definition has, in its place and time.
    8. Whatever acted, or may have, was allowed for that very effect, by the people who had to be asked: the action that
       was decided on gives the digest, and is what was sent. Whatever people are said to have approved, enough of them
       did who might, and no policy was told of votes that are not there.
    9. Each decision's policy is in the bundle, and its text gives its digest.
    10. Votes came before the decision, the decision before the act; no key acted twice or for two effects.
    11. The run was asked for and ended as its chain says, and each write that succeeded was done. In format 2, each
        read that succeeded has its record, with the result that the chain has.
    12. The texts for reading are the ones that follow from the records; in format 2, what they cost adds up.

    Nothing from a member is interpreted before step 4 has passed, but for the envelope. A key that cannot be read
    raises `receipts.signing.KeyFileError`.
    """
    key = load_public(public_key_path)
    with _step(1):
        archive = _read(path)
    with _step(2):
        opened = _open(archive, key)
    with _step(3):
        statement = _statement(opened, key)
    with _step(4):
        contents = _match(archive, statement)
    passed = [
        Passed(1, f"{len(archive.members)} members, plainly stored"),
        Passed(2, f"signed by the key {key.key_id}"),
        Passed(3, f"an in-toto Statement with {len(statement.subject)} subjects"),
        Passed(4, "each member has the SHA-256 that was signed; none is missing, none was added"),
    ]
    for number, check in enumerate(_LATER_STEPS, start=5):
        with _step(number):
            passed.append(Passed(number, check(contents)))
    with _step(12):
        passed.append(Passed(12, outcome.texts(contents, key.key_id)))
    predicate = statement.predicate
    return VerificationReport(archive.sha256, predicate.run_id, predicate.tenant, key.key_id, tuple(passed))


_LATER_STEPS = (
    *(checks.definition, checks.chain, checks.on_record, checks.authority, checks.policies, checks.order),
    outcome.ending,
)


@contextmanager
def _step(number: int) -> Iterator[None]:
    """Give what breaks inside the number of the step."""
    try:
        yield
    except (BrokenError, ZipFormError) as error:
        raise VerificationError(number, error.member, error.what) from error


def _read(path: Path) -> Unpacked:
    """Step 1. Only a regular file is opened: a pipe or a device could give bytes without end."""
    try:
        if not path.is_file():
            raise BrokenError("", f"{path} is not a file")
        with path.open("rb") as stream:
            return unpack(stream)
    except OSError as error:
        raise BrokenError("", f"{path} cannot be read: {error.strerror}") from error


def _open(archive: Unpacked, key: PublicKey) -> Opened:
    """Step 2. What is too large for what it would have to say is not even looked at."""
    if names.STATEMENT not in archive.members:
        raise BrokenError(names.STATEMENT, "is not in the bundle")
    if len(archive.members[names.STATEMENT]) > largest(archive.members):
        raise BrokenError(names.STATEMENT, "is larger than a statement about the other members can be")
    try:
        opened = verify_envelope(archive.members[names.STATEMENT], key)
    except EnvelopeError as error:
        raise BrokenError(names.STATEMENT, str(error)) from error
    if opened.payload_type != PAYLOAD_TYPE:
        raise BrokenError(names.STATEMENT, f"carries {opened.payload_type!r}, not {PAYLOAD_TYPE}")
    return opened


def _statement(opened: Opened, key: PublicKey) -> Statement:
    """Step 3."""
    statement = parse(Statement, names.STATEMENT, opened.payload)
    named = ("", key.key_id) if statement.predicate.builder_version != "1" else (key.key_id, None)
    if (opened.keyid, statement.predicate.key_id) != named:
        raise BrokenError(names.STATEMENT, f"does not name the key {key.key_id} where its format does")
    subjects = [subject.name for subject in statement.subject]
    if subjects != sorted(set(subjects)):
        raise BrokenError(names.STATEMENT, "its subjects are out of order, or one stands twice")
    if statement.predicate_type != predicate_type(statement.predicate.builder_version):
        raise BrokenError(names.STATEMENT, "its type is of another format than its predicate names")
    if count(subjects, int(statement.predicate.builder_version)) != statement.predicate.counts:
        raise BrokenError(names.STATEMENT, "its counts are not those of its subjects")
    return statement


def _match(archive: Unpacked, statement: Statement) -> Contents:
    """Step 4."""
    members = {name: data for name, data in archive.members.items() if name != names.STATEMENT}
    signed = {subject.name: subject.digest.sha256 for subject in statement.subject}
    for name in sorted(members.keys() | signed.keys()):
        if name not in members:
            raise BrokenError(name, "was signed, and is not in the bundle")
        if name not in signed:
            raise BrokenError(name, "is in the bundle, and was not signed")
        if sha256(members[name]) != signed[name]:
            raise BrokenError(name, f"its SHA-256 is not the one that was signed, {signed[name]}")
    _check_names(members, int(statement.predicate.builder_version))
    return Contents(members, statement)


def _check_names(members: Iterable[str], version: int) -> None:
    """Raise unless the members have names of the format that stay apart where case does not count."""
    folded: dict[str, str] = {}
    for name in members:
        if not names.is_member(name, version):
            raise BrokenError(name, "is no member of a bundle")
        if other := folded.get(name.casefold()):
            raise BrokenError(name, f"differs from {other} in case alone")
        folded[name.casefold()] = name
