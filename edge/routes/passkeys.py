"""The routes of these pages. Who has the token of a link is whom it was made for: nothing else is asked of them."""

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse

from edge.body import parse, read_body
from edge.messages import Message
from edge.routes.passkey_pages import HEADERS, page_of, status_of
from edge.routes.passkey_words import CLOSED, NOT_REGISTERED, REGISTERED, SIGNED, refusal_words
from receipts.passkey_signatures import Base64Url
from runtime.model.passkeys import Assertion, Attestation
from runtime.model.votes import Refusal
from runtime.services.clicks import ClickOutcome
from runtime.services.passkeys_counter import PasskeyCounter
from runtime.services.passkeys_model import Closed
from runtime.services.signing_counter import PATH


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


def add_passkeys(app: FastAPI, counter: PasskeyCounter) -> None:
    """Add the pages, and where they send what comes of them."""

    @app.get(f"{PATH}{{token}}")
    async def show(token: str) -> HTMLResponse:
        return page_of(await counter.open(token))

    @app.post(f"{PATH}{{token}}/signature")
    async def sign(token: str, request: Request) -> JSONResponse:
        sent = parse(SignatureIn, await read_body(request))
        return _answer(await counter.sign(token, Assertion(**sent.model_dump(), nonce="")))

    @app.post(f"{PATH}{{token}}/passkey")
    async def register(token: str, request: Request) -> JSONResponse:
        sent = parse(PasskeyIn, await read_body(request))
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
