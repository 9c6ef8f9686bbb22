"""Tenants: a chain of their own, what stands on it, and nothing of other tenants.

A tenant has a chain of its own, in which what belongs to no run is on record: in order, whole, and in the log.

What comes to a tenant, and what changes, is on its record: once each, however many processes start at once.

What one tenant says does nothing to another's: not by an answer's key, an approval's id, or that of a run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.cli import operate
from countersign.engine import keep_definitions, unmoving_handlers
from countersign.loaded_files import load_people
from countersign.settings import Settings
from receipts import canonical
from receipts.acts import Act, CommandRefused, FormRefused, SignInRefused
from receipts.chain import GENESIS, PROGRAM, Actor, Head, Leaf, in_place, verify_chain
from receipts.console_acts import AccountLinked, ActsAsked, SessionsEnded
from receipts.fields import timestamp
from receipts.list_acts import RunListDeleted, RunListSaved
from receipts.policy_acts import PolicySeen
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
from runtime.definitions.loading.catalog import OWN, Catalog, load_catalog
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.inbox.notification_context import addressed_runs
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification, Payload
from runtime.model.payloads import CompletionPayload, SignalPayload, VotePayload
from runtime.model.runbook_version import Activation
from runtime.model.votes import VoteVerdict
from runtime.planning.run_starts import start_run
from runtime.services.sequencer import Sequencer
from runtime.store import checkpoints, leases, records
from runtime.store.tenants import put_act
from tests.bench import TENANT, VERBS, Bench
from tests.logins import as_directory
from tests.patience import until

SHA = "ab" * 32
ANN = Actor(id="ann", kind="person")
FETCHED = BundleFetched(run_id="run_1", sha256=SHA)
ACTS = [
    FETCHED,
    EvidenceExported(since=None, until="2026-01-31T09:00:00.000000Z", asked={"person": "ann"}, rows=3, sha256=SHA),
    HoldSet(hold_id="hold_1", kind="reference", subject="C-1", reason="court"),
    HoldLifted(hold_id="hold_1", kind="reference", subject="C-1", reason="over"),
    RunListSaved(list_id="lst_1", name="q3", filters={"person": "ann"}, runs=3, sha256=SHA),
    RunListDeleted(list_id="lst_1", name="q3"),
    CommandRefused(team="T1", user="U1", command="show", code="identity.guest"),
    SignInRefused(issuer="https://id.example", subject="s-1", code="account.unknown"),
    AccountLinked(issuer="https://id.example", subject="s-1", person="ann", address="ann@acme.example"),
    FormRefused(route="POST /holds", person="ann", rule="role", session="ses_1"),
    SessionsEnded(person="ann", sessions=2, reason="lost laptop"),
    ActsAsked(form=SHA, act="cancel", reason="not needed", subjects=2, digest=SHA),
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


NOTE = {"incident": "I1", "text": "a", "api_token": "t"}
LOADED, SEEN, STORED = "directory.loaded", "policy.seen", "definition.stored"


async def _said(bench: Bench, *events: str, tenant: str = TENANT) -> list[dict[str, Any]]:
    """Return what a tenant's acts of these kinds say, in their order."""
    query = (
        "SELECT leaf -> 'data' AS data FROM tenant_leaves WHERE tenant = %s AND leaf ->> 'event' = ANY(%s) ORDER BY seq"
    )
    return [row["data"] for row in await bench.rows(query, tenant, list(events))]


def _fresh(bench: Bench) -> tuple[Engine, Catalog]:
    """Return the engine of a process, just started, of a tenant that nothing has happened to yet."""
    definitions = {(one.name, one.version): one for one in bench.definitions.values()}
    return replace(bench.engine, tenant="fresh"), Catalog(definitions, (), (), frozenset(), {})


async def test_each_definition_is_on_record_once_when_processes_start_at_once(bench: Bench) -> None:
    engine, catalog = _fresh(bench)
    await asyncio.gather(*(keep_definitions(engine, catalog, Activation.FIRST) for _ in range(4)))
    await keep_definitions(engine, catalog, Activation.FIRST)
    found = [DefinitionStored(**said) for said in await _said(bench, STORED, tenant="fresh")]
    own = load_catalog([OWN], unmoving_handlers())
    brought = [*own.definitions.values(), *catalog.definitions.values()]
    wanted = {DefinitionStored(name=d.name, version=d.version, digest=d.digest) for d in brought}
    assert (set(found), len(found)) == (wanted, len(wanted))


async def test_each_policy_is_on_record_once_when_processes_see_it_at_once(bench: Bench) -> None:
    await bench.start("bench.note", NOTE)
    await bench.settle()
    (row,) = await bench.rows("SELECT digest FROM policy_texts")
    assert await _said(bench, SEEN) == [row]
    text = bench.engine.policy.text(row["digest"])
    await bench.meddle("DELETE FROM policy_decisions")
    await bench.meddle("DELETE FROM policy_texts")

    async def see() -> None:
        async with bench.engine.pool.connection() as conn:
            await records.keep_policy_text(conn, "fresh", text, bench.clock())

    await asyncio.gather(*(see() for _ in range(4)))
    assert await _said(bench, SEEN, tenant="fresh") == [PolicySeen(digest=row["digest"]).model_dump()]


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    """Return two versions of a directory."""
    files = [tmp_path / f"{version}.yaml" for version in (1, 2)]
    for version, file in enumerate(files, 1):
        people = f"people:\n- {{id: anna, name: Anna, groups: [group{version}]}}\n"
        file.write_text(f"version: {version}\n{people}", encoding="utf-8")
    return files[0], files[1]


