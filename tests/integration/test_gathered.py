"""What a transaction gathers is written together, and nobody on its connection can tell."""

from collections.abc import AsyncIterator

import pytest
from psycopg import ProgrammingError

from runtime.model.effect import KeyInUseError, LeaseLostError
from runtime.store.database.pool import Conn, make_pool
from runtime.store.database.write_buffer import WriteKind

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


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[Conn]:
    async with make_pool(dsn, size=1, behind_pooler=False) as pool, pool.connection() as conn:
        await conn.execute(
            "CREATE TEMP TABLE things (id text CONSTRAINT things_pkey PRIMARY KEY, n int, document json)"
        )
        yield conn


async def _things(conn: Conn) -> dict[str, int]:
    return {row["id"]: row["n"] for row in await (await conn.execute("SELECT id, n FROM things")).fetchall()}


async def _fail(conn: Conn, id_: str) -> None:
    async with conn.transaction():
        await conn.gather(ADD, (id_, 1, None))
        raise ZeroDivisionError


async def test_what_is_gathered_is_there_when_the_transaction_has_ended(conn: Conn) -> None:
    async with conn.transaction():
        for number in range(3):
            await conn.gather(ADD, (str(number), number, None))
    assert await _things(conn) == {"0": 0, "1": 1, "2": 2}


async def test_the_next_statement_finds_what_was_gathered_before_it(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        assert await _things(conn) == {"a": 1}


async def test_a_row_that_is_written_twice_ends_as_it_was_written_last(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        for number in (2, 3):
            await conn.gather(SET, ("a", number))
    assert await _things(conn) == {"a": 3}


async def test_a_look_finds_what_was_gathered_for_its_keys(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        query, found = "SELECT count(*) AS n FROM things", []
        for keys in ({"b"}, {"a"}):
            row = await (await conn.look(query, {}, table="things", keys=keys)).fetchone()
            assert row
            found.append(row["n"])
    assert found == [0, 1], "past what is about others"


async def test_what_is_rolled_back_is_written_by_no_later_statement(conn: Conn) -> None:
    with pytest.raises(ZeroDivisionError):
        await _fail(conn, "a")
    assert await _things(conn) == {}, "nor by one outside a transaction"
    async with conn.transaction():
        await conn.gather(ADD, ("b", 2, None))
    assert await _things(conn) == {"b": 2}


async def test_nothing_is_gathered_outside_a_transaction(conn: Conn) -> None:
    with pytest.raises(ProgrammingError, match="outside a transaction"):
        await conn.gather(ADD, ("a", 1, None))
    assert await _things(conn) == {}


async def test_what_a_savepoint_takes_back_leaves_what_was_gathered_before_it(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        with pytest.raises(ZeroDivisionError):
            await _fail(conn, "b")
    assert await _things(conn) == {"a": 1}


async def _change_nothing(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, None))
        await conn.gather(SET, ("nobody", 2))


async def test_a_row_that_took_no_effect_undoes_all_of_its_transaction(conn: Conn) -> None:
    with pytest.raises(LeaseLostError, match="nobody"):
        await _change_nothing(conn)
    assert await _things(conn) == {}


async def _add(conn: Conn) -> None:
    async with conn.transaction():
        await conn.gather(ADD, ("a", 2, None))


async def test_a_key_that_is_taken_is_said_in_the_words_of_its_kind(conn: Conn) -> None:
    await conn.execute("INSERT INTO things VALUES ('a', 1)")
    with pytest.raises(KeyInUseError):
        await _add(conn)
    assert await _things(conn) == {"a": 1}


async def test_json_is_kept_as_it_was_written(conn: Conn) -> None:
    text = '{"b": 1,  "a": "é\\u0022"}'
    async with conn.transaction():
        await conn.gather(ADD, ("a", 1, text))
    row = await (await conn.execute("SELECT document::text AS text FROM things")).fetchone()
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
async def test_json_is_read_as_it_was_written_even_what_is_rare(conn: Conn, text: str, value: object) -> None:
    row = await (await conn.execute("SELECT %s::json AS said", (text,))).fetchone()
    assert row == {"said": value}
