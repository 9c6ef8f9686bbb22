"""`costs.json`: what the run used and cost, as its read records and receipts tell. It follows from them alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from receipts import canonical
from receipts.costs import rollup, usages_of


def costs_member(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the member; an empty list where nobody told of any usage."""
    return canonical.dumps([costs.model_dump() for costs in rollup(usages_of(records))])
