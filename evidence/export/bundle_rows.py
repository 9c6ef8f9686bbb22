"""Rows from bundles: what a bundle tells of its run's line, of its votes and of its exceptions.

Of votes these are also the columns that the leaves alone do not tell. `exceptions.csv` has the exceptions of a period's
runs, as their bundles give them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from evidence import names
from evidence.export.approvals_table import change_of, rule_of
from evidence.export.index import INDEX, Index, RunEntry, bundle_file, csv_of
from evidence.export.run_lines import RunTold, VoteTold, differing
from evidence.log_proofs import read_inclusion
from evidence.reading.exceptions import QUICK, exceptions_of
from evidence.reading.material import Material, Record, number, record, records, text
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationReport, open_file, readable, verified
from evidence.zipform import ZipFormError, unpack
from receipts import canonical

_PLUMBING = ("approval_id", "channel", "groups", "title")
"""Fields of a review that are about its card."""


@dataclass(frozen=True)
class BundleTold:
    """A bundle that holds: its report, its run as its leaves tell it, and where the log has the first of them."""

    report: VerificationReport
    run: RunTold
    log_index: int | None
    material: Material

    def rows(self, since: str, until: str) -> list[dict[str, Any]]:
        """Return the votes of a period as whole lines of the table."""
        return [
            {**row, **more} for row, more in zip(self.run.rows(since, until), self._more(since, until), strict=True)
        ]

    def _more(self, since: str, until: str) -> Iterator[dict[str, Any]]:
        """Yield what the leaves do not tell of each vote."""
        left = {name: records(one, "votes") for name, one in self.material.approvals.items()}
        for vote in self.run.votes:
            approval_id = str(vote.row["approval_id"])
            said = _taken(left.get(approval_id, []), vote)
            if since <= vote.row["at"] < until:
                yield _columns(self.material, self.material.approvals.get(approval_id, {}), said)


def read_bundle(file: Path, trust: Trust) -> BundleTold:
    """Verify a bundle and return what it tells; raise VerificationError."""
    report, contents = verified(file, trust)
    run = RunTold()
    for leaf in contents.leaves:
        run.add(leaf)
    run.line.update(state="sealed", sha256=report.sha256, size=file.stat().st_size)
    return BundleTold(report, run, _log_index(contents), Material(contents.members))


def check_bundle(index: Index, run: RunEntry, bundle: BundleTold) -> None:
    """Raise BrokenError unless a bundle gives its run's line, and is of the export's tenant and of no later time."""
    file = bundle_file(run.run_id)
    if bundle.report.tenant != index.tenant:
        raise BrokenError(file, f"is of the tenant {bundle.report.tenant}")
    if name := differing(bundle.run, run):
        raise BrokenError(INDEX, f"{run.run_id}: its bundle tells another {name}")
    if run.leaves <= bundle.run.leaves:  # one more tells that it was stored
        raise BrokenError(INDEX, f"{run.run_id}: its bundle has {bundle.run.leaves} leaves, and the index {run.leaves}")
    if bundle.log_index is not None and run.log_index != bundle.log_index:
        raise BrokenError(INDEX, f"{run.run_id}: its bundle stands at place {bundle.log_index} of the log")
    if index.made_at < bundle.run.newest:
        raise BrokenError(INDEX, f"{run.run_id} has a leaf of {bundle.run.newest}, after the export was made")


def _log_index(contents: Contents) -> int | None:
    if names.INCLUSION not in contents.members:
        return None
    places, _ = read_inclusion(contents.members[names.INCLUSION])
    return places[0].first_index


def _taken(left: list[Record], vote: VoteTold) -> Record:
    """Take the record of a vote out of those that are left."""
    for said in left:
        if canonical.digest(said) == vote.digest:
            left.remove(said)
            return said
    return {}


def _columns(material: Material, approval: Record, said: Record) -> dict[str, Any]:
    effect, before = material.effects.get(text(approval, "digest"), {}), record(approval, "before")
    is_task = text(approval, "kind") == "task"
    fields = {name: value for name, value in record(effect, "fields").items() if not is_task or name not in _PLUMBING}
    delegator = text(said, "delegation", "delegator_name")
    handler = f"{text(effect, 'connector')}::{text(effect, 'operation')}"
    rules = [(text(one, "code"), text(one, "msg")) for one in records(approval, "reasons")]
    return {
        "name": text(said, "person_name") + (f" for {delegator}" if record(said, "delegation") else ""),
        "reason": text(said, "reason"),
        "verb": material.verb_name(text(approval, "step")) or handler,
        "target": text(effect, "target"),
        "change": change_of((name, before.get(name), value) for name, value in fields.items()),
        "rule": rule_of(rules, text(approval, "purpose")),
        "account": _account(said),
    }


def _account(said: Record) -> str:
    via = text(said, "via")
    if "console" in said:
        return f"{text(said, 'console', 'subject')} of {text(said, 'console', 'issuer')}"
    if via:
        return f"none: by {text(said, 'brought_by') or via}"
    return f"{text(said, 'slack', 'team')} {text(said, 'slack', 'user')}"


EXCEPTION_COLUMNS = (*("at", "name", "kind", "what", "seconds", "reference", "definition", "person", "run_id", "leaf"),)
NOT_RECORDED = "opening_not_recorded"
"""The kind of a line that says of how many votes of a run the opening was not recorded."""


def exception_rows(material: Material, quick: timedelta = QUICK) -> Iterator[dict[str, Any]]:
    """Yield the exceptions of a bundle as lines; the last says where the opening of requests was not recorded."""
    run, found = material.run, exceptions_of(material, quick)
    shared = {
        "reference": text(run, "trigger", "ref"),
        "definition": f"{text(run, 'definition', 'name')} v{number(run, 'definition', 'version')}",
        "run_id": text(run, "run_id"),
    }
    for one in found.entries:
        told = {name: getattr(one, name) for name in ("at", "name", "what", "seconds", "person", "leaf")}
        yield {**told, "kind": str(one.kind), **shared}
    if found.opening:
        ended = {"at": text(run, "finished_at"), "kind": NOT_RECORDED, "what": found.opening, **shared}
        yield {**dict.fromkeys(EXCEPTION_COLUMNS, ""), **ended, "seconds": None, "leaf": None}


def material_in(file: Path) -> Material:
    """Return what a bundle holds, unverified; raise BrokenError where it cannot be read."""
    try:
        with open_file(file) as stream, readable(file):
            return Material(unpack(stream).members)
    except ZipFormError as error:
        raise BrokenError(error.member, error.what) from error


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of several bundles, the oldest first."""
    return sorted(rows, key=lambda row: (row["at"], row["run_id"], row["leaf"] or 0))


def exceptions_sheet(index: Index, folder: Path) -> bytes:
    """Return the exceptions of all runs of which an export has bundles, as a table."""
    files = [folder / bundle_file(run.run_id) for run in index.entries if run.sha256]
    return csv_of(EXCEPTION_COLUMNS, in_order(row for file in files for row in exception_rows(material_in(file))))
