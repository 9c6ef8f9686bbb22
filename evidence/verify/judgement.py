"""What is said of a file that may be a bundle: that it holds, and what each rule found, or which rule broke."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from evidence.errors import UndecidedError
from evidence.verify.contents import Contents
from evidence.verify.rules import Rule
from evidence.verify.trust import Trust, trust_of
from evidence.verify.verify import (
    LAST,
    READ,
    SIGNED,
    VerificationError,
    VerificationReport,
    check,
    signed_contents,
    unpacked,
)
from receipts.chain import EVIDENCE_FORMAT


class Standing(IntEnum):
    """How it stands with a file; the number is the program's exit status."""

    HOLDS = 0
    BROKEN = 1  # something in it does not hold
    UNREAD = 3  # it could not be read, or policy not be asked again; 2 is for a command line that is not understood
    UNSIGNED = 4  # the key did not sign it


_WORST_FIRST = (Standing.BROKEN, Standing.UNSIGNED, Standing.UNREAD)


@dataclass(frozen=True)
class Judgement:
    """A file and its SHA-256 in hex (None where it could not be read), with the report on it or the first fault.

    `contents` is what it holds, None unless that is what the key signed.
    """

    file: Path
    sha256: str | None
    found: VerificationReport | VerificationError | UndecidedError
    contents: Contents | None = field(default=None, repr=False)

    @property
    def standing(self) -> Standing:
        """Return how it stands with the file."""
        if isinstance(self.found, VerificationReport):
            return Standing.HOLDS
        if isinstance(self.found, UndecidedError):
            return Standing.UNREAD
        return {READ: Standing.UNREAD, SIGNED: Standing.UNSIGNED}.get(self.found.rule, Standing.BROKEN)

    def document(self) -> dict[str, Any]:
        """Return it for programs; what is not known is null."""
        told = {"file": str(self.file), "sha256": self.sha256}
        if isinstance(self.found, VerificationReport):
            report = self.found
            about = {"run": report.run_id, "tenant": report.tenant, "format": EVIDENCE_FORMAT}
            checks = [{"name": held.rule, "step": held.step, "found": held.found} for held in report.rules]
            return {**told, **about, "key": report.key_id, "holds": True, "checks": checks, "failed": None}
        if isinstance(self.found, UndecidedError):
            about = dict.fromkeys(("run", "tenant", "format", "key"))
            failed = {"name": self.found.rule, "step": LAST, "member": "", "what": str(self.found)}
            return {**told, **about, "holds": False, "checks": None, "failed": failed}
        error, said = self.found, self.found.about
        about = {
            "run": said and said.run_id,
            "tenant": said and said.tenant,
            "format": said and EVIDENCE_FORMAT,
            "key": said and said.key_id,
        }
        failed = {"name": error.rule, "step": error.step, "member": error.member, "what": error.what}
        return {**told, **about, "holds": False, "checks": None, "failed": failed}


def judge(file: Path, trusted: Path | Trust, *asked: Rule[Contents]) -> Judgement:
    """Verify a file, by the rules that are asked for, too; raise `signing.KeyFileError` without a key."""
    trust = trusted if isinstance(trusted, Trust) else trust_of(trusted)
    contents = None
    try:
        archive = unpacked(file)
    except VerificationError as error:
        return unopened(file, error)
    found: VerificationReport | VerificationError | UndecidedError
    try:
        contents = signed_contents(archive, trust)
        found = check(file, archive, contents, *asked)
    except (VerificationError, UndecidedError) as error:
        found = error
    return Judgement(file, archive.sha256, found, contents)


def unopened(file: Path, error: VerificationError) -> Judgement:
    """Return what is said of a file that is no archive in the one form, or cannot be read."""
    return Judgement(file, None if error.rule == READ else _digest(file), error)


def worst(standings: Iterable[Standing]) -> Standing:
    """Return how it stands with several files: broken is worse than not signed by the key, that than not read."""
    found = set(standings)
    return next((standing for standing in _WORST_FIRST if standing in found), Standing.HOLDS)


def _digest(file: Path) -> str | None:
    """Return the SHA-256 of a file that was read a moment ago."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
