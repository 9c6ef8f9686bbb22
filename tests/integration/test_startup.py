"""Start of a process: waiting for the database, its configuration on record, and the shared clock.

A process that starts while its database is starting waits for it, says so once, and not for ever.

Who hears of runs, and where requests go: a start that brings something else puts it on the tenant's record.

The shared clock: whatever a machine's own says, it tells the database's time.
"""

import asyncio
import contextlib
import json
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.signature import sign
from countersign.embedded.opa import OpaChild
from countersign.engine import make_routing
from countersign.loaded_files import note_configuration
from countersign.parts import Role
from countersign.settings import Settings
from countersign.subscriptions import load_subscriptions
from countersign.system import compose, prepare
from receipts.acts import RoutingLoaded, SubscriptionsLoaded
from receipts.chain import PROGRAM, Actor
from receipts.tenant_acts import chain_of
from runtime.clock import SharedClock, since_boot, utc_now
from runtime.engine import Engine
from runtime.services.audit import audit
from runtime.services.sequencer import Sequencer
from runtime.store.database.health import correct_clock
from runtime.store.database.pool import make_pool
from tests.bench import TENANT, Bench
from tests.integration.program_stage import (
    SLACK_SECRET,
    Edge,
    command,
    composed,
    edge_of,
    environment,
    load,
    program,
    rows,
    settings_of,
)

WAITING = "waiting up to 60 s for the database"


