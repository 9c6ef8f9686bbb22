"""Pages of the console among a million runs and ten thousand open requests: how soon each comes to four people.

One run is taken to its end and one waits for people; the others are copies of their rows, spread over three years. The
machine's limit is the stylesheet: the same server, connections and clients, and no database.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import aiohttp

from benchmarks import slack
from benchmarks.governed_steps import ended
from benchmarks.measures import Party, less, percentile
from benchmarks.parked_runs import template_of
from benchmarks.plant import BenchError, Plant, plant
from benchmarks.stage import Stage, say

CLIENTS, LOOKS = 4, 50
"""How many look at once, and how often each of them looks at a page."""
YEARS = 3
_ORIGIN = "http://localhost"
_GROUPS = '{"officer": ["compliance"], "auditor": ["compliance"]}'
_RUN = "SELECT run_id FROM approvals WHERE status = %s"
# Their bundles are stored, as those of runs that ended long ago are.
_STORED = """
    INSERT INTO evidence_bundles (run_id, sealed_seq, sha256, size, location, created_at, next_try_at, stored_at, tries,
                                  status, key_id)
    SELECT run_id, audit_seq, md5(run_id) || md5(run_id), 450000, 'file:///evidence/' || run_id || '.zip', finished_at,
           finished_at, finished_at, 1, 'stored', 'bench' FROM runs WHERE finished_at IS NOT NULL
"""
_MIDDLE = "SELECT run_id, created_at FROM runs WHERE trigger_ref = %s"


@dataclass(frozen=True)
class Desk:
    """A console that is served, and browsers that have signed in to it."""

    url: str
    browsers: list[aiohttp.ClientSession]

    async def times(self, path: str) -> list[float]:
        """Have everybody look at a page again and again, at once; return the seconds of each look."""
        await asyncio.gather(*(self._look(browser, path) for browser in self.browsers))  # what is done once is done
        found = await asyncio.gather(*(self._looks(browser, path) for browser in self.browsers))
        return [one for times in found for one in times]

    async def _looks(self, browser: aiohttp.ClientSession, path: str) -> list[float]:
        return [await self._look(browser, path) for _ in range(LOOKS)]

    async def _look(self, browser: aiohttp.ClientSession, path: str) -> float:
        began = time.perf_counter()
        async with browser.get(f"{self.url}/console{path}") as answer:
            text = await answer.text()
            if answer.status != 200:  # noqa: PLR2004
                raise BenchError(f"the console answered {path} with {answer.status}: {text[-500:]}")
            return time.perf_counter() - began


@asynccontextmanager
async def opened(one: Plant) -> AsyncIterator[Desk]:
    """Serve the console, and sign in by its link: one session, in as many browsers as there are clients."""
    link = secrets.token_urlsafe(24)
    one.env |= {
        "COUNTERSIGN_CONSOLE_LINK": link,
        "COUNTERSIGN_CONSOLE_GROUPS": _GROUPS,
        "COUNTERSIGN_PUBLIC_URL": _ORIGIN,
    }
    async with one.serve("console") as process, aiohttp.ClientSession() as http:
        form, said = {"person": "anna"}, {"Origin": _ORIGIN}
        enter = f"{process.url}/console/enter/{link}"
        async with http.post(enter, data=form, headers=said, allow_redirects=False) as answer:
            cookies = {name: one.value for name, one in answer.cookies.items()}
        browsers = [aiohttp.ClientSession(cookies=cookies) for _ in range(CLIENTS)]
        try:
            yield Desk(process.url, browsers)
        finally:
            await asyncio.gather(*(browser.close() for browser in browsers))


async def fill(one: Plant, runs: int, open_requests: int) -> None:
    """Have so many runs that have ended, spread over years, and so many whose requests are open."""
    await slack.ask(one, 1)
    run = str(one.database.value(_RUN, ["requested"]))
    async with slack.opened(one, "worker", "sweeps") as desk:
        await desk.clicks(1)
        await ended(one.database, [run])
    apart = YEARS * 365 * 86_400 / runs
    replace(template_of(one.database, run), apart=apart).copy(one.database, 1, runs)
    one.database.run(f"SET session_replication_role = replica; {_STORED}")
    await slack.ask(one, 1)
    waiting = template_of(one.database, str(one.database.value(_RUN, ["requested"])))
    waiting.copy(one.database, runs + 1, runs + open_requests - 1)


def pages(one: Plant, runs: int) -> Mapping[str, tuple[str, str]]:
    """Return the pages by their names: what they are, and their paths."""
    (middle,) = one.database.rows(_MIDDLE, [f"parked-{runs // 2}"])
    day = f"{middle['created_at']:%Y-%m-%d}"
    month = f"{middle['created_at'].replace(day=1):%Y-%m-%d}"
    until = f"{middle['created_at'].replace(day=28):%Y-%m-%d}"
    return {
        "attention": ("what needs attention", "/"),
        "runs": ("the newest runs", "/runs"),
        "runs_person": (
            "runs of a person, by outcome, until a day",
            f"/runs?person=anna&outcome=succeeded&until={day}",
        ),
        "runs_text": ("runs by a reference that one run has", f"/runs?text=parked-{runs // 2}"),
        "run": ("a run in full", f"/runs/{middle['run_id']}"),
        "figures": ("figures of four weeks", f"/figures?since={month}&until={until}"),
    }


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    runs, requests = stage.options.console_runs, stage.options.console_requests
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        say(f"  loading {runs:,} runs and {requests:,} open requests")
        await fill(one, runs, requests)
        async with opened(one) as desk:
            limit = await desk.times("/console.css")
            for name, (title, path) in pages(one, runs).items():
                _put(stage, f"console_{name}", f"console, {title}, among {runs:,} runs", await desk.times(path), limit)


def _put(stage: Stage, name: str, title: str, ours: list[float], limit: list[float]) -> None:
    for share in (0.5, 0.99):
        measure = less(f"{name}_p{share * 100:.0f}_ms", f"{title}, p{share * 100:.0f}", "ms")
        stage.put(measure, Party.OURS, 1000 * percentile(ours, share))
        stage.put(measure, Party.LIMIT, 1000 * percentile(limit, share))
