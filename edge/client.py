"""Calls the edge as a caller would: one signed request."""

import json
from typing import Any

import aiohttp
from yarl import URL

from edge.errors import EdgeError
from edge.signing import headers
from runtime.clock import utc_now

PATIENCE = aiohttp.ClientTimeout(total=30)


async def post(edge: str, path: str, body: Any, caller: str, secret: str) -> Any:
    """Send a signed POST and return the answer's JSON."""
    data = json.dumps(body).encode()
    return await _send(edge, "POST", path, data, caller, secret)


async def get(edge: str, path: str, caller: str, secret: str) -> Any:
    """Send a signed GET and return the answer's JSON."""
    return await _send(edge, "GET", path, b"", caller, secret)


async def _send(edge: str, method: str, path: str, data: bytes, caller: str, secret: str) -> Any:
    signed = headers(caller, secret, int(utc_now().timestamp()), method, path, data)
    url = URL(f"{edge.rstrip('/')}{path}", encoded=True)  # as it was signed
    try:
        async with (
            aiohttp.ClientSession(timeout=PATIENCE) as session,
            session.request(method, url, data=data or None, headers=signed) as response,
        ):
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise EdgeError(f"{edge}: {str(error) or type(error).__name__}") from error
    if not response.ok:
        detail = answer.get("detail") if isinstance(answer, dict) else None
        raise EdgeError(f"{edge} answered {response.status}: {detail or answer}")
    return answer
