"""The stand-ins of packs: a child for each demo, told where the program's settings point to."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from countersign.embedded.children import Supervisor, python_child
from countersign.embedded.ports import free_port
from runtime.handlers import Demo


@asynccontextmanager
async def standins(supervisor: Supervisor, offered: Mapping[str, Demo], logs: Path) -> AsyncIterator[dict[str, str]]:
    """Run the stand-ins of these demos while the block lasts; give the base URL of each pack's."""
    urls = {name: f"http://127.0.0.1:{free_port()}" for name in offered}
    async with AsyncExitStack() as stack:
        children = [
            python_child(
                f"standins-{name}",
                ["-m", demo.standins, "--port", urls[name].rpartition(":")[2]],
                {},
                logs,
                f"{urls[name]}/__standin/actions",
            )
            for name, demo in offered.items()
        ]
        for child in children:
            await stack.enter_async_context(supervisor.running(child))
        for child in children:
            await supervisor.until_answers(child)
        yield urls


async def actions(url: str, operation: str) -> int:
    """Return how often an operation was done, counted at the other side."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/__standin/actions") as response:
        done = (await response.json())["actions"]
    return sum(action["operation"] == operation for action in done)
