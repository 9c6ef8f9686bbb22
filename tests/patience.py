"""How long a test waits for what must happen: long, because it ends as soon as it has happened."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable

MINUTE = 60.0
POLICY = 0.5
"""How long the product waits for policy, as fault tests have it."""
_LOOK = 0.05


async def until(holds: Callable[[], object], patience: float = MINUTE) -> None:
    """Look again and again until something holds, or what it waits for does, for a minute or as long as is said."""
    async with asyncio.timeout(patience):
        while not await _found(holds()):
            await asyncio.sleep(_LOOK)


async def _found(look: object) -> object:
    return await look if isawaitable(look) else look