async def test_each_directory_is_on_record_once_however_often_it_is_loaded(
    bench: Bench, dsn: str, directories: tuple[Path, Path]
) -> None:
    settings = Settings(directory_database_url=as_directory(dsn), tenant="fresh")
    first, second = directories
    for file in (first, second):
        await asyncio.gather(*(load_people(settings, file) for _ in range(3)))
        await load_people(settings, file)
    assert [said["version"] for said in await _said(bench, LOADED, tenant="fresh")] == [1, 2]


async def test_what_is_said_of_a_key_is_on_record_with_its_entry(bench: Bench, dsn: str, tmp_path: Path) -> None:
    settings = Settings(database_url=dsn, home=tmp_path, tenant=TENANT)
    first, second = await operate.rotate_key(settings, "omar")
    await operate.revoke_key(settings, first.id, "omar", "stolen")
    events = ("key.registered", "key.succeeded", "key.revoked")
    said = [await _said(bench, event) for event in events]
    assert [[one["key_id"] for one in acts] for acts in said] == [[first.id, second.id], [first.id], [first.id]]
    (revoked,) = said[-1]
    (row,) = await bench.rows("SELECT entry FROM signing_keys WHERE key_id = %s", first.id)
    assert (revoked["why"], revoked["digest"]) == ("stolen", canonical.digest(row["entry"]))
    assert len(await _said(bench, *events)) == 4


async def test_a_key_that_is_vouched_for_anew_is_on_record(bench: Bench, dsn: str, tmp_path: Path) -> None:
    settings = Settings(database_url=dsn, home=tmp_path, tenant=TENANT)
    first = (await operate.rotate_key(settings, "omar"))[0]
    second = (await operate.rotate_key(settings, "omar"))[1]
    await operate.revoke_key(settings, second.id, "omar", "stolen")
    assert [said["key_id"] for said in await _said(bench, "key.vouched")] == [first.id]


OTHER = "globex"
TENANT_NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}

Said = tuple[str, str, Payload]
"""A run, the key under which something is said to it, and what."""


async def _waiting(bench: Bench) -> str:
    """Return a run that waits for an answer."""
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    return run_id


async def _answer(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    (wait,) = await bench.rows("SELECT token, correlation_key FROM waits WHERE run_id = %s", run_id)
    answer = CompletionPayload(result={"answer": "yes"}, token=wait["token"], verbs=VERBS)
    return run_id, wait["correlation_key"], answer


async def _signal(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    return run_id, run_id, SignalPayload(run_id=run_id, name="word", data={})


async def _cancel(bench: Bench) -> Said:
    run_id = await _waiting(bench)
    return run_id, run_id, CancelPayload(run_id=run_id, reason="seen")


async def _vote(bench: Bench) -> Said:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    asked = await bench.approval_id()
    said = VotePayload(
        approval_id=asked,
        team="",
        user="",
        person_id="ann",
        refusal=None,
        stamp="",
        verdict=VoteVerdict.APPROVE,
        reason="seen",
    )
    return run_id, asked, said


@pytest.mark.parametrize("about", [_answer, _signal, _cancel, _vote])
async def test_what_one_tenant_says_is_for_no_run_of_another(
    bench: Bench, about: Callable[[Bench], Awaitable[Said]]
) -> None:
    run_id, key, payload = await about(bench)
    before = await bench.chain(run_id)
    ours = Notification("ntf_ours", TENANT, "ours", key, payload, Actor(id="portal-bot", kind="agent"), "req")
    theirs = replace(ours, notification_id="ntf_theirs", tenant=OTHER, dedupe_key="theirs")
    for one in (ours, theirs):
        await inbox.record(bench.engine, one)
    assert addressed_runs(await bench.engine.addressed("ntf_ours")) == {run_id}
    assert addressed_runs(await bench.engine.addressed("ntf_theirs")) == frozenset()
    facts = await inbox.apply(replace(bench.engine, tenant=OTHER), "ntf_theirs")
    assert facts["status"] != "applied"
    assert await bench.chain(run_id) == before


async def test_a_worker_sees_no_work_of_another_tenant(bench: Bench) -> None:
    await start_run(bench.engine, (await bench.start("bench.branches", {})).run_id)
    await start_run(bench.engine, (await bench.start("bench.note", TENANT_NOTE)).run_id)
    async with bench.engine.pool.connection() as conn:
        ours, theirs = [await leases.due_work(conn, tenant, bench.clock()) for tenant in (TENANT, OTHER)]
    assert ours.reads
    assert ours.effects
    assert theirs == leases.DueWork(notifications=False, messages=False, effects=False, reads=False, runs=False)
