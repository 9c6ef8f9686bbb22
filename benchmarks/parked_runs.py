"""Parked runs by the million, and what waiting costs: the rate of steps, resuming, bytes, memory and a restart.

One run is parked by running it, the others are copies of its rows: each row is written again with fresh identities. A
million runs that were parked by running them would take hours; to the database the rows are the same. Deadlines come at
once: the waits that nobody answered end, and with them their runs.
"""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import aiohttp

from benchmarks import governed_steps as steps
from benchmarks import latency, measures
from benchmarks.connectors import Stamp, listening
from benchmarks.edge import Edge, EdgeRefusedError
from benchmarks.governed_steps import ended
from benchmarks.machine import cores, resident
from benchmarks.measures import Party, less, more, percentile, shown
from benchmarks.plant import Plant, plant, until_answers
from benchmarks.postgres import Database
from benchmarks.stage import Stage, say

Row = Mapping[str, str | None]


@dataclass(frozen=True)
class Identity:
    """A text that has to differ in each copy, and the SQL of what stands there instead, given the copy's number `n`."""

    text: str
    fresh: str


def random_identity(text: str, place: int) -> Identity:
    """Return an identity such as ``run_3f9c…`` or a digest: its prefix stays, and so does its length."""
    prefix, _, rest = text.rpartition("_")
    head = f"{prefix}_" if prefix else ""
    seed = f"'{place}:' || n"
    return Identity(text, f"{quoted(head)} || left(md5({seed}) || md5({seed} || 'x'), {len(rest)})")


def insertion(
    table: str, types: Mapping[str, str], rows: Iterable[Row], identities: Sequence[Identity], apart: float = 0.0
) -> list[str]:
    """Return statements that write each row `first` to `last` times; both are left to be filled in.

    Each copy is so many seconds older than the one before it.
    """
    columns = ", ".join(types)
    return [
        f"INSERT INTO {table} ({columns}) SELECT {_values(types, row, identities, apart)}"  # noqa: S608 - of quoted parts
        " FROM generate_series({first}, {last}) n"
        for row in rows
    ]


def _values(types: Mapping[str, str], row: Row, identities: Sequence[Identity], apart: float) -> str:
    older = {"timestamptz": f" - n * interval '{apart} seconds'"} if apart else {}
    return ", ".join(
        f"({expression(row[name], identities)})::{kind}{older.get(kind, '')}" for name, kind in types.items()
    )


def expression(text: str | None, identities: Sequence[Identity]) -> str:
    """Return SQL that gives the text with its identities made fresh."""
    if text is None:
        return "NULL"
    fresh = {identity.text: identity.fresh for identity in identities}
    pattern = "|".join(re.escape(known) for known in sorted(fresh, key=len, reverse=True))
    parts = re.split(f"({pattern})", text) if pattern else [text]
    return " || ".join(fresh.get(part) or quoted(part) for part in parts if part) or "''"


def quoted(text: str) -> str:
    """Return a literal; braces are doubled, since the statement is filled in once more."""
    return "'" + text.replace("'", "''").replace("{", "{{").replace("}", "}}") + "'"


EVIDENCE = frozenset({"leaf_sets", "policy_decisions", "receipts", "reads", "evidence_bundles"})
WITH_EVIDENCE = 100_000
"""Copies beyond that many are written without evidence: what only is read at a run's end takes disk, and no part."""
BATCH = 100_000

