"""What `evidence verify`, `report` and `verify-export` print. Imports nothing that needs a server or a network."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from countersign.cli.command import out, show_facts, show_json
from countersign.cli.evidence_options import VerifierInputs
from countersign.foreseen_errors import CountersignError, OperateError
from evidence.errors import EvidenceError, UndecidedError
from evidence.export.index import Index
from evidence.export.verify import ExportFault, ExportReport, verify_export
from evidence.reading.exceptions import QUICK
from evidence.replay import Opa, replayed_by
from evidence.verify.audit_log import one_log_with, tiles_in
from evidence.verify.contents import Contents
from evidence.verify.judgement import Judgement, Standing, judge, worst
from evidence.verify.linked_bundles import ends_below, undoes
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust, TrustError, open_kept
from evidence.verify.verify import VerificationReport
from receipts.errors import ReceiptsError
from receipts.fields import timestamp


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


def verify_all(files: Sequence[Path], given: VerifierInputs, opa: Opa | None, *, as_json: bool) -> int:
    """Verify files, print what is found of each as it is found, and return the exit status."""
    try:
        trust = given.trust()
        asked = [*extra_rules(given, trust), *([replayed_by(opa)] if opa else [])]
    except (ReceiptsError, TrustError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    standings, documents = [], []
    for file in files:  # what one holds is kept no longer
        judged = judge(file, trust, *asked)
        standings.append(judged.standing)
        if as_json:
            documents.append(judged.document())
        else:
            _print_judgement(judged, trust, is_one=len(files) == 1)
    if as_json:
        show_json({"bundles": documents})
    elif len(files) > 1:
        out.print(f"{standings.count(Standing.HOLDS)} of {len(files)} hold.")
    return worst(standings)


def extra_rules(given: VerifierInputs, trust: Trust) -> Iterator[Rule[Contents]]:
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


def _print_judgement(judged: Judgement, trust: Trust, *, is_one: bool) -> None:
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


def report_one(
    file: Path, given: VerifierInputs | None, to: Path, quick: timedelta = QUICK, *, as_json: bool = False
) -> int:
    """Write the report on a file, say what its verdict is, and return the exit status."""
    from countersign.cli.outputs import write_new
    from evidence.report import report_on

    try:
        trust = given.trust() if given else None
        report = report_on(file, trust, *(extra_rules(given, trust) if given and trust else ()), quick=quick)
        write_new(to, report.page)
    except (ReceiptsError, EvidenceError, OperateError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    show_facts({"verdict": report.heading, "report": to}, report.heading, f"report: {to}", as_json=as_json)
    return report.standing


_SHOWN = 20
"""Runs without a bundle that are listed; all of them stand in the index."""

_NO_LOG = "not the log: runs may be left out, and lines be invented (--log, --log-key)"
_NO_LOG_KEY = "whose key was not given (--log-key): a forger could have invented it"
_NO_BUNDLES = "no bundles"
_NOT_TOLD = "refused attempts are not told: it is of format 1"


def index_summary(index: Index) -> str:
    """Return what an index says, in lines: its days and counts, runs without a bundle, and what the log was."""
    counts, log = index.counts, index.log
    parts = (counted(counts.runs, "run"), *map(_numbers, (counts.by_state, counts.by_outcome) if counts.runs else ()))
    refused = _NOT_TOLD if counts.refused is None else counted(counts.refused, "record") + " of refused attempts"
    without = [f"no bundle: {run.run_id}: {run.why}" for run in index.runs if run.sha256 is None]
    more = [f"no bundle: {len(without) - _SHOWN} more, in index.json and runs.csv"] if len(without) > _SHOWN else []
    until = _moment(log.until) if log.until else "the first of them"
    is_over = index.made_at >= timestamp(index.period.until)
    lines = [
        f"{index.first_day} to {index.last_day}: {'; '.join((*parts, counted(counts.votes, 'vote'), refused))}",
        *([] if is_over else [f"the period was not over at {_moment(index.made_at)}, when this was made"]),
        *without[:_SHOWN],
        *more,
        *(f"the log does not hold: {finding}" for finding in log.findings[:_SHOWN]),
        f"log:    {log.size:,} leaves; everything before {until} is accounted for",
    ]
    return "\n".join(lines)


def verify_export_folder(folder: Path, given: VerifierInputs, log: Path | None, *, as_json: bool) -> int:
    """Verify an export, print what is found, and return the exit status."""
    try:
        trust = given.trust()
    except (ReceiptsError, TrustError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    found = verify_export(folder, trust, log)
    if as_json:
        against = {"log": log is not None, "log_key": bool(given.log_keys)}
        show_json(_export_document(folder, found, against))
    elif isinstance(found, ExportFault):
        sys.stderr.write(f"countersign: {found.sentence()}\n")
    else:
        out.print(held_against(found.index, given, log))
        for number, passed in enumerate(found.rules, 1):
            out.print(f"{number:>2}. {passed.rule}: {passed.found}")
        out.print(f"{index_summary(found.index)}\nsha256: {found.sha256}\nEverything holds.")
    return found.standing if isinstance(found, ExportFault) else Standing.HOLDS


def held_against(index: Index, given: VerifierInputs, log: Path | None) -> str:
    """Return what an export was held against, in one line."""
    bundles = sum(run.sha256 is not None for run in index.entries)
    told = counted(bundles, "bundle") if index.has_bundles else _NO_BUNDLES
    logged = _NO_LOG if log is None else f"the log, {'signed by its key' if given.log_keys else _NO_LOG_KEY}"
    return f"Held against: {told}; {logged}."


def _export_document(folder: Path, found: ExportReport | ExportFault, against: Mapping[str, bool]) -> dict[str, Any]:
    if isinstance(found, ExportFault):
        failed = {"name": found.rule, "member": found.file, "what": found.what}
        return {
            "export": str(folder),
            "sha256": None,
            "held_against": None,
            "holds": False,
            "checks": None,
            "failed": failed,
        }
    held = {"bundles": found.index.has_bundles, **against}
    checks = [{"name": passed.rule, "found": passed.found} for passed in found.rules]
    about = found.index.model_dump(include={"tenant", "first_day", "last_day", "counts"}) | {"key": found.key_id}
    return {
        "export": str(folder),
        "sha256": found.sha256,
        **about,
        "held_against": held,
        "holds": True,
        "checks": checks,
        "failed": None,
    }


def _numbers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _moment(at: str) -> str:
    return f"{at[:19].replace('T', ' ')} UTC"
