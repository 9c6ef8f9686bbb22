"""The offline verifier: believes a bundle and a public key, and nothing and nobody else.

It needs no network, no database and no private key, and unpacks nothing to disk.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evidence import names
from evidence.errors import EvidenceError, UndecidedError
from evidence.statement import Predicate
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.ended import EndedRun, ended_run
from evidence.verify.facts import Facts
from evidence.verify.opening import (
    FORM,
    MEMBERS,
    NAMED,
    READ,
    SIGNED,
    STATED,
    check_names,
    match,
    open_envelope,
    open_file,
    read_statement,
    readable,
)
from evidence.verify.procedure import STEPS
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust, trust_of
from evidence.zipform import Unpacked, ZipFormError, unpack

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
class Passed:
    """A step that holds, with what was found."""

    step: int
    fact: str


@dataclass(frozen=True)
class Held:
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
    version: str  # of the bundle's format
    key_id: str
    steps: tuple[Passed, ...]
    rules: tuple[Held, ...]
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
        checkpoint that was kept (`evidence.verify.kept_checkpoint`), the runs below are those that this one names
        (`evidence.verify.below`).

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
        check_names(contents.members, contents.version)
    return contents


@no_collection()
def check(path: Path, archive: Unpacked, contents: Contents, *asked: Rule[Contents]) -> VerificationReport:
    """Steps 5 to 13; the report tells of the first four, too."""
    passed, held = _first_steps(path, archive, contents)
    facts = None if contents.statement.predicate.builder_version == "1" else Facts(contents)
    predicate = contents.statement.predicate
    for step in STEPS:
        held += _hold(step.number, step.rules, contents, predicate)
        held += [] if facts is None else _hold(step.number, step.bound, facts, predicate)
        passed.append(Passed(step.number, step.fact(contents)))
    for rule in asked:
        held += _hold(LAST, (rule,), contents, predicate)
        passed.append(Passed(LAST, held[-1].found))
    return VerificationReport(
        sha256=archive.sha256,
        run_id=predicate.run_id,
        tenant=predicate.tenant,
        version=predicate.builder_version,
        key_id=contents.key_id,
        steps=tuple(passed),
        rules=tuple(held),
        ended=ended_run(contents),
    )


def _first_steps(path: Path, archive: Unpacked, contents: Contents) -> tuple[list[Passed], list[Held]]:
    """Say what the first four steps found."""
    members, key_id = counted(len(archive.members), "member"), contents.key_id
    subjects = counted(len(contents.statement.subject), "subject")
    passed = [
        Passed(1, f"{members}, plainly stored"),
        Passed(2, f"signed by the key {key_id}"),
        Passed(3, f"an in-toto Statement with {subjects}"),
        Passed(4, "each member has the SHA-256 that was signed; none is missing, none was added"),
    ]
    held = [
        *(Held(1, READ, str(path)), Held(1, FORM, members), Held(2, SIGNED, key_id), Held(3, STATED, subjects)),
        *(Held(4, MEMBERS, subjects), Held(4, NAMED, subjects)),
    ]
    return passed, held


def _hold(number: int, rules: Sequence[Rule[T]], subject: T, about: Predicate) -> Iterator[Held]:
    """Look at the rules of a step."""
    for rule in rules:
        with _at(number, rule.name, about):
            found = rule.check(subject)
        yield Held(number, rule.name, found)


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
