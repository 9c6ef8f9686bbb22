"""The report on a bundle: one HTML page made from it alone, to look at and to print. It runs and loads nothing."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from evidence import names
from evidence.cover import NO_KEY, Verdict, cover_of, verdict_of, verdict_on
from evidence.errors import EvidenceError
from evidence.filters import FILTERS
from evidence.reading.account import Account, account_of
from evidence.reading.exceptions import LABELS, QUICK, exceptions_of, length
from evidence.reading.material import Material, text
from evidence.statement import written_before_release
from evidence.verify.contents import Contents, told_by
from evidence.verify.judgement import Judgement, Standing, judge, unopened
from evidence.verify.rules import Rule
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, no_collection, unpacked


class ReportError(EvidenceError):
    """There is no report; the message says of which file, and why."""


@dataclass(frozen=True)
class Report:
    """The page, and the exit status of a command that made it: that of verification, 0 where no key was given."""

    page: bytes
    heading: str
    standing: Standing


@no_collection()
def report_on(file: Path, trust: Trust | None, *asked: Rule[Contents], quick: timedelta = QUICK) -> Report:
    """Return the report on a file, held to further rules where some are `asked`.

    A vote at most `quick` after its person opened the request is an exception. A file that cannot be read raises
    ReportError. It is read once: what the page tells is what was verified.
    """
    verdict, digest, material = _judged(judge(file, trust, *asked), trust) if trust else _unjudged(file)
    page = _page(file.name, digest, verdict, material, quick)
    return Report(page, verdict.heading, verdict.exit_status)


def _judged(judged: Judgement, trust: Trust) -> tuple[Verdict, str, Material | None]:
    """Return the verdict on a file, its SHA-256, and what may be told of it."""
    digest = _digest_of(judged)
    return verdict_on(judged, trust), digest, judged.contents.material if judged.contents else None


def _unjudged(file: Path) -> tuple[Verdict, str, Material | None]:
    """Return the same of a file for which no key was given; raise ReportError where it is older than release 0.2.0."""
    try:
        archive = unpacked(file)
    except VerificationError as error:
        return verdict_of(error, Standing.BROKEN), _digest_of(unopened(file, error)), None
    if earlier := written_before_release(_unverified(archive.members)):
        raise ReportError(f"{file}: {earlier}")
    return NO_KEY, archive.sha256, told_by(archive.members)


def _unverified(members: Mapping[str, bytes]) -> bytes:
    """Return the payload of the envelope, with its signature unchecked; b"" where there is no envelope."""
    try:
        return base64.b64decode(json.loads(members[names.STATEMENT])["payload"], validate=True)
    except (KeyError, TypeError, ValueError, RecursionError):
        return b""


def _digest_of(judged: Judgement) -> str:
    """Return the SHA-256 of a file; raise ReportError where it could not be read."""
    if judged.sha256 is None:
        found = judged.found
        raise ReportError(found.what if isinstance(found, VerificationError) else str(found))
    return judged.sha256


def _page(file: str, digest: str, verdict: Verdict, material: Material | None, quick: timedelta) -> bytes:
    """Fill the template; its policy names the style by its digest, and allows nothing else."""
    style = _resource("report.css").replace("@SHA256@", digest).replace("@STANDING@", verdict.standing)
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


@cache  # to compile it takes longer than to fill it
def _template() -> Template:
    engine = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    engine.filters.update(FILTERS)
    return engine.from_string(_resource("report.html"))


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _rules(account: Account) -> list[tuple[str, str]]:
    """Return policy's rules in their own words, each with what they wanted of people."""
    return list(dict.fromkeys((words or code, needed) for code, words, needed in account.needs))
