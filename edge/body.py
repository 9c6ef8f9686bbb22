"""Reads what callers send: within limits, as strict JSON that our own records can hold."""

import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from edge.problems import Problem
from policy.text import strict_json
from receipts import canonical

BODY_LIMIT = 256 * 1024

M = TypeVar("M", bound=BaseModel)

# PostgreSQL cannot store the first; none of the others is text. Tabs and line breaks are.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


async def read_body(request: Request) -> bytes:
    """Return the raw body; stop at the limit, whatever length was announced, and before it where that is too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > BODY_LIMIT:
        raise _too_large()
    data, more = bytearray(), True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Problem(400, "the body ended early")
        data += message.get("body", b"")
        if len(data) > BODY_LIMIT:
            raise _too_large()
        more = message.get("more_body", False)
        del message  # while we wait for more, its bytes are held once
    return bytes(data)


def _too_large() -> Problem:
    return Problem(413, f"a body may have {BODY_LIMIT} bytes")


def parse(model: type[M], body: bytes) -> M:
    """Return the message in a body, or raise Problem naming every fault.

    1. It is JSON in UTF-8, with no member twice.
    2. It is not too deep, and its texts and numbers have a canonical form.
    3. Its texts hold no control characters.
    4. It has the members of the message, and no others.
    """
    try:
        value = strict_json(body.decode())  # 1
        canonical.check(value)  # 2
        _refuse_controls(value, "")  # 3
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"not JSON: {error}") from error
    except canonical.CanonicalError as error:
        raise Problem(422, str(error)) from error
    try:
        return model.model_validate(value)  # 4
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors())
        raise Problem(422, "; ".join(faults)) from error


def _refuse_controls(value: Any, path: str) -> None:
    if isinstance(value, str) and (found := _CONTROL.search(value)):
        raise Problem(422, f"{path or '(root)'}: holds the control character U+{ord(found[0]):04X}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_controls(item, f"{path}/{index}")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_controls(key, path)
            _refuse_controls(item, canonical.pointer(path, key))
