"""ServiceNow's Table API: the requests it takes, the form of its answers, and its error envelope."""

import base64
from collections.abc import Mapping
from typing import Annotated

from countersign_connector.http import Request, Service
from countersign_connector.models import Remote
from pydantic import Field

from runtime.handlers import Json

_PATH = "/api/now/table"
# reference fields then carry both the sys_id (value) and the name (display_value)
_BOTH = {"sysparm_display_value": "all"}

SysId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Value(Remote):
    """A field as `sysparm_display_value=all` gives it: the stored value, and what people read."""

    value: str
    display_value: str | None = None

    @property
    def name(self) -> str:
        """Return what people read, or the stored value where there is nothing else."""
        return self.value if self.display_value is None else self.display_value


def service(base: str, authorization: str, timeout: float) -> Service:
    """Describe the instance at `base`."""
    return Service("ServiceNow", base, {"Authorization": authorization}, timeout, _explain)


def basic(user: str, password: str) -> str:
    """Return the Authorization header of a user."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def read(table: str, sys_id: str, fields: tuple[str, ...]) -> Request:
    """Ask for one record."""
    return Request("GET", f"{_PATH}/{table}/{sys_id}", {**_BOTH, "sysparm_fields": ",".join(fields)})


def find(table: str, query: Mapping[str, str], fields: tuple[str, ...], limit: int) -> Request:
    """Ask for the records that meet every condition; a key is a field and its operator, such as `name=`.

    The values must be free of `^`, which would start another condition: the params that reach here see to it.
    """
    encoded = "^".join(f"{condition}{value}" for condition, value in query.items())
    limits = {"sysparm_query": encoded, "sysparm_fields": ",".join(fields), "sysparm_limit": str(limit)}
    return Request("GET", f"{_PATH}/{table}", {**_BOTH, **limits})


def create(table: str, values: Mapping[str, str], fields: tuple[str, ...]) -> Request:
    """Ask for a new record."""
    return Request("POST", f"{_PATH}/{table}", {**_BOTH, "sysparm_fields": ",".join(fields)}, dict(values))


def place(table: str, sys_id: str) -> str:
    """Return where one record is, to delete it."""
    return f"{_PATH}/{table}/{sys_id}"


def update(table: str, sys_id: str, values: Mapping[str, str], fields: tuple[str, ...]) -> Request:
    """Ask for a change of the given fields of one record."""
    query = {**_BOTH, "sysparm_fields": ",".join(fields)}
    return Request("PATCH", f"{_PATH}/{table}/{sys_id}", query, dict(values))


def _explain(body: Json) -> str:
    """Join message and detail of an error envelope."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ""
    return ": ".join(str(error[part]) for part in ("message", "detail") if error.get(part))
