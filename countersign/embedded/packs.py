"""What the listed packs offer to embedded mode: demos, and a child with the stand-ins of each.

Demos are found by entry point: nothing here knows a pack by name.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import aiohttp

from countersign.embedded.children import Supervisor, python_child
from countersign.embedded.ports import free_port
from countersign.foreseen_errors import CountersignError
from countersign.settings import Settings
from runtime.handlers import DEMO_GROUP, Caller, Demo, Example


class PackError(CountersignError):
    """A pack's demo cannot be used, or there is none by that name."""


def demos(settings: Settings) -> dict[str, Demo]:
    """Return the demos of the listed packs, by pack; the listed order is kept."""
    offered = {point.name: point for point in entry_points(group=DEMO_GROUP)}
    names = [folder.name for folder in settings.packs if folder.name in offered]
    return {name: _loaded(name, offered[name].load()) for name in names}


def _loaded(name: str, offered: Any) -> Demo:
    if not isinstance(offered, Demo):
        raise PackError(f"the demo of pack {name} is not a Demo but a {type(offered).__name__}")
    return offered


def example_of(offered: Mapping[str, Demo], pack: str, name: str | None) -> Example:
    """Return a pack's example by name, or its first one; raise PackError that lists what there is."""
    examples = offered[pack].examples if pack in offered else ()
    found = next((one for one in examples if name in (None, one.name)), None)
    if found is None:
        there = "\n".join(
            f"  {pack} {one.name}: {one.title}" for pack, demo in offered.items() for one in demo.examples
        )
        raise PackError(f"there is no case {' '.join(filter(None, (pack, name)))}; there are:\n{there or '  none'}")
    return found


def callers(offered: Iterable[Demo]) -> Iterator[dict[str, Any]]:
    """Yield the demos' callers as agents of a directory file, those of one id made one."""
    agents: dict[str, dict[str, Any]] = {}
    for caller in (caller for demo in offered for caller in demo.callers):
        agents[caller.id] = _agent(caller, agents.get(caller.id, {}))
    yield from agents.values()


def _agent(caller: Caller, before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": caller.id,
        "name": caller.name,
        "triggers": [*before.get("triggers", ()), *caller.triggers],
        "on_behalf": caller.on_behalf or before.get("on_behalf", False),
        "completes": [*before.get("completes", ()), *caller.completes],
        "signals": [*before.get("signals", ()), *caller.signals],
    }


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
