"""Which pages each role opens, and whether those are all that the application has."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from fastapi.routing import APIRoute

from console.app import build_console
from console.pages import ROOT
from console.provider import Provider
from console.sign_in import SignIn
from runtime.model.console import ConsoleRole
from runtime.services.console_acts import OF_MANY, ActName
from tests.gallery.camera import Eye
from tests.gallery.house import Trouble

DOOR = frozenset({"/enter/{link}", "/sign-in", "/callback"})
"""Routes by which people come in: opened once, by nobody with a role yet."""


@dataclass(frozen=True)
class Shown:
    """What pages are about: runs by what became of them, a request of each of the first two, a list, and troubles."""

    done: str
    open: str
    canceled: str
    decided: str
    asked: str
    list_id: str
    trouble: Trouble


def routes() -> list[APIRoute]:
    """Return the application's routes that answer GET."""
    nothing: Any = SimpleNamespace(engine=None, tenant="")
    door = SignIn(nothing, "http://localhost", link="x", provider=Provider("http://localhost", "x", "x", ""))
    desks: Any = SimpleNamespace(pages=nothing, requests=nothing, acts=nothing, holds=nothing, archive=None)
    return [one for one in _flat(build_console(door, desks).routes) if "GET" in (one.methods or ())]


def _flat(found: Sequence[object]) -> Iterator[APIRoute]:
    """Yield the routes, those of included routers in their place."""
    for one in found:
        if isinstance(one, APIRoute):
            yield one
        else:
            yield from _flat(one.original_router.routes if hasattr(one, "original_router") else ())


def missing(opened: Collection[str], *, door: bool) -> list[str]:
    """Return the routes of which no page was opened: those of the door, or all others."""
    known = routes()
    seen = {_leads_to(known, path.removeprefix(ROOT)) for path in opened}
    return [one.path for one in known if (one.path in DOOR) is door and one.path not in seen]


def _leads_to(known: Sequence[APIRoute], path: str) -> str | None:
    """Return the route that answers a path, as the application looks for it: the first that fits."""
    return next((one.path for one in known if one.path_regex.match(path)), None)


async def open_all(eye: Eye, role: ConsoleRole, shown: Shown) -> None:
    """Open every page of the console as somebody who has this role alone."""
    await _open_lists(eye, shown)
    await _open_runs(eye, shown)
    for name, path in (("figures", "/figures"), ("rules", "/rules"), ("people", "/people"), ("holds", "/holds")):
        await eye.go(path, name)
    await eye.go("/verify", "verify")
    await eye.go("/figures?since=2020-01-01&until=2020-01-31", "figures-none")
    await eye.go("/figures?since=2026-03-01&until=2026-01-01", "figures-wrong", 422)
    await eye.go("/nowhere", "no-page", 404)
    for path in ("/figures.csv", "/figures/weeks.csv", "/console.css"):
        await eye.fetch(path)
    if role is ConsoleRole.OPERATOR:
        await _open_acts(eye, shown)
    else:
        await eye.go(f"/acts/cancel?subject={shown.open}", "act-refused", 403)
        await eye.go(f"/acts/cancel/many?subject={shown.open}", "acts-refused", 403)


async def _open_lists(eye: Eye, shown: Shown) -> None:
    await eye.go("/", "attention")
    await eye.go("/runs", "runs")
    await eye.go("/runs?person=rita&evidence=sealed", "runs-filtered")
    await eye.go("/runs?text=nothing-like-that", "runs-none")
    await eye.go("/runs?colour=red", "runs-wrong", 422)
    await eye.go("/lists", "lists")
    await eye.go(f"/lists/{shown.list_id}", "list")
    await eye.fetch(f"/lists/{shown.list_id}/ids")


async def _open_runs(eye: Eye, shown: Shown) -> None:
    runs = {"done": shown.done, "open": shown.open, "canceled": shown.canceled, "troubled": shown.trouble.run}
    for name, run_id in runs.items():
        await eye.go(f"/runs/{run_id}", f"run-{name}")
    await eye.go(f"/runs/{shown.done}/trail", "trail")
    await eye.go(f"/runs/{shown.done}/cards/{shown.decided}", "cards")
    await eye.go(f"/requests/{shown.decided}", "request-decided")
    await eye.go(f"/requests/{shown.asked}", "request-open")
    await eye.go("/runs/run_0", "no-run", 404)


async def _open_acts(eye: Eye, shown: Shown) -> None:
    trouble = shown.trouble
    subjects = {ActName.RETRY: f"subject={trouble.effect}", ActName.UNDO: f"subject={shown.done}"}
    subjects |= dict.fromkeys((ActName.REQUEUE, ActName.DROP), f"subject={trouble.letter}")
    step = f"subject={trouble.run}&step={trouble.step}"
    subjects |= dict.fromkeys((ActName.RETRY_STEP, ActName.SUPPLY, ActName.SKIP, ActName.END), step)
    for name in ActName:
        await eye.go(f"/acts/{name}?{subjects.get(name, f'subject={shown.open}')}", f"act-{name}")
    for name in sorted(OF_MANY):
        await eye.go(f"/acts/{name}/many?{subjects.get(name, f'subject={shown.open}')}&subject=run_0", f"acts-{name}")
    await eye.go(f"/acts/cancel?subject={shown.canceled}", "act-late")
