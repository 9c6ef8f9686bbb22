"""Parked runs by the million: one is parked by running it, the others are copies of its rows."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import aiohttp

from benchmarks import resume
from benchmarks.edge import Edge, EdgeRefusedError
from benchmarks.machine import resident
from benchmarks.multiply import Identity, Row, insertion, random_identity
from benchmarks.plant import Plant
from benchmarks.postgres import Database
from benchmarks.stamps import Stamp, listening

EVIDENCE = frozenset({"audit_leaves", "policy_decisions", "receipts", "reads", "evidence_bundles"})
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
    """The one run that was parked by running it: its rows as text, by table."""

    run_id: str
    ref: str
    types: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, Sequence[Row]]

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
                for statement in insertion(name, self.types[name], self.rows[name], self.identities)
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
    async with resume.opened(plant) as counter:
        (run,) = await counter.park(1)
    return template_of(plant.database, run)


async def resumed(plant: Plant, first: int, last: int, count: int) -> tuple[list[float], int]:
    """Resume copies from all over; return the seconds until each was claimed, and the process's memory in bytes."""
    step = max((last - first) // count, 1)
    async with resume.opened(plant) as counter:
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
        async with await plant.start("edge", *resume.ALL) as process:
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
