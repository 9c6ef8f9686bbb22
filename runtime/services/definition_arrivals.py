"""What a start does with the definitions that it brings: they are stored, and known as drafts; some come active."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from receipts.chain import PROGRAM
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.model import Definition
from runtime.model.life import Activation, Life, starts_by_itself
from runtime.services.definition_moves import Mover, TriggerTakenError
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_definitions
from runtime.store.lives import add_drafts, lives_of_names, lock_lives

log = logging.getLogger(__name__)


async def keep_own(conn: Conn, tenant: str, definitions: Collection[Definition], now: datetime) -> None:
    """Store the program's own definitions: they may always run, and have no life. Raise DefinitionChangedError."""
    await keep_definitions(conn, tenant, definitions, now)


async def take_in(conn: Conn, tenant: str, catalog: Catalog, rule: Activation, now: datetime) -> list[str]:
    """Store what the packs declare, and let come active what the rule says; return what it is called.

    Safe to do again, and by many processes at once: what was moved since stays where it is. Nothing comes active under
    a name that has a problem. Raise DefinitionChangedError.
    """
    definitions = list(catalog.definitions.values())
    await keep_definitions(conn, tenant, definitions, now)
    async with conn.transaction():
        await lock_lives(conn, tenant)
        arrived = await add_drafts(conn, tenant, definitions, now)
        mover = Mover(conn, tenant, PROGRAM, None, now)
        names = sorted({definition.name for definition in definitions})
        newest = [one for one in map(catalog.latest, names) if one]
        known = await lives_of_names(conn, tenant, [one.name for one in newest])
        began = [await _begin(mover, one, rule, arrived, known[one.name]) for one in newest]
        return [str(life) for life in began if life]


async def _begin(
    mover: Mover, newest: Definition, rule: Activation, arrived: Collection[tuple[str, int]], known: Sequence[Life]
) -> Life | None:
    """Let the newest version in the files come active where the rule says so, and return it then.

    `known` are all versions of its name: those of other names move none of them.
    """
    new = {version for name, version in arrived if name == newest.name}
    life = next(one for one in known if one.version == newest.version)
    if not starts_by_itself(rule, life.version, known, new):
        if life.version in new:
            log.info("%s is a draft: nothing starts with it until somebody activates it", life)
        return None
    try:
        await mover.activate(life, beside=False)
    except TriggerTakenError as error:
        log.warning("%s stays a draft: %s", life, error)
        return None
    return life
