"""The witness over HTTP: one route, whose answers are those of c2sp.org/tlog-witness."""

import logging

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from receipts.add_checkpoint import BODY_LIMIT, SIZE_TYPE
from witness.errors import OtherSizeError, RefusedError
from witness.witness import Witness

log = logging.getLogger(__name__)


def build_app(witness: Witness) -> Starlette:
    """Return the application of a witness."""

    async def add_checkpoint(request: Request) -> Response:
        """Answer one checkpoint; who hangs up meanwhile may find it cosigned."""
        try:
            body = await _read(request)
            return PlainTextResponse(await run_in_threadpool(witness.add_checkpoint, body))
        except OtherSizeError as error:
            return Response(f"{error.size}\n", error.status, headers={"Content-Type": SIZE_TYPE})
        except RefusedError as error:
            return PlainTextResponse(f"{error}\n", error.status)
        except OSError as error:
            log.error("not cosigned, the checkpoint could not be recorded: %s", error)  # noqa: TRY400 - no fault of code
            return PlainTextResponse("the checkpoint could not be recorded\n", 503)

    return Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])


async def _read(request: Request) -> bytes:
    """Return the body; stop at the limit, whatever length was announced."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > BODY_LIMIT:
                raise RefusedError(413, f"a body may have {BODY_LIMIT} bytes")
    except ClientDisconnect as error:
        raise RefusedError(400, "the body ended early") from error
    return bytes(body)
