"""Round trips: statements that share one, gathered writes, and a database that is far away.

Statements that share a round trip: in their order, all or none in a transaction, and each hears of an error.

What a transaction gathers is written together, and nobody on its connection can tell.

A database that is too far away for votes is named: by doctor with what to do, and by readiness as a fact.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import InterfaceError, ProgrammingError
from psycopg.errors import DivisionByZero, InFailedSqlTransaction, InvalidTextRepresentation, NotNullViolation

from countersign.doctor.database import database
from countersign.embedded.opa import OpaChild
from runtime.clock import utc_now
from runtime.model.effect import KeyInUseError, LeaseLostError
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn, make_pool
from runtime.store.database.write_buffer import WriteKind
from tests.integration.network import Trips, along, road_to
from tests.integration.program_stage import composed, edge_of, settings_of

_MAKE = "INSERT INTO tenants (tenant, salt) VALUES (%(tenant)s, %(salt)s)"
_SALT = "SELECT salt FROM tenants WHERE tenant = %(tenant)s"
_SALTED = WriteKind(
    "salted",
    "tenants",
    "UPDATE tenants SET salt = r.salt FROM {r} WHERE tenants.tenant = r.tenant RETURNING tenants.tenant AS id",
    (("tenant", "text"), ("salt", "text")),
    key=1,
    lost=LookupError,
)


@pytest.fixture
async def road(dsn: str) -> AsyncIterator[Trips]:
    async with road_to(dsn) as road:
        yield road


@pytest.fixture
async def conn(dsn: str, road: Trips) -> AsyncIterator[Conn]:
    async with make_pool(along(dsn, road), size=1, behind_pooler=False) as pool, pool.connection() as conn:
        road.made.clear()
        yield conn


async def _make(conn: Conn, *salts: str | None, lost: str = "", fault: Exception | None = None) -> None:
    """Make a tenant for each salt in a transaction, or a savepoint, with a write that takes no effect or a fault."""
    async with conn.transaction():
        for number, salt in enumerate(salts):
            conn.put(_MAKE, {"tenant": f"{salts[0]} {number}", "salt": salt})
        if lost:
            await conn.gather(_SALTED, (lost, "two"))
        if fault:
            raise fault


async def _salts(conn: Conn) -> list[str]:
    rows = await (await conn.execute("SELECT salt FROM tenants ORDER BY salt")).fetchall()
    return [row["salt"] for row in rows]


async def test_a_transaction_that_asks_nothing_makes_no_round_trip(conn: Conn, road: Trips) -> None:
    async with conn.transaction():
        pass
    assert road.made == []


async def test_begin_and_commit_go_with_what_is_written(conn: Conn, road: Trips) -> None:
    await _make(conn, "one", "two")
    assert len(road.made) == 1
    assert await _salts(conn) == ["one", "two"]


async def test_one_statement_is_a_transaction_by_itself_and_its_connection_goes_on_after_a_fault(
    conn: Conn, road: Trips
) -> None:
    await conn.execute(_THINGS)
    for number in range(3):
        road.made.clear()
        async with conn.transaction():
            await conn.gather(ADD, (str(number), number, None))
        assert [trip.split()[0] for trip in road.made if trip != "DEALLOCATE ALL"] == ["WITH"]
        with pytest.raises(KeyInUseError):
            await _add(conn, "0")
    assert await _things(conn) == {"0": 0, "1": 1, "2": 2}


async def test_what_leads_is_done_before_what_may_wait_for_a_lock(conn: Conn, road: Trips) -> None:
    await conn.execute(_THINGS)
    with pytest.raises(KeyError, match="gone"):
        await _lead(conn)
    assert await _things(conn) == {}


async def _lead(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(SET, ("nobody", 1))
        await conn.gather(LEADING, ("gone", 1))


async def test_reads_of_one_moment_share_a_round_trip_and_come_after_what_was_put(conn: Conn, road: Trips) -> None:
    async with conn.transaction():
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})
        found = await at_once(*(conn.read_row(_SALT, {"tenant": tenant}) for tenant in ("a", "b")))
        assert found == [{"salt": "one"}, None]
        assert len(road.made) == 1


async def _catch_an_error(conn: Conn, tell: Callable[[], None]) -> None:
    """End a transaction as if no statement had failed in it."""
    async with conn.transaction():
        conn.on_commit(tell)
        conn.put(_MAKE, {"tenant": "ACME", "salt": "one"})
        with suppress(DivisionByZero):
            await conn.execute("SELECT 1 / 0")


async def test_a_commit_that_rolled_back_is_an_error_and_nothing_is_told(conn: Conn) -> None:
    told = list[str]()
    with pytest.raises(InFailedSqlTransaction):
        await _catch_an_error(conn, lambda: told.append("committed"))
    assert (told, await _salts(conn)) == ([], [])


async def test_what_fails_at_the_commit_takes_all_back_and_the_connection_goes_on(conn: Conn) -> None:
    with pytest.raises(NotNullViolation):
        await _make(conn, "one", None)
    assert await _salts(conn) == []


async def test_a_row_that_has_to_take_effect_and_does_not_takes_all_back(conn: Conn) -> None:
    with pytest.raises(LookupError, match="nobody"):
        await _make(conn, "one", lost="nobody")
    assert await _salts(conn) == []


async def test_a_block_that_fails_writes_nothing_of_what_it_put_off(conn: Conn, road: Trips) -> None:
    with pytest.raises(ZeroDivisionError):
        await _make(conn, "one", fault=ZeroDivisionError())
    assert road.made == []
    assert await _salts(conn) == []


async def test_a_savepoint_that_fails_takes_back_its_own_writes_alone(conn: Conn) -> None:
    async with conn.transaction():
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})
        with pytest.raises(NotNullViolation):
            await _make(conn, "two", None)
        conn.put(_MAKE, {"tenant": "d", "salt": "three"})
    assert await _salts(conn) == ["one", "three"]


async def test_everybody_who_reads_together_hears_of_an_error(conn: Conn) -> None:
    reads = [conn.read("SELECT 1 AS one", {}), conn.read("SELECT 1 / %(by)s::int AS none", {"by": 0})]
    found = await asyncio.gather(*reads, return_exceptions=True)
    assert [type(one) for one in found] == [DivisionByZero, DivisionByZero]
    assert await _salts(conn) == []


async def test_who_reads_with_one_that_is_canceled_hears_of_it(conn: Conn) -> None:
    first, second = (asyncio.create_task(conn.read("SELECT 1 AS one", {})) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert isinstance((await asyncio.gather(first, second, return_exceptions=True))[1], InterfaceError)
    assert await _salts(conn) == []


async def test_nothing_is_put_off_outside_a_transaction(conn: Conn) -> None:
    with pytest.raises(ProgrammingError, match="outside a transaction"):
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})


ADD = WriteKind(
    "added",
    "things",
    "INSERT INTO things SELECT * FROM {r}",
    (("id", "text"), ("n", "int"), ("document", "json")),
    key=1,
    taken=("things_pkey", KeyInUseError),
)
SET = WriteKind(
    "changed",
    "things",
    "UPDATE things SET n = r.n FROM {r} WHERE things.id = r.id RETURNING things.id AS id",
    (("id", "text"), ("n", "int")),
    key=1,
    lost=LeaseLostError,
)


LEADING = replace(SET, name="will_be", table="lines", lost=KeyError, leads=True)

_THINGS = "CREATE TEMP TABLE things (id text CONSTRAINT things_pkey PRIMARY KEY, n int, document json)"


@pytest.fixture
async def gathered_conn(dsn: str) -> AsyncIterator[Conn]:
    async with make_pool(dsn, size=1, behind_pooler=False) as pool, pool.connection() as conn:
        await conn.execute(_THINGS)
        yield conn


async def _things(conn: Conn) -> dict[str, int]:
    return {row["id"]: row["n"] for row in await (await conn.execute("SELECT id, n FROM things")).fetchall()}


async def _fail(conn: Conn, id_: str) -> None:
    async with conn.transaction():
        await conn.gather(ADD, (id_, 1, None))
        raise ZeroDivisionError


async def test_what_is_gathered_is_there_when_the_transaction_has_ended(gathered_conn: Conn) -> None:
    async with gathered_conn.transaction():
        for number in range(3):
            await gathered_conn.gather(ADD, (str(number), number, None))
    assert await _things(gathered_conn) == {"0": 0, "1": 1, "2": 2}


async def test_the_next_statement_finds_what_was_gathered_before_it(gathered_conn: Conn) -> None:
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("a", 1, None))
        assert await _things(gathered_conn) == {"a": 1}


async def test_a_row_that_is_written_twice_ends_as_it_was_written_last(gathered_conn: Conn) -> None:
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("a", 1, None))
        for number in (2, 3):
            await gathered_conn.gather(SET, ("a", number))
    assert await _things(gathered_conn) == {"a": 3}


async def test_a_look_finds_what_was_gathered_for_its_keys(gathered_conn: Conn) -> None:
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("a", 1, None))
        query, found = "SELECT count(*) AS n FROM things", []
        for keys in ({"b"}, {"a"}):
            (row,) = await gathered_conn.look(query, {}, table="things", keys=keys)
            assert row
            found.append(row["n"])
    assert found == [0, 1], "past what is about others"


async def test_what_is_rolled_back_is_written_by_no_later_statement(gathered_conn: Conn) -> None:
    with pytest.raises(ZeroDivisionError):
        await _fail(gathered_conn, "a")
    assert await _things(gathered_conn) == {}, "nor by one outside a transaction"
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("b", 2, None))
    assert await _things(gathered_conn) == {"b": 2}


async def test_nothing_is_gathered_outside_a_transaction(gathered_conn: Conn) -> None:
    with pytest.raises(ProgrammingError, match="outside a transaction"):
        await gathered_conn.gather(ADD, ("a", 1, None))
    assert await _things(gathered_conn) == {}


async def test_what_a_savepoint_takes_back_leaves_what_was_gathered_before_it(gathered_conn: Conn) -> None:
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("a", 1, None))
        with pytest.raises(ZeroDivisionError):
            await _fail(gathered_conn, "b")
    assert await _things(gathered_conn) == {"a": 1}


async def _change_nothing(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        await conn.gather(SET, ("nobody", 2))


async def test_a_row_that_took_no_effect_undoes_all_of_its_transaction(gathered_conn: Conn) -> None:
    with pytest.raises(LeaseLostError, match="nobody"):
        await _change_nothing(gathered_conn)
    assert await _things(gathered_conn) == {}


async def test_a_row_that_has_to_take_effect_is_committed_in_the_round_trip_that_writes_it(
    conn: Conn, road: Trips
) -> None:
    await conn.execute(_THINGS)
    await conn.execute("INSERT INTO things VALUES ('a', 1)")
    road.made.clear()
    async with conn.transaction():
        await conn.gather(SET, ("a", 2))
    assert len(road.made) == 1
    assert await _things(conn) == {"a": 2}


@pytest.mark.parametrize("name", ["nobody", 'it\'s "50%s":\n\\lost:salted:a:lost', "lost:changed:a:lost", ""])
async def test_a_row_that_took_no_effect_is_named_as_it_was_written_and_by_its_kind(
    gathered_conn: Conn, name: str
) -> None:
    with pytest.raises(LeaseLostError) as lost:
        await _change(gathered_conn, ("ACME", "two"), (name, 2))
    assert lost.value.args == (name,)


async def _change(conn: Conn, salted: tuple[str, str], changed: tuple[str, int]) -> None:
    async with conn.transaction():
        conn.put(_MAKE, {"tenant": "ACME", "salt": "one"})
        await conn.gather(_SALTED, salted)
        await conn.gather(SET, changed)


async def test_what_another_statement_of_the_round_trip_cannot_read_is_no_row_that_took_no_effect(
    gathered_conn: Conn,
) -> None:
    with pytest.raises(InvalidTextRepresentation):
        await _change_and_misread(gathered_conn)
    assert await _things(gathered_conn) == {"a": 1}


async def _change_and_misread(conn: Conn) -> None:
    await conn.execute("INSERT INTO things VALUES ('a', 1)")
    async with conn.transaction():
        await conn.gather(SET, ("a", 2))
        conn.put("SELECT %(text)s::int", {"text": "two"})


async def _add(conn: Conn, id_: str = "a") -> None:
    async with conn.transaction():
        await conn.gather(ADD, (id_, 2, None))


async def test_a_key_that_is_taken_is_said_in_the_words_of_its_kind(gathered_conn: Conn) -> None:
    await gathered_conn.execute("INSERT INTO things VALUES ('a', 1)")
    with pytest.raises(KeyInUseError):
        await _add(gathered_conn)
    assert await _things(gathered_conn) == {"a": 1}


async def test_json_is_kept_as_it_was_written(gathered_conn: Conn) -> None:
    text = '{"b": 1,  "a": "é\\u0022"}'
    async with gathered_conn.transaction():
        await gathered_conn.gather(ADD, ("a", 1, text))
    row = await (await gathered_conn.execute("SELECT document::text AS text FROM things")).fetchone()
    assert row
    assert row["text"] == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, "ü", null, true]}', {"a": [1, 2.5, "ü", None, True]}),
        ('"\\ud800"', "\ud800"),
        (str(2**53 - 1), 2**53 - 1),
    ],
    ids=["what anybody writes", "half a character", "the largest number"],
)
async def test_json_is_read_as_it_was_written_even_what_is_rare(gathered_conn: Conn, text: str, value: object) -> None:
    row = await (await gathered_conn.execute("SELECT %s::json AS said", (text,))).fetchone()
    assert row == {"said": value}


FAR = 0.2


async def test_doctor_says_how_far_the_database_is_and_what_to_do_when_it_is_too_far(
    dsn: str, road: Trips, tmp_path: Path
) -> None:
    settings = settings_of(along(dsn, road), "http://127.0.0.1:1", tmp_path)
    road.delay = FAR
    facts = {fact.name: fact for fact in await database(settings, utc_now)}
    far = facts["round trip"]
    assert not far.ok
    assert float(far.detail.removesuffix(" ms to the database and back")) >= FAR * 1000
    assert "Run the program near its database, in less than 150 ms" in far.remedy
    assert facts["database"].ok


async def test_readiness_names_a_database_that_is_too_far_and_stays_ready(
    dsn: str, road: Trips, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with composed(settings_of(along(dsn, road), opa.url, tmp_path)) as system, edge_of(system) as edge:
        road.delay = FAR
        answer = await edge.send("GET", "/readyz", signed={})
        assert answer.status == 200
        assert answer.body["counts"]["database_round_trip_ms"] >= FAR * 1000
    assert [said for said in caplog.messages if "the database is too far away for clicks" in said]
