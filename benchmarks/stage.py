"""What a whole run shares: the servers, the peers, the figures, and how much is measured.

Sizes are those of docs/performance.md, or small ones that show whether everything works.
"""

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks import peers, plant, postgres
from benchmarks.dbos import Peer, PeerError
from benchmarks.measures import Figures, Measure, Party, shown
from benchmarks.postgres import Server
from benchmarks.restate import Restate, running
from countersign.embedded.opa import OpaChild
from countersign.embedded.ports import free_port
from countersign.embedded.work import SetUpError

PARKED = (1_000, 100_000, 1_000_000)
QUICK_PARKED = (1_000, 10_000)


@dataclass(frozen=True)
class Options:
    """Sizes of one run. `seconds` is how long each rate is measured for, `lease` how long a killed worker's lasts.

    `all_in` is how many runs are triggered, worked off and sealed, `cards` how many cards are posted and clicked,
    `backtest` of how many runs decisions are asked again,
    `console_runs` and `console_requests` among what pages are read.
    """

    seconds: float
    parked: tuple[int, ...]
    resumes: int
    bulk: int
    due: int
    sequential: int
    clicks: int
    pestered: float
    peer_parked: int
    lease: float
    iterations: int
    all_in: int
    cards: int
    backtest: int
    console_runs: int
    console_requests: int
    only: frozenset[str] = field(default_factory=frozenset)

    def wants(self, part: str) -> bool:
        """Return whether a part of the benchmark is to run."""
        return not self.only or part in self.only


QUICK = Options(
    2.0,
    QUICK_PARKED,
    resumes=30,
    bulk=100,
    due=5_000,
    sequential=10,
    clicks=50,
    pestered=10.0,
    peer_parked=500,
    lease=5.0,
    iterations=500,
    all_in=60,
    cards=5,
    backtest=60,
    console_runs=20_000,
    console_requests=1_000,
)
WHOLE = Options(
    5.0,
    PARKED,
    resumes=150,
    bulk=1_000,
    due=100_000,
    sequential=30,
    clicks=400,
    pestered=60.0,
    peer_parked=10_000,
    lease=30.0,
    iterations=10_000,
    all_in=600,
    cards=30,
    backtest=1_000,
    console_runs=1_000_000,
    console_requests=10_000,
)
PARTS = (
    "steps",
    "all_in",
    "intake",
    "latency",
    "parked",
    "slack",
    "clicks",
    "home",
    "killed",
    "repeat",
    "cli",
    "backtest",
    "shadow",
    "console",
)


def parse(arguments: Sequence[str]) -> Options:
    """Return the options of a command line."""
    parser = ArgumentParser(prog="make bench", description="Measure ours beside peers, in one run.")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look at whether all of it works")
    parser.add_argument("--parked", type=int, nargs="+", metavar="RUNS", help="how many runs are parked, ascending")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[], help="measure these parts alone")
    given = parser.parse_args(arguments)
    base = QUICK if given.quick else WHOLE
    parked = tuple(sorted(given.parked)) if given.parked else base.parked
    return Options(**{**vars(base), "parked": parked, "only": frozenset(given.only)})


_numbers = count(1)


@dataclass(frozen=True)
class Stage:
    """The parts of one run."""

    folder: Path
    options: Options
    figures: Figures
    server: Server
    opa: OpaChild
    instant: str
    dbos: Peer
    restate_server: Path | None

    @asynccontextmanager
    async def restate(self) -> AsyncIterator[Restate | None]:
        """Run Restate as long as it is measured and no longer; give None where it is not in this run."""
        if self.restate_server is None:
            yield None
            return
        async with running(self.restate_server, self.dbos.python, self.folder) as restate:
            yield restate

    @contextmanager
    def without(self, peer: str) -> Iterator[None]:
        """Go on without a peer's figures where the peer does not do its part, and say so."""
        try:
            yield
        except (PeerError, aiohttp.ClientError, TimeoutError, OSError) as error:
            self.figures.remarks.append(f"{peer} did not do all of its part: {str(error) or type(error).__name__}")
            say(f"  {self.figures.remarks[-1]}")

    def put(self, measure: Measure, party: Party, value: float) -> None:
        """Keep a figure and show it."""
        self.figures.put(measure, party, value)
        say(f"  {party:7} {shown(value):>9} {measure.unit:10} {measure.title}")


def fresh(name: str) -> str:
    """Return a name that no run of a peer has yet."""
    return f"{name}-{next(_numbers)}"


def say(line: str) -> None:
    """Show how far the run is."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@asynccontextmanager
async def opened(options: Options) -> AsyncIterator[Stage]:
    """Set up all that a run needs, and take it down."""
    python = await asyncio.to_thread(peers.python)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="countersign-bench-")))
        folder.chmod(0o755)  # PostgreSQL may run as a user of its own
        server = stack.enter_context(postgres.running(folder / "data"))
        plant.prepare(server)
        opa = await stack.enter_async_context(plant.policies(folder / "opa"))
        instant = await stack.enter_async_context(_instant(opa.url))
        dbos = Peer(python, folder / "dbos.log", server)
        figures = Figures()
        restate = await asyncio.to_thread(_restate_server, figures)
        yield Stage(folder, options, figures, server, opa, instant, dbos, restate)


def _restate_server(figures: Figures) -> Path | None:
    """Return Restate's server, or say why it is not beside us."""
    try:
        return peers.restate_server()
    except (SetUpError, OSError) as error:
        figures.remarks.append(f"Restate is not in this run: {error}")
        return None


@asynccontextmanager
async def _instant(opa: str) -> AsyncIterator[str]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.instant", str(port), opa)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
