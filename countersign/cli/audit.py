"""Audits: the log looked through, its checkpoints and stamps, a period read against its chains, rows for tables.

An export tells of runs and votes of one moment; each row is compared with the run's chain. A counted vote is a row of a
table, and so is a refused attempt that belongs to no run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from countersign.connection import connected
from countersign.doctor.unsealed import why
from countersign.foreseen_errors import OperateError
from countersign.log_key import log_keys
from countersign.settings import Settings, required
from evidence.export.approvals_table import (
    by_run,
    change_of,
    check_rows,
    decision_of,
    meaning_of,
    order_of,
    required_of,
    rule_of,
)
from evidence.export.bundle_rows import EXCEPTION_COLUMNS
from evidence.export.index import Period, RunEntry, written
from evidence.export.refused_table import refused_row
from evidence.export.run_lines import RunTold, differing
from evidence.log_proofs import LaterStamp
from evidence.reading.exceptions import ExceptionKind
from evidence.reading.markdown import cited
from evidence.reading.words import REFUSALS, counted, listed
from evidence.verify.contents import BrokenError
from evidence.verify.trust import open_kept
from receipts.acts import CommandRefused, DelegationRefused, FormRefused, Refused, RequestRefused, SignInRefused
from receipts.chain import Leaf
from receipts.fields import timestamp
from runtime.model.search import RunFilter
from runtime.services import health as inspection
from runtime.services.bundles import (
    CountedVote,
    FoundRun,
    RefusedAttempt,
    Sought,
    find_refusals,
    find_runs,
    find_votes,
    one_view,
    read_chains,
)
from runtime.services.log import LogChangedError, NoStampError, first_after

if TYPE_CHECKING:
    from runtime.services.health import Audit


async def newest_checkpoint(settings: Settings) -> str:
    """Return the newest checkpoint; raise OperateError where nothing was signed yet."""
    async with connected(settings) as conn:
        found = await inspection.newest_checkpoint(conn, settings.tenant)
    if found is None:
        raise OperateError("the log has no signature yet: a worker signs it once a minute")
    return found.note


async def later_stamp(settings: Settings, run_id: str) -> LaterStamp:
    """Return the first time stamp that is over a run's bundle; raise OperateError where none can be had."""
    async with connected(settings) as conn:
        try:
            stamped, growth = await first_after(conn, settings.tenant, run_id)
        except (NoStampError, LogChangedError) as error:
            raise OperateError(str(error)) from error
    return LaterStamp(stamped.note.encode(), stamped.stamp, growth)


def audited(settings: Settings, kept: Sequence[Path]) -> "Audit":
    """Return what an audit finds; raise TrustError where a checkpoint that was kept cannot be used."""
    heads = [open_kept(file, log_keys(settings)) for file in kept]
    return inspection.audit(required(settings, "database_url"), settings.tenant, heads)


def vote_row(vote: CountedVote) -> dict[str, Any]:
    """Return the line of a vote; moments are aware, texts on one line but for the reason."""
    said = (vote.kind, vote.verdict, vote.ticket)
    return {
        "at": vote.at,
        "person": vote.person,
        "name": vote.name,
        "decision": decision_of(*said, is_withdrawn=vote.is_withdrawn, leaves_open=vote.leaves_open),
        "meaning": meaning_of(*said, is_withdrawn=vote.is_withdrawn, leaves_open=vote.leaves_open),
        "reason": vote.reason,
        "verb": vote.verb,
        "target": vote.target,
        "reference": vote.reference,
        "change": change_of((field.name, field.before, field.after) for field in vote.fields),
        "rule": rule_of(vote.rules, vote.purpose),
        "required": required_of(vote.requirement.document()),
        "requested_by": vote.requested_by,
        "run_id": vote.run_id,
        "definition": f"{vote.definition} v{vote.definition_version}",
        "step": vote.step,
        "approval_id": vote.approval_id,
        "account": vote.account,
        "bundle_sha256": vote.sha256,
    }


_BEFORE = timedelta(minutes=1)
"""A run's row is made a moment before the leaf that says it is queued, which may be on the day before."""


@dataclass(frozen=True)
class PeriodRead:
    """Runs of the days and others with votes, these votes, refused attempts, and where rows are not as leaves tell."""

    runs: list[RunEntry]
    voted: list[RunEntry]
    votes: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    newest: str
    locations: Mapping[str, str]
    findings: list[str]


async def read_period(settings: Settings, period: Period) -> PeriodRead:
    """Read a period in one view of the database."""
    tenant = settings.tenant
    async with connected(settings) as conn, one_view(conn):
        days = RunFilter(since=period.since, until=period.until)
        votes = [vote_row(one) for one in await find_votes(conn, tenant, days)]
        found = await find_runs(conn, tenant, Sought(since=period.since - _BEFORE, until=period.until))
        others = sorted({vote["run_id"] for vote in votes} - {run.run_id for run in found})
        found += await find_runs(conn, tenant, Sought(run_ids=others))
        refused = await find_refusals(conn, tenant, period.since, period.until)
        told = {run.run_id: RunTold() for run in found}
        findings = []
        async for run_id, leaves in read_chains(conn, list(told)):
            try:
                told[run_id] = _chain_told(leaves)
            except ValidationError as error:
                findings.append(f"chain.broken: {run_id}: {error.errors()[0]['msg']}")
    votes.sort(key=lambda vote: order_of(written(vote)))
    rows = [refused_row(one.at, one.actor, one.act.event, one.act.model_dump(), one.seq) for one in refused]
    return replace(_compared(period, found, told, votes, findings), refused=rows)