class Door:
    """A socket in front of the real server: it can be missing, and say that the server is starting."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.dsn = f"postgresql://postgres@/{urlsplit(dsn).path.removeprefix('/')}?host={folder}"
        self.starting = False
        self.refused = asyncio.Event()
        self._behind = Path(parse_qs(urlsplit(dsn).query)["host"][0]) / ".s.PGSQL.5432"
        self._path = folder / ".s.PGSQL.5432"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Let clients in while the block lasts."""
        async with await asyncio.start_unix_server(self._serve, self._path):
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.starting:
            await reader.read(4096)
            fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
            writer.write(b"E" + struct.pack("!I", len(fields) + 4) + fields)
            writer.close()
            self.refused.set()
            return
        behind, to_behind = await asyncio.open_unix_connection(self._behind)
        await asyncio.gather(_copy(reader, to_behind), _copy(behind, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
def door(dsn: str, tmp_path: Path) -> Door:
    return Door(tmp_path, dsn)


def patient(door: Door, opa: OpaChild, home: Path, **more: Any) -> dict[str, str]:
    return environment(settings_of(door.dsn, opa.url, home, port=0, database_patience=60.0, **more))


async def test_a_start_waits_for_a_database_that_is_missing_and_then_starting(
    door: Door, opa: OpaChild, tmp_path: Path
) -> None:
    async with program("serve", "--role=sweeps", "--processes=1", env=patient(door, opa, tmp_path)) as running:
        waiting = await running.said(WAITING)
        assert "No such file or directory" in waiting["message"]
        door.starting = True
        async with door.open():
            await door.refused.wait()
            door.starting = False
            await running.said("serving: ")
            assert sum(WAITING in line["message"] for line in running.lines) == 1
            running.process.terminate()
            assert await running.ended() == 0


async def test_migrating_waits_too(door: Door) -> None:
    async with program("migrate", env={"COUNTERSIGN_DATABASE_URL": door.dsn}) as running:
        await running.said(WAITING)
        async with door.open():
            assert await running.ended() == 0


async def test_the_wait_has_an_end(door: Door, opa: OpaChild, tmp_path: Path) -> None:
    env = {**patient(door, opa, tmp_path), "COUNTERSIGN_DATABASE_PATIENCE": "0.5"}
    finished = await command("serve", env=env)
    assert finished.code == 1
    assert "countersign: the database cannot be used: connection " in finished.err.splitlines()[-1]


@pytest.mark.parametrize("wrong", ["postgresql://nobody@/x?host={host}", "postgresql://postgres@/nonesuch?host={host}"])
async def test_a_database_that_refuses_us_is_not_waited_for(postgres: str, wrong: str) -> None:
    dsn = wrong.format(host=parse_qs(urlsplit(postgres).query)["host"][0])
    finished = await command("migrate", env={"COUNTERSIGN_DATABASE_URL": dsn})
    assert (finished.code, WAITING in finished.err) == (1, False)
    assert "does not exist" in finished.err


async def test_what_the_settings_lack_is_said_before_any_waiting(door: Door) -> None:
    settings = Settings(database_url=door.dsn, slack_channel="C1")
    finished = await command("serve", env=environment(settings))
    assert finished.err.startswith("countersign: COUNTERSIGN_OPA_URL is not set")


SECRETS = {"webhook_secrets": {"ears": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
EARS = "{name: ears, on: run.completed, to: 'https://ears.hooks.example/in/T0KEN', secret: ears}"
EYES = "{name: eyes, on: run.failed, to: 'https://eyes.hooks.example/in', secret: ears}"
ALL_TO_ONE = "rules: [{send: {channels: [C0ALL]}}]"
LOADED = (
    "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' IN ('routing.loaded', 'subscriptions.loaded') ORDER BY seq"
)

Start = Callable[..., Engine]


def _files(folder: Path, subscriptions: str = "", routing: str = "") -> dict[str, Any]:
    """Return the settings that name these files; none is named that says nothing."""
    said = {"subscriptions": subscriptions and f"subscriptions: [{subscriptions}]", "routing": routing}
    for name, text in said.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return {**SECRETS, **{name: folder / f"{name}.yaml" for name, text in said.items() if text}}


@pytest.fixture
def start(bench: Bench, dsn: str, opa: OpaChild, tmp_path: Path) -> Start:
    """Return what gives the engine of a process that has just started with these files."""

    def started(process: str, **said: str) -> Engine:
        settings: Settings = settings_of(dsn, opa.url, tmp_path, **_files(tmp_path, **said))
        routing, subscriptions = make_routing(settings), load_subscriptions(settings).of_runtime()
        return replace(bench.engine, worker=process, routing=routing, subscriptions=subscriptions)

    return started


async def _loaded(bench: Bench) -> list[dict[str, Any]]:
    return [row["leaf"] for row in await bench.rows(LOADED)]


async def _said(bench: Bench) -> list[tuple[str, Any]]:
    """Return what is on record in order: how many characters the digest of rules has, or who hears."""
    found = [leaf["data"] for leaf in await _loaded(bench)]
    return [
        (one["process"], [each["name"] for each in one["subscriptions"]] if "subscriptions" in one else one["digest"])
        for one in found
    ]


async def test_it_is_on_record_who_hears_of_runs_with_the_digest_that_receipts_have(bench: Bench, start: Start) -> None:
    engine = start("p1", subscriptions=f"{EYES}, {EARS}")
    await note_configuration(engine, routes=True)
    (leaf,) = await _loaded(bench)
    assert (leaf["event"], Actor(**leaf["actor"])) == (SubscriptionsLoaded.event, PROGRAM)
    eyes, ears = engine.subscriptions
    assert leaf["data"] == {
        "process": "p1",
        "subscriptions": [
            {"name": "ears", "target": "https://ears.hooks.example", "configuration": ears.digest},
            {"name": "eyes", "target": "https://eyes.hooks.example", "configuration": eyes.digest},
        ],
    }
    assert "T0KEN" not in json.dumps(leaf), "the path may be a secret"


async def test_it_is_on_record_by_which_rules_requests_go(bench: Bench, start: Start) -> None:
    engine = start("p1", routing=ALL_TO_ONE)
    await note_configuration(engine, routes=True)
    (leaf,) = await _loaded(bench)
    assert (leaf["event"], leaf["data"]) == (RoutingLoaded.event, {"process": "p1", "digest": engine.routing.digest})


async def test_a_start_with_what_is_on_record_already_is_no_act(bench: Bench, start: Start) -> None:
    first = start("p1", subscriptions=f"{EARS}, {EYES}", routing=ALL_TO_ONE)
    again = start("p2", subscriptions=f"{EYES},\n {EARS}", routing=f"# as ever\n{ALL_TO_ONE}")
    await asyncio.gather(*(note_configuration(first, routes=True) for _ in range(4)))
    await note_configuration(again, routes=True)
    assert await _said(bench) == [("p1", first.routing.digest), ("p1", ["ears", "eyes"])]


async def test_each_change_is_on_record_and_so_is_the_end_of_it(bench: Bench, start: Start) -> None:
    both = start("p1", subscriptions=f"{EARS}, {EYES}", routing=ALL_TO_ONE)
    one = start("p2", subscriptions=EARS, routing=ALL_TO_ONE.replace("C0ALL", "C0SOME"))
    elsewhere = start("p3", subscriptions=EARS.replace("T0KEN", "T1KEN"), routing=ALL_TO_ONE)
    for engine in (both, one, elsewhere, start("p4")):
        await note_configuration(engine, routes=True)
    assert await _said(bench) == [
        ("p1", both.routing.digest),
        ("p1", ["ears", "eyes"]),
        ("p2", one.routing.digest),
        ("p2", ["ears"]),
        ("p3", both.routing.digest),
        ("p3", ["ears"]),
        ("p4", None),
        ("p4", []),
    ]


@pytest.mark.parametrize("said", [{}, {"routing": "rules: []"}])
async def test_where_no_file_says_anything_nothing_is_written(bench: Bench, start: Start, said: dict[str, str]) -> None:
    await note_configuration(start("p1", **said), routes=True)
    assert await _loaded(bench) == []


async def test_a_process_that_routes_nothing_says_nothing_of_the_rules(bench: Bench, start: Start) -> None:
    engine = start("p1", subscriptions=EARS, routing=ALL_TO_ONE)
    await note_configuration(engine, routes=True)
    await note_configuration(start("bot", subscriptions=EARS), routes=False)
    assert await _said(bench) == [("p1", engine.routing.digest), ("p1", ["ears"])]


async def test_the_audit_of_the_log_knows_them_and_finds_one_that_was_changed(bench: Bench, start: Start) -> None:
    await note_configuration(start("p1", subscriptions=EARS, routing=ALL_TO_ONE), routes=True)
    while await Sequencer(bench.engine)():
        pass
    assert (await asyncio.to_thread(audit, bench.superuser, TENANT, ())).findings == []
    changed = "UPDATE tenant_leaves SET leaf = replace(leaf::text, 'ears.hooks', 'eyes.hooks')::json"
    await bench.meddle(f"{changed} WHERE leaf ->> 'event' = 'subscriptions.loaded'")
    found = (await asyncio.to_thread(audit, bench.superuser, TENANT, ())).findings
    assert [(one.rule, one.where.split()[0]) for one in found] == [("chain.broken", chain_of(TENANT))]


@pytest.mark.parametrize(
    ("roles", "events"),
    [(set(Role), ["routing.loaded", "subscriptions.loaded"]), ({Role.BOT}, ["subscriptions.loaded"])],
)
async def test_a_program_that_starts_puts_its_files_on_record(
    dsn: str, opa: OpaChild, tmp_path: Path, roles: set[Role], events: list[str]
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, **_files(tmp_path, EARS, ALL_TO_ONE))
    await load(settings)
    for _ in range(2):
        async with compose(settings, frozenset(roles)) as system:
            await prepare(system)
    assert [row["leaf"]["event"] for row in rows(dsn, LOADED)] == events


TRUE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@given(st.timedeltas(-timedelta(days=1), timedelta(days=1)), st.floats(0, 2), st.floats(0, 1))
def test_the_error_left_is_half_the_round_trip_at_most(skew: timedelta, trip: float, told: float) -> None:
    boot = iter([0.0, trip])
    clock = SharedClock(lambda: TRUE + skew, lambda: next(boot))
    clock.correct(0.0, TRUE + timedelta(seconds=trip * told), trip)
    assert abs(clock() - (TRUE + timedelta(seconds=trip))) <= timedelta(seconds=trip / 2, microseconds=1)


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_machine_whose_clock_is_wrong_tells_the_databases_time(dsn: str, minutes: int) -> None:
    clock = SharedClock(lambda: utc_now() + timedelta(minutes=minutes), since_boot)
    async with make_pool(dsn, size=1, behind_pooler=False) as pool, pool.connection() as conn:
        await correct_clock(conn, clock)
    assert abs(clock() - utc_now()) < timedelta(seconds=5)


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_wall_clock_that_is_set_by_minutes_changes_no_lease(minutes: int) -> None:
    wall, boot = [TRUE], [100.0]
    clock = SharedClock(lambda: wall[0], lambda: boot[0])
    wall[0] += timedelta(minutes=minutes)
    boot[0] += 7
    assert clock() == TRUE + timedelta(seconds=7)


async def test_slacks_five_minutes_are_told_by_the_databases_clock(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'

    async def answer(edge: Edge, at: datetime) -> int:
        stamp = str(int(at.timestamp()))
        signature = sign(SLACK_SECRET, stamp.encode(), body).decode()
        signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
        headers = {**signed, "Content-Type": "application/json"}
        async with edge.http.post(f"{edge.url}/slack/events", data=body, headers=headers) as response:
            return response.status

    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        clock = cast("SharedClock", system.engine.clock)
        database = utc_now() + timedelta(minutes=20)
        clock.correct(since_boot(), database, since_boot())
        assert (await answer(edge, database), await answer(edge, utc_now())) == (200, 401)
