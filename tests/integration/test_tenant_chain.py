"""A tenant has a chain of its own, in which what belongs to no run is on record: in order, whole, and in the log."""

import asyncio
from datetime import timedelta

import pytest

from receipts import canonical
from receipts.acts import Act, CommandRefused
from receipts.chain import GENESIS, PROGRAM, Actor, Head, Leaf, in_place, verify_chain
from receipts.fields import timestamp
from receipts.tenant_acts import (
    ActError,
    BundleFetched,
    DefinitionStored,
    EvidenceExported,
    HoldLifted,
    HoldSet,
    KeyRegistered,
    act_of,
    chain_of,
)
from runtime.services.sequencer import Sequencer
from runtime.store import checkpoints
from runtime.store.tenants import put_act
from tests.bench import TENANT, Bench
from tests.patience import until

SHA = "ab" * 32
ANN = Actor(id="ann", kind="person")
FETCHED = BundleFetched(run_id="run_1", sha256=SHA)
ACTS = [
    FETCHED,
    EvidenceExported(since=None, until="2026-01-31T09:00:00.000000Z", asked={"person": "ann"}, rows=3, sha256=SHA),
    HoldSet(hold_id="hold_1", kind="reference", subject="C-1", reason="court"),
    HoldLifted(hold_id="hold_1", kind="reference", subject="C-1", reason="over"),
    CommandRefused(team="T1", user="U1", command="show", code="identity.guest"),
]


async def _put(bench: Bench, act: Act, actor: Actor = PROGRAM) -> bool:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        return await put_act(conn, TENANT, act, actor, bench.clock())


async def _chain(bench: Bench) -> list[Leaf]:
    """Return the tenant's chain; raise unless it derives, and ends where the tenant's row says."""
    rows = await bench.rows("SELECT seq, hash, leaf FROM tenant_leaves WHERE tenant = %s ORDER BY seq", TENANT)
    said = [(row["seq"], row["hash"].hex(), row["leaf"]) for row in rows]
    leaves = [Leaf.model_validate(leaf) for leaf in in_place(chain_of(TENANT), said)]
    (end,) = await bench.rows("SELECT audit_seq, audit_hash FROM tenants WHERE tenant = %s", TENANT) or [
        {"audit_seq": 0, "audit_hash": GENESIS.hash}
    ]
    verify_chain(leaves, Head(end["audit_seq"], end["audit_hash"]))
    return leaves


async def test_acts_are_on_record_in_their_order_with_who_did_them_and_when(bench: Bench) -> None:
    before = len(await _chain(bench))
    for act in ACTS:
        assert await _put(bench, act, ANN)
    leaves = (await _chain(bench))[-len(ACTS) :]
    assert [leaf.seq for leaf in leaves][-1] >= before + len(ACTS)
    assert [act_of(leaf) for leaf in leaves] == ACTS
    assert {(leaf.actor, leaf.at) for leaf in leaves} == {(ANN, timestamp(bench.clock()))}


async def test_an_act_that_is_rolled_back_is_on_no_record(bench: Bench) -> None:
    await _put(bench, FETCHED)
    before = await _chain(bench)
    async with bench.engine.pool.connection() as conn, conn.transaction(force_rollback=True):
        assert await put_act(conn, TENANT, FETCHED, ANN, bench.clock())
    assert await _chain(bench) == before


async def test_a_clock_that_was_set_back_makes_nothing_look_earlier(bench: Bench) -> None:
    await _put(bench, FETCHED)
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await put_act(conn, TENANT, FETCHED, ANN, bench.clock() - timedelta(hours=1))
    first, second = (await _chain(bench))[-2:]
    assert first.at == second.at