def _chain_told(leaves: Sequence[Mapping[str, Any]]) -> RunTold:
    told = RunTold()
    for leaf in leaves:
        told.add(Leaf.model_validate(leaf))
    return told


def _compared(
    period: Period,
    found: Sequence[FoundRun],
    told: Mapping[str, RunTold],
    votes: list[dict[str, Any]],
    findings: list[str],
) -> PeriodRead:
    """Make the lines of what was read, with a finding for each row that is not as its leaves tell."""
    since, until = period.moments
    entries = sorted((_run_entry(run, told[run.run_id]) for run in found), key=lambda run: (run.created_at, run.run_id))
    rows = by_run(list(map(written, votes)))
    for run in entries:
        if name := differing(told[run.run_id], run):
            findings.append(f"row.changed: {run.run_id}: its row has another {name} than its leaves tell")
        try:
            check_rows(run.run_id, told[run.run_id].rows(since, until), rows.get(run.run_id, ()), "the chain")
        except BrokenError as error:
            findings.append(f"row.changed: {error.what}")
    return PeriodRead(
        runs=[run for run in entries if since <= run.created_at < until],
        voted=[run for run in entries if not since <= run.created_at < until and run.run_id in rows],
        votes=votes,
        refused=[],
        newest=max((one.newest for one in told.values()), default=""),
        locations={run.run_id: run.location for run in found if run.location},
        findings=findings,
    )


def _run_entry(run: FoundRun, told: RunTold) -> RunEntry:
    """Return a run's line: as its row has it, but for the moments, which are those of the leaves."""
    same = (
        *("run_id", "trigger_type", "definition", "definition_version", "definition_digest"),
        *("requested_by", "sha256", "size", "leaves", "log_index"),
    )
    finished = timestamp(run.finished_at) if run.finished_at else None
    return RunEntry(
        **{name: getattr(run, name) for name in same},
        reference=run.trigger_ref,
        created_at=told.line.get("created_at") or timestamp(run.created_at),
        finished_at=finished and (told.line.get("finished_at") or finished),
        outcome=run.ending,
        state=run.state,
        why=why(run),
    )


_LENGTH = 120
"""Characters of a name or a subject."""

_RULES = {
    "caller.unknown": "the directory has no such agent",
    "caller.triggers": "may not send triggers of this type",
    "caller.on_behalf": "may not speak for others",
    "caller.answers_for": "may not answer for this person",
    "caller.previews": "may not preview policies of this tenant",
    "answer.not_yours": "may not answer for this verb",
    "answer.no_token": "did not send the token of the request",
    "act.denied": "policy denied it",
    "account.unknown": "the directory has nobody with this account",
    "account.ambiguous": "the directory lists this account with more than one person",
    "account.changed": "this address signed in by another account before, or this account as somebody else",
    "address.unverified": "the provider has not verified the address",
    "address.untrusted": "addresses of this domain do not count",
    "person.no_role": "is in no group that may use the console",
    "database.away": "the database could not be used",
}

_FORMS = {"role": "has no role that may", "origin": "it stood on another site's page"}


def refusal_rows(attempts: Iterable[RefusedAttempt]) -> Iterator[dict[str, Any]]:
    """Yield refused attempts as lines; `run_id` is the tenant's chain, in which `leaf` is the number of the record."""
    for one in attempts:
        told = {"at": one.at, "name": one.actor, "person": one.actor, "what": _attempt_text(one.act)}
        place = {"kind": str(ExceptionKind.REFUSED), "seconds": None, "run_id": one.chain, "leaf": one.seq}
        yield {**dict.fromkeys(EXCEPTION_COLUMNS, ""), **told, **place}


def _attempt_text(act: Refused) -> str:
    match act:
        case CommandRefused():
            return f"used the command {cited(act.command, _LENGTH)} in Slack; refused: {_refusal_text(act.code)}"
        case DelegationRefused():
            wanted = "record" if act.act == "delegate" else "end"
            people = f"from {cited(act.delegator, _LENGTH)} to {cited(act.delegate, _LENGTH)}"
            return f"tried to {wanted} a delegation {people}; policy denied it: {cited(act.why, _LENGTH)}"
        case FormRefused():
            return f"sent {cited(act.route, _LENGTH)} to the console; refused: {_FORMS[act.rule]}"
        case SignInRefused():
            account = f"the account {cited(act.subject, _LENGTH)} of {cited(act.issuer, _LENGTH)}"
            return f"wanted to sign in to the console with {account}; refused: {_refusal_text(act.code)}"
        case RequestRefused():
            times = "" if act.count == 1 else f" {counted(act.count, 'time')}, first at {act.first_at}"
            return f"called {act.route} for {_subjects_text(act)}{times}; refused: {_refusal_text(act.rule)}"


def _subjects_text(act: RequestRefused) -> str:
    return listed([cited(one, _LENGTH) for one in dict.fromkeys(tried.subject for tried in act.tried)])


def _refusal_text(code: str) -> str:
    return _RULES.get(code) or REFUSALS.get(code) or cited(code, _LENGTH)
