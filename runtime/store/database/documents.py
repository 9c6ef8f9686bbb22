"""Columns of JSON, read and written fast; by Python's own means what only those take, such as half a character."""

import json
from typing import Any

import orjson


def read(data: str | bytes) -> Any:
    """Return the value of a document."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


def written(value: Any) -> str:
    """Return a value, all of whose numbers are finite, as a document."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value)
