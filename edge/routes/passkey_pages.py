"""The pages, made of one template: they run one script and load nothing, and nobody frames them."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from edge.routes.passkey_words import CLOSED, REMEDY
from evidence.page.filters import capital, data, form, left_out, some
from runtime.services.passkeys_model import Closed, Page, SigningPage

_STATUS = {Closed.UNKNOWN: 404, Closed.USED: 410, Closed.EXPIRED: 410}


def _read(name: str) -> str:
    return files("edge.routes").joinpath(f"passkey_page.{name}").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_CSS, _SCRIPT = _read("css"), _read("js")
_environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_environment.filters.update(capital=capital, data=data, form=form, left_out=left_out, some=some)
_TEMPLATE = _environment.from_string(_read("html"))

HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_CSS)}; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_of(found: Page | Closed) -> HTMLResponse:
    """Return what a link leads to, or why it leads nowhere."""
    if isinstance(found, Closed):
        return _response(None, "", CLOSED[found], _STATUS[found])
    if isinstance(found, SigningPage):
        heading = "Sign to break the glass" if found.ticket else "Sign with your passkey"
        return _response(found, "sign", heading, 200)
    return _response(found, "register", "Register a passkey", 200)


def status_of(closed: Closed) -> int:
    """Return the status with which a link that leads nowhere is answered."""
    return _STATUS[closed]


def _response(page: Page | None, act: str, heading: str, status: int) -> HTMLResponse:
    ours = {"css": Markup(_CSS), "script": Markup(_SCRIPT)}  # noqa: S704 - files of ours
    text = _TEMPLATE.render(page=page, act=act, heading=heading, remedy=REMEDY, **ours)
    return HTMLResponse(text, status, HEADERS)
