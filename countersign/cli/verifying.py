"""What is said of an export, made or verified. Imports nothing that needs a server or a network."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from countersign.cli.command import out
from countersign.cli.given import Given
from evidence.export.index import Index
from evidence.export.verify import ExportFault, ExportReport, verify_export
from evidence.verify.judgement import Standing
from evidence.verify.rules import counted
from evidence.verify.trust import TrustError
from receipts.errors import ReceiptsError
from receipts.fields import timestamp

_SHOWN = 20
"""Runs without a bundle that are listed; all of them stand in the index."""

_NO_LOG = "not the log: runs may be left out, and lines be invented (--log, --log-key)"
_NO_LOG_KEY = "whose key was not given (--log-key): a forger could have invented it"
_NO_BUNDLES = "no bundles"


def told(index: Index) -> str:
    """Return what an index says, in lines: its days and counts, runs without a bundle, and what the log was."""
    counts, log = index.counts, index.log
    parts = (counted(counts.runs, "run"), *map(_numbers, (counts.by_state, counts.by_outcome) if counts.runs else ()))
    without = [f"no bundle: {run.run_id}: {run.why}" for run in index.runs if run.sha256 is None]
    more = [f"no bundle: {len(without) - _SHOWN} more, in index.json and runs.csv"] if len(without) > _SHOWN else []
    until = _moment(log.until) if log.until else "the first of them"
    is_over = index.made_at >= timestamp(index.period.until)
    lines = [
        f"{index.first_day} to {index.last_day}: {'; '.join((*parts, counted(counts.votes, 'vote')))}",
        *([] if is_over else [f"the period was not over at {_moment(index.made_at)}, when this was made"]),
        *without[:_SHOWN],
        *more,
        *(f"the log does not hold: {finding}" for finding in log.findings[:_SHOWN]),
        f"log:    {log.size:,} leaves; everything before {until} is accounted for",
    ]
    return "\n".join(lines)


def verify_folder(folder: Path, given: Given, log: Path | None, *, as_json: bool) -> int:
    """Verify an export, print what is found, and return the exit status."""
    try:
        trust = given.trust()
    except (ReceiptsError, TrustError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Standing.UNREAD
    found = verify_export(folder, trust, log)
    if as_json:
        against = {"log": log is not None, "log_key": bool(given.log_keys)}
        sys.stdout.write(f"{json.dumps(_document(folder, found, against), ensure_ascii=False)}\n")
    elif isinstance(found, ExportFault):
        sys.stderr.write(f"countersign: {found.sentence()}\n")
    else:
        out.print(held_against(found.index, given, log))
        for number, passed in enumerate(found.rules, 1):
            out.print(f"{number:>2}. {passed.rule}: {passed.found}")
        out.print(f"{told(found.index)}\nsha256: {found.sha256}\nEverything holds.")
    return found.standing if isinstance(found, ExportFault) else Standing.HOLDS


def held_against(index: Index, given: Given, log: Path | None) -> str:
    """Return what an export was held against, in one line."""
    bundles = sum(run.sha256 is not None for run in index.entries)
    told = counted(bundles, "bundle") if index.has_bundles else _NO_BUNDLES
    logged = _NO_LOG if log is None else f"the log, {'signed by its key' if given.log_keys else _NO_LOG_KEY}"
    return f"Held against: {told}; {logged}."


def _document(folder: Path, found: ExportReport | ExportFault, against: Mapping[str, bool]) -> dict[str, Any]:
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
