"""Steps 1 to 4 of the procedure: the file, its signature, the statement, and the members that it names."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from evidence import names
from evidence.statement import PAYLOAD_TYPE, Statement, count, largest, predicate_type, sha256
from evidence.verify.contents import BrokenError, Contents, parse
from evidence.verify.trust import Trust
from evidence.zipform import Unpacked
from receipts.envelope import EnvelopeError, Opened, verify_envelope
from receipts.signing import PublicKey

READ = "archive.read"
FORM = "archive.form"
SIGNED = "statement.signed"
STATED = "statement.form"
MEMBERS = "members.signed"
NAMED = "members.named"

FIRST_RULES = {
    READ: "The file is there, is a regular file, and can be read.",
    FORM: "The file is a ZIP in the one form, within the limits.",
    SIGNED: "The envelope is no larger than a statement about the other members can be, in its form, and signed by the"
    " key, or by one that the register vouches for. Nothing of its payload is parsed before that.",
    STATED: "The payload is a statement in its form; its counts are those of its subjects, and the key's id stands"
    " where its format has it.",
    MEMBERS: "The subjects are the other members: none missing, none extra, each with its SHA-256.",
    NAMED: "Members have the names of the format, and no two are equal when case is folded.",
}
"""The rules of steps 1 to 4: nothing but the envelope is read before they hold."""


def open_file(path: Path) -> BinaryIO:
    """Step 1. Only a regular file is opened: a pipe or a device could give bytes without end."""
    with readable(path):
        if not path.is_file():
            raise BrokenError("", f"{path} is not a file")
        return path.open("rb")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of the file system, also in the midst of a file, into a bundle that cannot be read."""
    try:
        yield
    except OSError as error:
        raise BrokenError("", f"{path} cannot be read: {error.strerror}") from error


def open_envelope(archive: Unpacked, keys: Sequence[PublicKey]) -> tuple[Opened, PublicKey]:
    """Step 2: the envelope, and who signed it. What is too large for what it has to say is not even looked at."""
    if names.STATEMENT not in archive.members:
        raise BrokenError(names.STATEMENT, "is not in the bundle")
    if len(archive.members[names.STATEMENT]) > largest(archive.members):
        raise BrokenError(names.STATEMENT, "is larger than a statement about the other members can be")
    opened, key = _verified(archive.members[names.STATEMENT], keys)
    if opened.payload_type != PAYLOAD_TYPE:
        raise BrokenError(names.STATEMENT, f"carries {opened.payload_type!r}, not {PAYLOAD_TYPE}")
    return opened, key


def _verified(envelope: bytes, keys: Sequence[PublicKey]) -> tuple[Opened, PublicKey]:
    first = None
    for key in keys:
        try:
            return verify_envelope(envelope, key), key
        except EnvelopeError as error:
            first = first or error
    others = f", nor by one of the {len(keys) - 1} others that it vouches for" if len(keys) > 1 else ""
    raise BrokenError(names.STATEMENT, f"{first}{others}")


def read_statement(opened: Opened, key: PublicKey) -> Statement:
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


def match(archive: Unpacked, statement: Statement, key: PublicKey, trust: Trust) -> Contents:
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
    return Contents(members, statement, key.key_id, trust)


def check_names(members: Iterable[str], version: int) -> None:
    """Raise unless the members have names of the format that stay apart where case does not count."""
    folded: dict[str, str] = {}
    for name in members:
        if not names.is_member(name, version):
            raise BrokenError(name, "is no member of a bundle")
        if other := folded.get(name.casefold()):
            raise BrokenError(name, f"differs from {other} in case alone")
        folded[name.casefold()] = name
