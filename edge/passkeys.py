"""Passkey pages: where people sign a vote or register a passkey; the routes, the pages and their words.

Who has the token of a link is the person it was made for: nothing else is asked of them. The pages come from one
template, run one script and load nothing, and nobody frames them. They say why a link leads nowhere, and why a
signature does not count.
"""

import base64
import hashlib
from importlib.resources import files

from fastapi import FastAPI, Request
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, JSONResponse

from edge.messages import Message, parse_body, read_body
from evidence.filters import capital, data, form, left_out, some
from receipts.passkey_records import Base64Url
from runtime.model.passkey import Assertion, Attestation
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.clicks import ClickOutcome
from runtime.services.passkey_ceremonies import Closed, Page, PasskeyCeremonies, SigningPage
from runtime.services.signing_links import PATH

CLOSED = {
    Closed.UNKNOWN: "There is no such page",
    Closed.USED: "This page was used before",
    Closed.EXPIRED: "The time for this page has run out",
}
REMEDY = (
    "A link is for one person and for one time. If you were about to sign, start again from the card or the console."
    " If you were about to register a passkey, ask the person who invited you for another link."
)
SIGNED = "Signed. Your approval counts, and the request says so. You can close this page."
REGISTERED = "Your passkey is registered. You can close this page."
NOT_REGISTERED = "Your passkey is not registered: {}."

_REFUSED = {
    RefusalCode.STALE: "The request has changed since you opened this page. Look at its card as it is now.",
    RefusalCode.CLOSED: "This request is already closed. Your signature changes nothing.",
    RefusalCode.EXPIRED: "This request has expired. Nothing has changed.",
    RefusalCode.REQUESTER: "You requested this yourself, so someone else has to decide it.",
    RefusalCode.EXCLUDED: "Policy excludes you from deciding this request.",
    RefusalCode.NOT_IN_GROUP: "This request is for members of other groups than yours.",
    RefusalCode.REPEATED: "You have voted on this request already. Your first vote stands.",
    RefusalCode.NO_BREAK_GLASS: "Policy allows no break-glass here. Nothing has changed.",
    RefusalCode.BREAK_GLASS_SPENT: "You have no emergency overrides left. Nothing has changed.",
    RefusalCode.REASON_MISSING: "A reason is needed. Start again from the card.",
    RefusalCode.PASSKEY_UNKNOWN: "This passkey is not registered for you. Use another, or ask an operator.",
    RefusalCode.PASSKEY_REVOKED: "This passkey was revoked. Use another, or ask an operator.",
    RefusalCode.PASSKEY_WRONG: "The signature is not over this request as it is. Start again from the card.",
    RefusalCode.FAILING: "This could not be counted just now, and is tried again. The card says when it is.",
}


def refusal_words(refusal: Refusal) -> str:
    """Return what the person is told; what is rare has its code, for whoever is asked about it."""
    return _REFUSED.get(refusal.code, f"This does not count ({refusal.code}). Nothing has changed.")


_STATUS = {Closed.UNKNOWN: 404, Closed.USED: 410, Closed.EXPIRED: 410}


def _read(name: str) -> str:
    return files("edge").joinpath(f"passkey_page.{name}").read_text(encoding="utf-8")


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
        heading = "Sign to use break-glass" if found.ticket else "Sign with your passkey"
        return _response(found, "sign", heading, 200)
    return _response(found, "register", "Register a passkey", 200)


def status_of(closed: Closed) -> int:
    """Return the status with which a link that leads nowhere is answered."""
    return _STATUS[closed]


def _response(page: Page | None, act: str, heading: str, status: int) -> HTMLResponse:
    ours = {"css": Markup(_CSS), "script": Markup(_SCRIPT)}  # noqa: S704 - files of ours
    text = _TEMPLATE.render(page=page, act=act, heading=heading, remedy=REMEDY, **ours)
    return HTMLResponse(text, status, HEADERS)


class SignatureIn(Message):
    """What the browser's authenticator has signed; bytes in base64url."""

    credential_id: Base64Url
    authenticator_data: Base64Url
    client_data: Base64Url
    signature: Base64Url


class PasskeyIn(Message):
    """What it says of the passkey that it has made."""

    credential_id: Base64Url
    attestation_object: Base64Url
    client_data: Base64Url


def add_passkeys(app: FastAPI, counter: PasskeyCeremonies) -> None:
    """Add the pages, and where they send what comes of them."""

    @app.get(f"{PATH}{{token}}")
    async def show(token: str) -> HTMLResponse:
        return page_of(await counter.open(token))

    @app.post(f"{PATH}{{token}}/signature")
    async def sign(token: str, request: Request) -> JSONResponse:
        sent = parse_body(SignatureIn, await read_body(request))
        return _answer(await counter.sign(token, Assertion(**sent.model_dump(), nonce="")))

    @app.post(f"{PATH}{{token}}/passkey")
    async def register(token: str, request: Request) -> JSONResponse:
        sent = parse_body(PasskeyIn, await read_body(request))
        return _answer(await counter.register(token, Attestation(**sent.model_dump(), nonce="")))


def _answer(found: ClickOutcome | str | Closed) -> JSONResponse:
    """Return what became of it: `done`, and one sentence (`detail`) for the person."""
    match found:
        case Closed():
            return _not_done(CLOSED[found], status_of(found))
        case str():
            return _not_done(NOT_REGISTERED.format(found), 422) if found else _done(REGISTERED)
        case ClickOutcome(refusal=Refusal() as refusal):
            return _not_done(refusal_words(refusal), 422)
        case ClickOutcome():
            return _done(SIGNED)


def _done(detail: str) -> JSONResponse:
    return JSONResponse({"done": True, "detail": detail}, 200, HEADERS)


def _not_done(detail: str, status: int) -> JSONResponse:
    return JSONResponse({"done": False, "detail": detail}, status, HEADERS)
