"""`refused.csv`: each record of attempts that were refused outside any run, as the leaf of the tenant's chain says it.

It has the requests of callers, commands in Slack and delegations. No bundle tells of them: the log's entries do.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from evidence.export.index import REFUSED, rows_of, written
from evidence.verify.contents import BrokenError
from receipts import canonical
from receipts.acts import REFUSED_ACTS
from receipts.chain import Leaf

REFUSED_COLUMNS = ("at", "actor", "event", "count", "data", "leaf")

Row = Mapping[str, str]


def refused_row(at: str, actor: str, event: str, data: Mapping[str, Any], seq: int) -> dict[str, Any]:
    """Return the line of a leaf: `count` attempts, `data` as the canonical JSON of what the leaf says of them."""
    told = canonical.dumps(dict(data)).decode()
    return {"at": at, "actor": actor, "event": event, "count": data.get("count", 1), "data": told, "leaf": seq}


def read_refused(data: bytes) -> list[dict[str, str]]:
    """Return the lines of `refused.csv`; raise BrokenError where it is not a table of such records in their order."""
    try:
        rows = rows_of(REFUSED_COLUMNS, data)
        for row in rows:
            _check_form(row)
    except (ValueError, KeyError, canonical.CanonicalError) as error:
        raise BrokenError(REFUSED, _said(error)) from error
    if any(int(one["leaf"]) >= int(other["leaf"]) for one, other in pairwise(rows)):
        raise BrokenError(REFUSED, "its lines are out of order, or one stands twice")
    return rows


def _check_form(row: Row) -> None:
    """Raise one of the errors of `read_refused` unless a line has a leaf's number, and what its data say."""
    data = canonical.loads(row["data"].encode())
    REFUSED_ACTS[row["event"]].model_validate(data)
    if row["count"] != str(data.get("count", 1)) or row["leaf"] != str(int(row["leaf"])):
        raise ValueError(f"leaf {row['leaf']} has another count than its data")


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"has a line of {error}, which tells of no refused attempt"
    if isinstance(error, ValidationError):
        return f"has a line whose data are not in their form: {error.errors()[0]['msg']}"
    return str(error)


def check_refused(rows: Sequence[Row], leaves: Sequence[Leaf], demanded: Iterable[Leaf]) -> int:
    """Return how many lines there are; raise BrokenError unless each is as its leaf tells, and the demanded are there.

    `leaves` are all that the log has of refused attempts of this tenant.
    """
    told = {str(one.seq): written(refused_row(one.at, one.actor.id, one.event, one.data, one.seq)) for one in leaves}
    for row in rows:
        cells = told.get(row["leaf"])
        if cells is None:
            raise BrokenError(REFUSED, f"the log has no refused attempt as leaf {row['leaf']} of the tenant's chain")
        if other := [name for name in REFUSED_COLUMNS if row[name] != cells[name]]:
            raise BrokenError(REFUSED, f"leaf {row['leaf']}: the log tells another {other[0]}")
    listed = {row["leaf"] for row in rows}
    for leaf in demanded:
        if str(leaf.seq) not in listed:
            raise BrokenError(
                REFUSED, f"the log has a {leaf.event} of {leaf.actor.id} at {leaf.at}, and there is no line"
            )
    return len(rows)
