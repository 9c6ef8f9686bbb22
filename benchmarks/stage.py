"""What a whole run shares: the servers, the peers, the sizes and the figures."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks import environment, plant, postgres
from benchmarks.dbos import Peer, PeerError
from benchmarks.figures import Figures, shown
from benchmarks.measures import Measure, Party
from benchmarks.options import Options
from benchmarks.postgres import Server
from benchmarks.restate import Restate, running
from countersign.embedded.opa import OpaChild
from countersign.embedded.ports import free_port
from countersign.embedded.work import SetUpError

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
    python = await asyncio.to_thread(environment.python)
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
        return environment.restate_server()
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
