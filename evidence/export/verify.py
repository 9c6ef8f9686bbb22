"""Verifies an export offline: believes a folder and a public key, and nothing and nobody else."""

from dataclasses import dataclass
from pathlib import Path

from evidence.export.contents import UnreadError, UnsignedError, open_export
from evidence.export.index import Index
from evidence.export.rules import RULES
from evidence.verify.contents import BrokenError
from evidence.verify.judgement import Standing
from evidence.verify.trust import Trust

READ = "export.read"
SIGNED = "export.signed"

FIRST_RULES = {
    READ: "The folder and the files that are named are there, and can be read.",
    SIGNED: "`statement.dsse.json` is an in-toto Statement about an export, signed by the key, or by one that the"
    " register vouches for, and names it. Nothing else is read before that.",
}


@dataclass(frozen=True)
class Passed:
    """A rule that holds, and what it looked at."""

    rule: str
    found: str


@dataclass(frozen=True)
class ExportReport:
    """Everything holds: the digest of the statement, whose key signed it, what each rule found, and the index."""

    sha256: str
    key_id: str
    rules: tuple[Passed, ...]
    index: Index


@dataclass(frozen=True)
class ExportFault:
    """The first thing that does not hold: by which rule, in which file ("" for the folder), and what."""

    rule: str
    file: str
    what: str
    standing: Standing

    def sentence(self) -> str:
        """Return it in one line."""
        return f"{self.rule}: {self.file}: {self.what}" if self.file else f"{self.rule}: {self.what}"


def verify_export(folder: Path, trust: Trust, log: Path | None = None) -> ExportReport | ExportFault:
    """Verify an export by all rules; return what each found, or the first fault.

    `log` is a folder with the log as it is published: with it, a run that was left out is found.
    """
    rule = SIGNED
    try:
        contents = open_export(folder, trust, log)
        passed = [Passed(SIGNED, f"by the key {contents.key_id}")]
        for one in RULES:
            rule = one.name
            passed.append(Passed(rule, one.check(contents)))
    except UnreadError as error:
        return ExportFault(READ, error.member, error.what, Standing.UNREAD)
    except UnsignedError as error:
        return ExportFault(SIGNED, error.member, error.what, Standing.UNSIGNED)
    except BrokenError as error:
        return ExportFault(rule, error.member, error.what, Standing.BROKEN)
    return ExportReport(contents.sha256, contents.key_id, tuple(passed), contents.index)