async def test_what_is_done_once_is_on_record_once_when_many_do_it_at_once(bench: Bench) -> None:
    act = DefinitionStored(name="new", version=1, digest=SHA)
    done = await asyncio.gather(*(_put(bench, act) for _ in range(6)), _put(bench, FETCHED), _put(bench, FETCHED))
    assert sorted(done[:6]) == [*[False] * 5, True]
    assert not await _put(bench, act)
    leaves = await _chain(bench)
    assert [act_of(leaf) for leaf in leaves].count(act) == 1


async def test_who_appends_while_another_does_waits_and_comes_behind(bench: Bench) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await put_act(conn, TENANT, FETCHED, ANN, bench.clock())
        other = asyncio.create_task(_put(bench, ACTS[1]))
        await until(lambda: _is_waiting(bench))
    assert await other
    assert [act_of(leaf) for leaf in (await _chain(bench))[-2:]] == [FETCHED, ACTS[1]]


async def test_runs_start_while_somebody_appends(bench: Bench) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await put_act(conn, TENANT, FETCHED, ANN, bench.clock())
        assert (await bench.start("bench.note", {"incident": "I1", "text": "a", "api_token": "t"})).is_new


async def _is_waiting(bench: Bench) -> bool:
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return bool(await bench.rows(query))


async def test_a_chain_begins_with_what_was_there_before_it(bench: Bench) -> None:
    await bench.meddle("DELETE FROM tenant_leaves")
    await bench.meddle("UPDATE tenants SET audit_seq = 0, audit_hash = repeat('0', 64)")
    entry = {"id": SHA}
    async with bench.engine.pool.connection() as conn:
        await conn.execute("INSERT INTO tenants VALUES (%s, 'salt') ON CONFLICT DO NOTHING", (TENANT,))
        await conn.execute(
            "INSERT INTO signing_keys VALUES (%s, 1, %s, %s)", (TENANT, SHA, canonical.dumps(entry).decode())
        )
    await _put(bench, FETCHED, ANN)
    leaves = await _chain(bench)
    stored = await bench.rows("SELECT name, version, digest FROM definitions")
    found = [act_of(leaf) for leaf in leaves]
    assert {one.once for one in found} >= {DefinitionStored(**row).once for row in stored}
    assert KeyRegistered(key_id=SHA, digest=canonical.digest(entry)) in found
    assert [found[-1], leaves[-1].actor, {leaf.actor for leaf in leaves[:-1]}] == [FETCHED, ANN, {PROGRAM}]


async def test_acts_get_their_places_in_the_log_beside_the_leaves_of_runs(bench: Bench) -> None:
    await _put(bench, FETCHED)
    await bench.start("bench.note", {"incident": "I1", "text": "a", "api_token": "t"})
    await _put(bench, FETCHED)
    while await Sequencer(bench.engine)():
        pass
    own = await bench.rows("SELECT count, first_seq FROM log_entries WHERE chain = %s", chain_of(TENANT))
    leaves = await _chain(bench)
    assert sum(row["count"] for row in own) == len(leaves)
    async with bench.engine.pool.connection() as conn:
        head = await checkpoints.read_head(conn, TENANT)
        assert head is not None
        entries = await checkpoints.log_entries(conn, TENANT, 0, head.size)
    assert len(entries) == head.size
    assert {canonical.dumps(leaf.model_dump(exclude={"hash"})) for leaf in leaves} <= set(entries)


@pytest.mark.parametrize(
    ("event", "data", "said"),
    [
        ("run.queued", {}, "is no act of a tenant"),
        ("policy.seen", {"digest": "x"}, "is not in its form"),
        ("routing.loaded", {"digest": None}, "is not in its form"),
        ("subscriptions.loaded", {"process": "p1", "subscriptions": [{"name": "ears"}]}, "is not in its form"),
    ],
)
async def test_a_leaf_that_tells_no_act_in_its_form_is_refused(
    bench: Bench, event: str, data: dict[str, str], said: str
) -> None:
    await _put(bench, FETCHED)
    leaf = (await _chain(bench))[-1].model_copy(update={"event": event, "data": data})
    with pytest.raises(ActError, match=said):
        act_of(leaf)
