"""Errors of the edge as problem+json (RFC 9457): one shape, one sentence that says what is wrong and where."""

import logging
from collections.abc import Callable, Mapping

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from runtime.model.limits import first_line
from runtime.model.notification import ConflictError
from runtime.model.runbook_version import NotActiveError
from runtime.services.callers import NoRunbookError, TriggerConflictError, TriggerError
from runtime.services.compensation import TooManyError
from runtime.services.signals import NoSuchRunError, SeveralRunsError

FORBIDDEN = 403

TITLES = {
    400: "Bad request",
    401: "Not signed by a known caller",
    FORBIDDEN: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    422: "Not acceptable",
    429: "Too many requests",
    500: "Internal error",
    501: "Not set up",
    503: "Not available",
}

_STATUSES: Mapping[type, int] = {
    NoRunbookError: 404,
    NoSuchRunError: 404,
    ConflictError: 409,
    NotActiveError: 409,
    SeveralRunsError: 409,
    TriggerConflictError: 409,
    TriggerError: 422,
    TooManyError: 422,
}
"""What services refuse in a sentence for the caller, and the status that says so."""

# What attackers and callers gone wrong are seen by; nothing of the request is logged.
_TELLING = frozenset({401, 413, 429})
DATABASE_AWAY = "database.away"
"""The rule by which a request counts as refused that could not be answered for want of the database."""
NO_WRITES = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.DiskFull)
AWAY = (psycopg.OperationalError, psycopg.InterfaceError)

log = logging.getLogger(__name__)


class Problem(Exception):  # noqa: N818 - the RFC's own word
    """An answer other than success."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class Denied(Problem):
    """A 403: the caller is known and not allowed. `rule` is the code of what refuses it, `subject` what it wanted."""

    def __init__(self, rule: str, subject: str, detail: str) -> None:
        super().__init__(403, detail)
        self.rule = str(rule)
        self.subject = subject


def problem_of(status: int, detail: str, rule: str, subject: str) -> Problem:
    """Return the problem with this status: a 403 says by which rule, and for what."""
    return Denied(rule, subject, detail) if status == FORBIDDEN else Problem(status, detail)


def handle_problems(app: FastAPI, note: Callable[[Request, Denied], None] | None) -> None:
    """Have every error of the application answered as a problem.

    `note` is told of each 403, and of each request of a known caller for which the database could not be used.
    """

    async def noted(request: Request, error: Exception) -> JSONResponse:
        denied = on_record(error, getattr(request.state, "caller", None))
        if note is not None and denied:
            note(request, denied)
        return await _answer(request, error)

    ours = (Problem, *_STATUSES, RequestValidationError, HTTPException)
    for kind in (*ours, Exception):
        app.add_exception_handler(kind, _answer)
    for told in (Denied, *AWAY, *NO_WRITES):
        app.add_exception_handler(told, noted)


def on_record(error: Exception, caller: str | None) -> Denied | None:
    """Return what the tenant's chain says of an error: a 403, or that a known caller found the database away."""
    if isinstance(error, Denied):
        return error
    return Denied(DATABASE_AWAY, caller, str(error)) if caller and isinstance(error, (*AWAY, *NO_WRITES)) else None


def response(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the problem document."""
    body = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


async def _answer(_: Request, error: Exception) -> JSONResponse:
    problem = problem_for(error)
    if problem.status in _TELLING:
        log.warning("refused with %s: %s", problem.status, TITLES[problem.status].lower(), extra={"sampled": True})
    return response(problem.status, problem.detail, problem.headers)


def problem_for(error: Exception) -> Problem:
    """Return what the caller is told of an error: of one that is not foreseen no more than that there was one."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            faults = [(*map(str, one["loc"]), one["msg"]) for one in error.errors()]
            status = 404 if all(where == "path" for where, *_ in faults) else 422
            return Problem(status, "; ".join(f"{'.'.join(place)}: {what}" for *place, what in faults))
        case HTTPException():
            return Problem(error.status_code, str(error.detail), error.headers)
        case _ if kind := next((kind for kind in type(error).__mro__ if kind in _STATUSES), None):
            return Problem(_STATUSES[kind], str(error))
        case _ if isinstance(error, NO_WRITES):
            return _unavailable("the database takes no writes", error)
        case _ if isinstance(error, AWAY):
            return _unavailable("the database cannot be reached", error)
        case _:  # the server logs it, once
            return Problem(500, "the request could not be handled")


def _unavailable(why: str, error: Exception) -> Problem:
    log.warning("not answered, %s: %s", why, first_line(error))
    return Problem(503, f"{why} just now; try again", {"Retry-After": "5"})
