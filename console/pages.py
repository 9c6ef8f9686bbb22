"""Pages of the console: templates, the stylesheet, and the headers with which all of them go out.

Nothing on a page comes from elsewhere, nothing runs a script, and no other page frames one. Every value is text.
"""

from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from console.run_states import MARKS, sign
from console.shown_card import parts_of
from evidence import verifier_page
from evidence.filters import data, line
from runtime.model.metrics import duration_words
from runtime.model.search import EvidenceState
from runtime.services.console_sessions import ConsoleRole, ConsoleViewer

ROOT = "/console"
"""Where the console stands on its host."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def moment(at: datetime) -> str:
    """Return a moment as pages show it: to the minute, in UTC, and saying so."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def lasting(time: timedelta) -> str:
    """Return how long something lasts, in words."""
    return duration_words(max(time.total_seconds(), 0.0))


EVIDENCE = {
    EvidenceState.OPEN: "the run goes on",
    EvidenceState.UNSEALED: "not sealed yet",
    EvidenceState.SEALING: "being sealed",
    EvidenceState.STUCK: "stuck",
    EvidenceState.SEALED: "sealed",
}


_STATES = {
    "waiting_approval": "waits for people",
    "failed_retryable": "is tried again",
    "failed_terminal": "failed",
    "failed_handled": "failed, handled",
    "in_doubt": "in doubt",
    "requested": "open",
    "dispatched": "done",
    "deferred": "waits for people",
    "approve": "approved",
    "allow": "allowed",
    "deny": "denied",
    "needs_approval": "needs people",
    "success": "done",
    "failure": "failed",
    "refusal": "refused",
    "reject": "rejected",
    "changes": "asked for changes",
}


def words(name: str) -> str:
    """Return a state, an outcome or a verb in words: what has none of its own loses its underlines."""
    return _STATES.get(name, name.replace("_", " "))


def short(number: float) -> str:
    """Return a number of a picture with no more digits than it needs."""
    return f"{number:g}"


def address(path: str, **query: Any) -> str:
    """Return an address in the console, with the members of the query that say something."""
    said = urlencode({name: value for name, value in query.items() if value})
    return f"{ROOT}{path}?{said}" if said else f"{ROOT}{path}"


_environment = Environment(
    loader=PackageLoader("console"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_environment.filters.update(
    moment=moment, lasting=lasting, words=words, sign=sign, data=data, line=line, parts=parts_of, g=short
)
FILTERS = {
    "text": "reference or customer",
    "person": "person",
    "runbook": "runbook",
    "outcome": "outcome",
    "evidence": "evidence",
    "since": "from",
    "until": "to",
}
"""Filters of runs in words."""


_environment.globals.update(
    address=address,
    AUDITOR=ConsoleRole.AUDITOR,
    OPERATOR=ConsoleRole.OPERATOR,
    EVIDENCE=EVIDENCE,
    FILTERS=FILTERS,
    MARKS=MARKS,
)

_CSS = files("console").joinpath("console.css").read_text(encoding="utf-8")


def stylesheet() -> Response:
    """Return the stylesheet of all pages."""
    return Response(_CSS, 200, {**HEADERS, "Cache-Control": "max-age=300"}, media_type="text/css")


@cache
def verifier() -> Response:
    """Return the verifier for browsers, which forbids itself all but its own script, and opens no connection."""
    return HTMLResponse(verifier_page.page(), 200, {**HEADERS, "Content-Security-Policy": "frame-ancestors 'none'"})


def attachment(name: str, data: bytes | str, media_type: str) -> Response:
    """Return a file that a browser saves under a name."""
    named = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, 200, {**HEADERS, **named}, media_type=media_type)


def page(name: str, viewer: ConsoleViewer | None, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page by the name of its template; without a viewer it has no menu."""
    text = _environment.get_template(f"{name}.html").render(viewer=viewer, **values)
    return HTMLResponse(text, status, HEADERS)


def message(viewer: ConsoleViewer | None, status: int, title: str, says: str) -> HTMLResponse:
    """Return a page that says one thing."""
    return page("message", viewer, status, title=title, says=says)
