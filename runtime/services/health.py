"""What doctor, readiness and the command line may look at, over one connection. Nothing of it stays."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.approvals.electorate import able
from runtime.approvals.rules import shortfall
from runtime.model.requirement import Requirement
from runtime.model.run import FoundStep
from runtime.services.audit import Audit, audit
from runtime.store.bundles import list_open as open_bundles
from runtime.store.bundles import list_unretained as unretained_bundles
from runtime.store.checkpoints import LogStanding, log_standing, newest_checkpoint
from runtime.store.database.health import (
    DirectoryRights,
    directory_rights,
    is_group_reachable,
    measure_round_trip,
    server_state,
    try_write,
)
from runtime.store.database.pool import Conn
from runtime.store.directory import actor
from runtime.store.directory import edition_of as directory_edition
from runtime.store.electorate import electorate_of
from runtime.store.legal_holds import list_untold as untold_holds
from runtime.store.runs import run_summary
from runtime.store.step_repairs import BlockedEffects, list_blocked_effects, list_steps_needing_attention
from runtime.store.usergroups import Heard, usergroup_state

__all__ = [
    "Audit",
    "BlockedEffects",
    "DirectoryRights",
    "FoundStep",
    "Heard",
    "LogStanding",
    "actor",
    "audit",
    "directory_edition",
    "directory_rights",
    "is_group_reachable",
    "list_blocked_effects",
    "list_steps_needing_attention",
    "log_standing",
    "measure_round_trip",
    "newest_checkpoint",
    "open_bundles",
    "run_summary",
    "server_state",
    "try_write",
    "unretained_bundles",
    "untold_holds",
    "usergroup_state",
]


async def shortfalls(
    conn: Conn, tenant: str, requirements: Mapping[str, Mapping[str, Any]], now: datetime
) -> dict[str, str]:
    """Return for each requirement that the directory's people cannot fulfil, whoever asks, why that is so."""
    found: dict[str, str] = {}
    for name, document in requirements.items():
        requirement = Requirement.of(document)
        asked = (*requirement.groups, *requirement.leads)
        people = able(await electorate_of(conn, tenant, asked, now), set(asked), frozenset(requirement.exclude))
        if why := shortfall(requirement, people, frozenset()):
            found[name] = why
    return found
