"""What the rules of routing see of a request."""

from collections.abc import Mapping, Sequence
from typing import Any

from receipts.redaction import redact
from runtime.definitions.model import Definition, Verb
from runtime.model.action import Tier
from runtime.model.routing_rules import Subject


def subject_of(
    run: Mapping[str, Any],
    definition: Definition,
    verb: Verb | None,
    groups: Sequence[str],
    tier: Tier,
    params: Mapping[str, Any],
) -> Subject:
    """Return a request of the run as it is routed, by its row; `params` are in their public form."""
    return Subject(
        groups=tuple(groups),
        tier=str(tier),
        verb=verb.name if verb else "",
        connector=verb.handler.partition("::")[0] if verb else "",
        runbook=definition.name,
        params=params,
        trigger=redact(run["trigger"]).value,
    )
