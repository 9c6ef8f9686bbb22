"""How much is measured: as the page says, or a quick look at whether all of it works."""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, field

PARKED = (1_000, 100_000, 1_000_000)
QUICK_PARKED = (1_000, 10_000)


@dataclass(frozen=True)
class Options:
    """Sizes of one run. `seconds` is how long each rate is measured for, `lease` how long a killed worker's lasts."""

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
)
PARTS = ("steps", "latency", "parked", "slack", "home", "killed", "repeat")


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
