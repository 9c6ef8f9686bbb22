"""What `countersign evidence verify` and `report` print. Imports nothing that needs a server or a network."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from countersign.cli.command import out
from countersign.cli.given import Given
from countersign.errors import CountersignError
from evidence.errors import EvidenceError, UndecidedError
from evidence.reading.exceptions import QUICK
from evidence.replay import replayed_by
from evidence.replay_asking import Opa
from evidence.verify.below import ends_below
from evidence.verify.contents import Contents
from evidence.verify.judgement import Judgement, Standing, judge, worst
from evidence.verify.kept_checkpoint import one_log_with
from evidence.verify.published import tiles_in
from evidence.verify.rules import Rule
from evidence.verify.trust import Trust, TrustError, open_kept
from evidence.verify.undone import undoes
from evidence.verify.verify import VerificationReport
from receipts.errors import ReceiptsError


class NoOpaError(CountersignError):
    """There is no OPA to ask."""


def find_opa() -> Opa:
    """Return the OPA that COUNTERSIGN_OPA names, else the pinned one."""
    from countersign.embedded.servers import OPA, find

    named = os.environ.get("COUNTERSIGN_OPA")
    found = Path(named) if named else find(OPA)
    if found is None:
        raise NoOpaError("opa is missing: set COUNTERSIGN_OPA to its path, or run `make up` once to install it")
    return Opa(found)


def verify_all(files: Sequence[Path], given: Given, opa: Opa | None, *, as_json: bool) -> int:
    """Verify files, print what is found of each as it is found, and return the exit status."""
    try:
        trust = given.trust()
        asked = [*asked_of(given, trust), *([replayed_by(opa)] if opa else [])]
    except (ReceiptsError, TrustError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    standings = [_verify(file, trust, asked, is_one=len(files) == 1, as_json=as_json) for file in files]
    if len(files) > 1 and not as_json:
        out.print(f"{standings.count(Standing.HOLDS)} of {len(files)} hold.")
    return worst(standings)


def _verify(file: Path, trust: Trust, asked: Sequence[Rule[Contents]], *, is_one: bool, as_json: bool) -> Standing:
    """Verify a file and print what is found; what it holds is kept no longer."""
    judged = judge(file, trust, *asked)
    if as_json:
        sys.stdout.write(f"{json.dumps(judged.document(), ensure_ascii=False)}\n")
    else:
        _show(judged, trust, is_one=is_one)
    return judged.standing


def asked_of(given: Given, trust: Trust) -> Iterator[Rule[Contents]]:
    """Yield the rules about kept checkpoints and about runs below or undone, if any are given; raise TrustError."""
    if given.log and not given.checkpoints:
        raise TrustError("--checkpoint needs the log to compare with, and none is given")
    if given.checkpoints:
        heads = [open_kept(file, trust.log) for file in given.checkpoints]
        yield one_log_with(heads, tiles_in(given.log) if given.log else None)
    if given.children:
        yield ends_below(given.children, trust)
    if given.undone:
        yield undoes(given.undone, trust)


def _show(judged: Judgement, trust: Trust, *, is_one: bool) -> None:
    """Print one for people; among several, each is headed by its name."""
    report = judged.found
    if not isinstance(report, VerificationReport):
        rule = f"{report.rule}: " if isinstance(report, UndecidedError) else ""
        sys.stderr.write(f"countersign: {'' if is_one else f'{judged.file}: '}{rule}{report}\n")
        return
    if not is_one:
        out.print(judged.file)
    out.print(f"Signed by the key {report.key_id}. {trust.log_key}")
    for passed in report.steps:
        out.print(f"{passed.step:>2}. {passed.fact}")
    end = "" if is_one else "\n"
    out.print(f"sha256: {report.sha256}\nrun:    {report.run_id} of {report.tenant}\nEverything holds.{end}")


def report_one(file: Path, given: Given | None, to: Path, quick: timedelta = QUICK) -> int:
    """Write the report on a file, say what its verdict is, and return the exit status."""
    from evidence.page.report import report_on, write_report

    try:
        trust = given.trust() if given else None
        report = report_on(file, trust, *(asked_of(given, trust) if given and trust else ()), quick=quick)
        write_report(report, to)
    except (ReceiptsError, EvidenceError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    out.print(f"{report.heading}\nreport: {to}")
    return report.standing
