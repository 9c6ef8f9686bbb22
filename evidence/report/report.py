"""The report on a bundle: one HTML page made from it alone, to look at and to print. It runs and loads nothing."""

import base64
import hashlib
from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from evidence.errors import EvidenceError
from evidence.reading.account import Account, account_of
from evidence.reading.exceptions import LABELS, QUICK, exceptions_of, length
from evidence.reading.material import Material, text
from evidence.report.cover import cover_of
from evidence.report.filters import FILTERS
from evidence.report.verdict import NO_KEY, Verdict, verdict_of, verdict_on
from evidence.verify.judgement import Standing, judge
from evidence.verify.material.contents import BrokenError, Contents, told_by
from evidence.verify.opening import FORM, open_file, readable
from evidence.verify.rules import Rule
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError
from evidence.zipform import Unpacked, ZipFormError, unpack


class ReportError(EvidenceError):
    """There is no report; the message says of which file, and why."""


@dataclass(frozen=True)
class Report:
    """The page, and the exit status of a command that made it: that of verification, 0 where no key was given."""

    page: bytes
    heading: str
    standing: Standing


def report_on(file: Path, trust: Trust | None, *asked: Rule[Contents], quick: timedelta = QUICK) -> Report:
    """Return the report on a file, held to further rules where some are `asked`.

    A vote at most `quick` after its person opened the request is an exception. A file that cannot be read, or changes
    meanwhile, raises ReportError.
    """
    judged = judge(file, trust, *asked) if trust else None
    archive, digest, broken = _opened(file)
    if judged is not None and judged.sha256 != digest:
        raise ReportError(f"{file} was changed while it was read")
    verdict = verdict_on(judged, trust) if judged and trust else NO_KEY
    if broken is not None and judged is None:
        verdict = verdict_of(VerificationError(1, FORM, broken.member, broken.what), Standing.BROKEN)
    material = told_by(archive.members) if archive and verdict.is_told else None
    page = _page(file.name, digest, verdict, material, quick)
    return Report(page, verdict.heading, verdict.exit_status)


def write_report(report: Report, to: Path) -> None:
    """Write the page; a file that is there is left as it is, and is an error unless it holds the same."""
    try:
        if to.is_file() and to.read_bytes() == report.page:
            return
        with to.open("xb") as file:
            file.write(report.page)
    except OSError as error:
        raise ReportError(f"{to} cannot be written: {error.strerror}") from error


def _opened(file: Path) -> tuple[Unpacked | None, str, ZipFormError | None]:
    """Return what the archive holds, its SHA-256, and what is wrong with its form."""
    try:
        with open_file(file) as stream, readable(file):
            archive = unpack(stream)
            return archive, archive.sha256, None
    except BrokenError as error:
        raise ReportError(f"{file}: {error.what}" if str(file) not in error.what else error.what) from error
    except ZipFormError as error:
        with file.open("rb") as stream:
            return None, hashlib.file_digest(stream, "sha256").hexdigest(), error


def _page(file: str, digest: str, verdict: Verdict, material: Material | None, quick: timedelta) -> bytes:
    """Fill the template; its policy names the style by its digest, and allows nothing else."""
    style = _resource("page.css").replace("@SHA256@", digest).replace("@STANDING@", verdict.standing)
    account = account_of(material) if material else None
    exceptions = exceptions_of(material, quick) if material else None
    page = _template().render(
        account=account,
        cover=cover_of(account, exceptions) if account and exceptions else None,
        exceptions=exceptions,
        labels=LABELS,
        people=material.account_names if material else {},
        quick=length(quick.total_seconds()),
        file=file,
        rules=_rules(account) if account else [],
        run_id=text(material.run, "run_id") if material else "",
        sha256=digest,
        style=Markup(style),  # noqa: S704 - a file of ours, a digest and a word
        style_digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        verdict=verdict,
    )
    return page.encode()


def _template() -> Template:
    engine = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    engine.filters.update(FILTERS)
    return engine.from_string(_resource("page.html"))


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _rules(account: Account) -> list[tuple[str, str]]:
    """Return policy's rules in their own words, each with what they wanted of people."""
    rules = [(words or code, request.needed) for request in account.requests for code, words in request.rules]
    return list(dict.fromkeys(rules))
