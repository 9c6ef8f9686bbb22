"""Whether a process can do its work just now, for the probe: the details are for the log, not for whoever asks."""

import logging

import psycopg

from countersign.checks.probe import probe
from countersign.compose.system import System
from policy.model import PolicyUnavailableError
from runtime.desk import inspection
from runtime.model.json_limits import first_line

PATIENCE = 3.0

log = logging.getLogger(__name__)


async def not_ready(system: System) -> list[str]:
    """Return the names of the parts that are not in order."""
    engine = system.engine
    missing: dict[str, str] = {}
    try:
        async with engine.pool.connection(timeout=PATIENCE) as conn:
            if (await inspection.server(conn))["is_replica"]:
                missing["database"] = "a replica"
    except (psycopg.Error, OSError) as error:
        missing["database"] = first_line(error)
    try:
        await engine.policy.ask(probe(system.settings.tenant, engine.clock()))
    except PolicyUnavailableError as error:
        missing["policy"] = str(error)
    for part, why in missing.items():
        log.warning("not ready: %s: %s", part, why)
    return list(missing)
