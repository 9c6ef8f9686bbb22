"""The offline verifier: believes a bundle and a public key, and nothing and nobody else.

It needs no network, no database and no private key, and unpacks nothing to disk. Steps 1 to 4 of the procedure stand
here: the file, its signature, the statement, and the members that it names.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from evidence import names
from evidence.errors import EvidenceError, UndecidedError
from evidence.statement import PAYLOAD_TYPE, Predicate, Statement, count, largest, sha256, written_before_release
from evidence.verify.child_runs import EndedRun, ended_run
from evidence.verify.contents import BrokenError, Contents, parse
from evidence.verify.facts import Facts
from evidence.verify.procedure import STEPS
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust, trust_of
from evidence.zipform import Unpacked, ZipFormError, unpack
from receipts.signing import EnvelopeError, Opened, PublicKey, verify_envelope

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
    STATED: "The payload is a statement in its form; its counts are those of its subjects, and its predicate names"
    " the key, as nothing else does.",
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
    if earlier := written_before_release(opened.payload):
        raise BrokenError("", earlier)
    statement = parse(Statement, names.STATEMENT, opened.payload)
    if (opened.keyid, statement.predicate.key_id) != ("", key.key_id):
        raise BrokenError(names.STATEMENT, f"its predicate alone must name the key, {key.key_id}")
    subjects = [subject.name for subject in statement.subject]
    if subjects != sorted(set(subjects)):
        raise BrokenError(names.STATEMENT, "its subjects are out of order, or one stands twice")
    if count(subjects) != statement.predicate.counts:
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
    return Contents(members, statement.predicate, key.key_id, trust)


def check_names(members: Iterable[str]) -> None:
    """Raise unless the members have names of the format that stay apart where case does not count."""
    folded: dict[str, str] = {}
    for name in members:
        if not names.is_member(name):
            raise BrokenError(name, "is no member of a bundle")
        if other := folded.get(name.casefold()):
            raise BrokenError(name, f"differs from {other} in case alone")
        folded[name.casefold()] = name


T = TypeVar("T")
LAST = 13
"""The step that is taken only where it is asked for."""


class VerificationError(EvidenceError):
    """The first thing that does not hold: the step and rule of the procedure, the member ("" for all), and what.

    `about` is what the bundle is about, as the key's holder says; None as long as nobody is known to say it.
    """

    def __init__(self, step: int, rule: str, member: str, what: str, about: Predicate | None = None) -> None:
        where = f"step {step}, {rule}"
        super().__init__(f"{where}: {member}: {what}" if member else f"{where}: {what}")
        self.step = step
        self.rule = rule
        self.member = member
        self.what = what
        self.about = about


@dataclass(frozen=True)
class PassedStep:
    """A step that holds, with what was found."""

    step: int
    fact: str


@dataclass(frozen=True)
class PassedRule:
    """A rule that holds, with its step and what was looked at."""

    step: int
    rule: str
    found: str


@dataclass(frozen=True)
class VerificationReport:
    """Everything holds: what the file is, whose key signed it, and what each step and each rule found.

    `ended` is how the run ended, for the bundle of one that waited for it.
    """

    sha256: str
    run_id: str
    tenant: str
    key_id: str
    steps: tuple[PassedStep, ...]
    rules: tuple[PassedRule, ...]
    ended: EndedRun


def verify(path: Path, trusted: Path | Trust, *asked: Rule[Contents]) -> VerificationReport:
    """Verify a bundle, or raise VerificationError at the first thing that does not hold.

    What is trusted is a public key's file, or more than that.

    1. The file is a ZIP in the one form that bundles have, within limits: see `evidence.zipform`.
    2. The statement's envelope is signed by the key, over exactly its payload and its type. Of one that is not, or that
       is larger than it can be, nothing is parsed.
    3. The payload is an in-toto Statement about a bundle, its counts are those of its subjects, and it names the key.
    4. The subjects are the other members: none missing, none extra, each with its SHA-256. All have the names of the
       format, and no two differ in case alone.
    5. The statement, run.json and definition.json speak of the same run and the same definition.
    6. The audit leaves are the whole chain of this run, from genesis to the sealed head, and the run is what they tell.
    7. The chain names each decision, receipt, approval and vote, and there are no others; each says what its leaf says.
    8. Whatever acted, or may have, was allowed for that very effect, by the people who had to be asked, in their time.
    9. Each decision's policy is in the bundle, and its text gives its digest.
    10. Votes came before the decision, the decision before the act; no key acted twice or for two effects; what waited
        ended in its time.
    11. The run was asked for, went and ended as its chain says, and did what its definition wants, in its order.
    12. The texts for reading are the ones that follow from the records.
    13. What is `asked` for holds, too: policy gives each answer again (`evidence.replay`), the log is the one of a
        checkpoint that was kept (`evidence.verify.audit_log`), the runs below are those that this one names
        (`evidence.verify.linked_bundles`).

    The rules of steps 5 to 12 stand in `evidence.verify.procedure`. Nothing from a member is interpreted before step 4
    has passed, but for the envelope. A key that cannot be read raises `receipts.signing.KeyFileError`,
    and what step 13 cannot decide `evidence.errors.UndecidedError`.
    """
    return verified(path, trusted, *asked)[0]


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause Python's search for cycles: a bundle's values have none, and looking for them is most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def verified(path: Path, trusted: Path | Trust, *asked: Rule[Contents]) -> tuple[VerificationReport, Contents]:
    """Verify a bundle as `verify` does; return what was found with what the bundle holds."""
    trust = trusted if isinstance(trusted, Trust) else trust_of(trusted)
    archive = unpacked(path)
    contents = signed_contents(archive, trust)
    return check(path, archive, contents, *asked), contents


def unpacked(path: Path) -> Unpacked:
    """Step 1."""
    with _at(1, READ):
        stream = open_file(path)
    with stream, _at(1, READ), readable(path), _at(1, FORM):
        return unpack(stream)


def signed_contents(archive: Unpacked, trust: Trust) -> Contents:
    """Steps 2 to 4: nothing but the envelope is read before they have passed."""
    with _at(2, SIGNED):
        opened, key = open_envelope(archive, trust.keys)
    with _at(3, STATED):
        statement = read_statement(opened, key)
    with _at(4, MEMBERS, statement.predicate):
        contents = match(archive, statement, key, trust)
    with _at(4, NAMED, statement.predicate):
        check_names(contents.members)
    return contents


@no_collection()
def check(path: Path, archive: Unpacked, contents: Contents, *asked: Rule[Contents]) -> VerificationReport:
    """Steps 5 to 13; the report tells of the first four, too."""
    passed, held = _first_steps(path, archive, contents)
    facts, predicate = Facts(contents), contents.predicate
    for step in STEPS:
        if step is STEPS[-1]:
            facts = Facts(contents)  # texts follow from members: what the rules compared takes memory
        held += _hold(step.number, step.rules, contents, predicate)
        held += _hold(step.number, step.bound, facts, predicate)
        passed.append(PassedStep(step.number, step.fact(contents)))
    for rule in asked:
        held += _hold(LAST, (rule,), contents, predicate)
        passed.append(PassedStep(LAST, held[-1].found))
    return VerificationReport(
        sha256=archive.sha256,
        run_id=predicate.run_id,
        tenant=predicate.tenant,
        key_id=contents.key_id,
        steps=tuple(passed),
        rules=tuple(held),
        ended=ended_run(contents),
    )


def _first_steps(path: Path, archive: Unpacked, contents: Contents) -> tuple[list[PassedStep], list[PassedRule]]:
    """Say what the first four steps found."""
    members, key_id = counted(len(archive.members), "member"), contents.key_id
    subjects = counted(len(contents.members), "subject")
    passed = [
        PassedStep(1, f"{members}, plainly stored"),
        PassedStep(2, f"signed by the key {key_id}"),
        PassedStep(3, f"an in-toto Statement with {subjects}"),
        PassedStep(4, "each member has the SHA-256 that was signed; none is missing, none was added"),
    ]
    held = [
        *(
            PassedRule(1, READ, str(path)),
            PassedRule(1, FORM, members),
            PassedRule(2, SIGNED, key_id),
            PassedRule(3, STATED, subjects),
        ),
        *(PassedRule(4, MEMBERS, subjects), PassedRule(4, NAMED, subjects)),
    ]
    return passed, held


def _hold(number: int, rules: Sequence[Rule[T]], subject: T, about: Predicate) -> Iterator[PassedRule]:
    """Look at the rules of a step."""
    for rule in rules:
        with _at(number, rule.name, about):
            found = rule.check(subject)
        yield PassedRule(number, rule.name, found)


@contextmanager
def _at(step: int, rule: str, about: Predicate | None = None) -> Iterator[None]:
    """Give what breaks inside the step and the rule, and what the bundle is about where that is known."""
    try:
        yield
    except (BrokenError, ZipFormError) as error:
        raise VerificationError(step, rule, error.member, error.what, about) from error
    except OverflowError as error:  # of moments that are added up
        raise VerificationError(step, rule, names.AUDIT, "tells of a time beyond the calendar", about) from error
    except UndecidedError as error:
        error.rule = rule
        raise