_IDENTIFYING = ("token", "dedupe_key", "idempotency_key")
_TABLES = """
    SELECT c.table_name AS name FROM information_schema.columns c JOIN information_schema.tables t USING (table_name)
     WHERE c.table_schema = 'public' AND t.table_schema = 'public' AND t.table_type = 'BASE TABLE'
       AND c.column_name = 'run_id' AND table_name <> 'claims' ORDER BY table_name
"""
_COLUMNS = """
    SELECT column_name AS name, udt_name AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = %s AND is_identity = 'NO' AND is_generated = 'NEVER'
       AND coalesce(column_default, '') NOT LIKE 'nextval%%'
"""
_SIZES = """
    SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


@dataclass(frozen=True)
class Template:
    """The one run that was parked by running it: its rows as text, by table. Copies are so many seconds `apart`."""

    run_id: str
    ref: str
    types: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, Sequence[Row]]
    apart: float = 0.0

    @cached_property
    def identities(self) -> list[Identity]:
        """Return what has to differ in each copy."""
        texts = {
            value
            for rows in self.rows.values()
            for row in rows
            for name, value in row.items()
            if value and (name.endswith("_id") or name in _IDENTIFYING) and self.ref not in value
        }
        plain = sorted(text for text in texts if not any(other != text and other in text for other in texts))
        return [Identity(self.ref, "'parked-' || n"), *(random_identity(text, n) for n, text in enumerate(plain))]

    def copy(self, database: Database, first: int, last: int) -> None:
        """Write copies; guards and foreign keys stand aside, since the rows are right."""
        for start in range(first, last + 1, BATCH):
            end = min(start + BATCH - 1, last)
            wanted = [name for name in self.rows if name not in EVIDENCE or end <= WITH_EVIDENCE]
            statements = [
                statement.format(first=start, last=end)
                for name in wanted
                for statement in insertion(name, self.types[name], self.rows[name], self.identities, self.apart)
            ]
            database.run("; ".join(["SET session_replication_role = replica", *statements]))
        database.run("VACUUM ANALYZE")
        database.run("CHECKPOINT")


def template_of(database: Database, run_id: str) -> Template:
    """Read the rows of a parked run."""
    types = {
        table["name"]: {column["name"]: column["type"] for column in database.rows(_COLUMNS, [table["name"]])}
        for table in database.rows(_TABLES)
    }
    rows = {name: _rows(database, name, columns, run_id) for name, columns in types.items()}
    ref = str(database.value("SELECT trigger_ref FROM runs WHERE run_id = %s", [run_id]))
    return Template(run_id, ref, types, {name: found for name, found in rows.items() if found})


def _rows(database: Database, table: str, columns: Mapping[str, str], run_id: str) -> Sequence[Row]:
    texts = ", ".join(f'"{name}"::text' for name in columns)
    return database.rows(f"SELECT {texts} FROM {table} WHERE run_id = %s", [run_id])  # noqa: S608 - of the catalog


@dataclass(frozen=True)
class Sizes:
    """Bytes on disk, with indexes."""

    state: int
    evidence: int


def sizes(database: Database) -> Sizes:
    """Return how much all tables take, what is evidence apart."""
    found = {row["name"]: int(row["bytes"]) for row in database.rows(_SIZES)}
    evidence = sum(size for name, size in found.items() if name in EVIDENCE)
    return Sizes(sum(found.values()) - evidence, evidence)


async def parked_one(plant: Plant) -> Template:
    """Park the one run of which the others are copies."""
    async with latency.opened(plant) as counter:
        (run,) = await counter.park(1)
    return template_of(plant.database, run)


async def resumed(plant: Plant, first: int, last: int, count: int) -> tuple[list[float], int]:
    """Resume copies from all over; return the seconds until each was claimed, and the process's memory in bytes."""
    step = max((last - first) // count, 1)
    async with latency.opened(plant) as counter:
        chosen = [_wait(plant.database, number) for number in range(first, last, step)][:count]
        for stamp in chosen:
            counter.stamps.seen[stamp.run_id, "ask"] = stamp
        found = await counter.resume_each([stamp.run_id for stamp in chosen])
        return found.claimed, resident(counter.process.pid)


async def restarted(plant: Plant, number: int) -> float:
    """Return the seconds from the start of a process until a parked run has gone on."""
    stamp = _wait(plant.database, number)
    async with listening() as stamps, aiohttp.ClientSession() as http:
        plant.tell(stamps.port)
        began = time.time()
        async with await plant.start("edge", *latency.ALL) as process:
            edge = Edge(process.url, http)
            while not await _taken(edge, stamp):
                pass
            return (await stamps.of(stamp.run_id, "note")).at - began


async def _taken(edge: Edge, stamp: Stamp) -> bool:
    try:
        await edge.answer(stamp.key, stamp.token)
    except (aiohttp.ClientError, EdgeRefusedError):
        return False
    return True


def _wait(database: Database, number: int) -> Stamp:
    """Return what the connector of a copy would have told of its wait."""
    key = str(database.value("SELECT correlation_key FROM waits LIMIT 1")).rpartition(":")[0]
    row = database.rows(
        "SELECT run_id, step, correlation_key, token FROM waits WHERE correlation_key = %s", [f"{key}:parked-{number}"]
    )[0]
    return Stamp(row["run_id"], row["step"], 0.0, row["correlation_key"], row["token"])


_COME = """
    UPDATE waits SET deadline = now() - interval '1 minute' + one.number * interval '1 microsecond'
      FROM (SELECT wait_id, row_number() OVER () AS number FROM waits WHERE status = 'active' LIMIT %s) AS one
     WHERE waits.wait_id = one.wait_id RETURNING run_id, number
"""


async def fire_deadlines(plant: Plant, count: int, processes: int) -> float:
    """Let so many deadlines be due in one moment; return how many runs a second came to their end by them."""
    async with await plant.start("worker", "sweeps", processes=processes) as process:
        await until_answers(process)
        come = plant.database.rows(_COME, [count])
        began = time.perf_counter()
        await ended(plant.database, [row["run_id"] for row in sorted(come, key=lambda row: row["number"])])
        return len(come) / (time.perf_counter() - began)


EVIDENCE_BYTES = less("parked_evidence_bytes", "a parked run with evidence", "bytes")
MEMORY = less("parked_memory_bytes", "memory of a process for a parked run", "bytes")
ALL_BACK = less("restart_all_s", "restart until all parked runs can go on", "s")
DUE = more("deadlines_per_s", "deadlines due at once among the most parked runs, to the runs' ends", "runs/s")
RESTARTS = 3


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    fewest, most = stage.options.parked[0], stage.options.parked[-1]
    with (
        plant(stage.server, stage.folder, stage.opa.url) as small,
        plant(stage.server, stage.folder, stage.opa.url) as large,
    ):
        for one in (small, large):
            one.database.run(latency.CLAIMS)
        (await parked_one(small)).copy(small.database, 1, fewest)
        template = await parked_one(large)
        memory = [await _at(stage, large, template, size) for size in stage.options.parked]
        stage.put(MEMORY, Party.OURS, max(memory[-1] - memory[0], 0) / most)
        await _slowdown(stage, small, large)
        times = [await restarted(large, most - number) for number in range(1, RESTARTS + 1)]
        stage.put(measures.RESTART, Party.OURS, median(times))
        stage.put(DUE, Party.OURS, await fire_deadlines(large, min(stage.options.due, most // 2), cores()))
    with stage.without("DBOS"):
        await _dbos(stage)


async def _at(stage: Stage, large: Plant, template: Template, size: int) -> int:
    """Bring the plant to so many parked runs and measure there; return the memory of its process."""
    began, before = time.perf_counter(), sizes(large.database)
    first = int(large.database.value("SELECT count(*) FROM waits"))  # the first run was parked by running it
    await asyncio.to_thread(template.copy, large.database, first, size)
    say(f"  {shown(size)} parked, made in {time.perf_counter() - began:.0f} s")
    after, copies = sizes(large.database), size - first + 1
    if size <= WITH_EVIDENCE:
        stage.put(measures.PARKED_BYTES, Party.OURS, (after.state - before.state) / copies)
        stage.put(EVIDENCE_BYTES, Party.OURS, sum(vars(after).values()) / copies - sum(vars(before).values()) / copies)
    rate = await _rate(stage, large)
    stage.put(more(f"steps_at_{size}", f"  governed steps among {size:,} parked runs", "steps/s"), Party.OURS, rate)
    times, memory = await resumed(large, first, size, stage.options.resumes // 4)
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        row = less(f"resume_at_{size}_{name}_ms", f"  resume among {size:,} parked runs, {name}", "ms")
        stage.put(row, Party.OURS, 1000 * percentile(times, share))
    return memory


async def _slowdown(stage: Stage, small: Plant, large: Plant) -> None:
    """Compare the rates among the fewest and the most, one after the other and again."""
    rates: dict[str, list[float]] = {"small": [], "large": []}
    for _ in range(2):
        rates["small"].append(await _rate(stage, small))
        rates["large"].append(await _rate(stage, large))
    stage.put(measures.SLOWDOWN, Party.OURS, sum(rates["small"]) / sum(rates["large"]))


async def _rate(stage: Stage, one: Plant) -> float:
    one.env.clear()
    return (await steps.busy(stage.server, one, 1, stage.options.seconds, stage.opa.pid)).per_s


async def _dbos(stage: Stage) -> None:
    count = stage.options.peer_parked
    with stage.server.database() as database:
        size = await stage.dbos.park_copies(database, count)
        stage.put(EVIDENCE_BYTES, Party.DBOS, size)
        stage.put(measures.PARKED_BYTES, Party.DBOS, size)
        found = await stage.dbos.restarted(database, count)
    stage.put(measures.RESTART, Party.DBOS, found.first)
    if found.all is not None:
        stage.put(ALL_BACK, Party.DBOS, found.all)
    stage.figures.remarks.append(
        f"Parked: ours {stage.options.parked[-1]:,} runs at most, DBOS {count:,}; a restart of DBOS is measured to the"
        " moment at which the run parked last goes on"
    )
