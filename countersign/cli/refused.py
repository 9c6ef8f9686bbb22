"""Refused attempts that belong to no run, as lines of exceptions."""

from collections.abc import Iterable, Iterator
from typing import Any

from evidence.export.exceptions import EXCEPTION_COLUMNS
from evidence.reading.exceptions import ExceptionKind
from evidence.reading.shown import cited
from evidence.reading.words import REFUSALS, counted, listed
from receipts.refused import CommandRefused, DelegationRefused, RequestRefused
from runtime.services.bundle_refusals import RefusedAttempt

_LENGTH = 120
"""Characters of a name or a subject."""

_RULES = {
    "caller.unknown": "the directory has no such agent",
    "caller.triggers": "may not send triggers of this type",
    "caller.on_behalf": "may not speak for others",
    "caller.answers_for": "may not answer for this person",
    "answer.not_yours": "may not answer for this verb",
    "answer.no_token": "did not send the token of the request",
    "act.denied": "policy denied it",
}


def refusal_rows(attempts: Iterable[RefusedAttempt]) -> Iterator[dict[str, Any]]:
    """Yield refused attempts as lines; `run_id` is the tenant's chain, in which `leaf` is the number of the record."""
    for one in attempts:
        told = {"at": one.at, "name": one.actor, "person": one.actor, "what": _what(one.act)}
        place = {"kind": str(ExceptionKind.REFUSED), "seconds": None, "run_id": one.chain, "leaf": one.seq}
        yield {**dict.fromkeys(EXCEPTION_COLUMNS, ""), **told, **place}


def _what(act: CommandRefused | DelegationRefused | RequestRefused) -> str:
    match act:
        case CommandRefused():
            return f"used the command {cited(act.command, _LENGTH)} in Slack; refused: {_why(act.code)}"
        case DelegationRefused():
            wanted = "record" if act.act == "delegate" else "end"
            people = f"from {cited(act.delegator, _LENGTH)} to {cited(act.delegate, _LENGTH)}"
            return f"tried to {wanted} a delegation {people}; policy denied it: {cited(act.why, _LENGTH)}"
        case RequestRefused():
            times = "" if act.count == 1 else f" {counted(act.count, 'time')}, first at {act.first_at}"
            return f"called {act.route} for {_subjects(act)}{times}; refused: {_why(act.rule)}"


def _subjects(act: RequestRefused) -> str:
    return listed([cited(one, _LENGTH) for one in dict.fromkeys(tried.subject for tried in act.tried)])


def _why(code: str) -> str:
    return _RULES.get(code) or REFUSALS.get(code) or cited(code, _LENGTH)
