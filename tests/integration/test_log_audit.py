"""The audit of a live database names what was taken out of it, put into it or changed, with triggers off."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from receipts.chain import GENESIS, PROGRAM, Correlation, next_leaf
from receipts.hashes import TreeHead
from receipts.signing import load_or_create
from runtime.model.votes import CardAct
from runtime.services.audit import Audit, audit
from runtime.services.audit_chains import check_tenant
from runtime.services.keys import register_key
from runtime.services.legal_holds import LegalHolds, Subject
from runtime.services.sequencer import Sequencer
from runtime.store import checkpoints
from runtime.store.audit import TenantRows
from runtime.store.checkpoints import Signed
from runtime.store.definitions import keep_definitions
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import delegate, say, undelegate
from tests.integration.policies_stage import register, revoke
from tests.once import Once

FILE = {"company": "ACME", "text": "report"}
NOTE = {"incident": "I1", "text": "a", "api_token": "t"}
WAIT = {"case": "C1"}


@dataclass
class Office:
    """A bench with a run that people approved, one with a read, and one that waits; all of it in the log."""

    bench: Bench
    approved: str
    head: TreeHead

    async def audit(self, *kept: TreeHead) -> Audit:
        return await asyncio.to_thread(audit, self.bench.superuser, TENANT, kept)


async def _play(bench: Bench, folder: Path) -> tuple[str, TreeHead]:
    async with bench.engine.pool.connection() as conn:
        await register_key(conn, TENANT, load_or_create(folder / "key.pem"), bench.clock())
    approved = (await bench.start("bench.file", FILE, ref="f")).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for act, person, said, about in (
        (CardAct.ASK, "ann", "who owns it?", ""),
        (CardAct.REPLY, "rita", "the founders", "asked"),
        (CardAct.ASK, "ben", "since when?", ""),
    ):
        asked = await bench.rows("SELECT question_id FROM questions") if about else []
        assert (await say(bench, person, approval, act, said, *[row["question_id"] for row in asked])).counted
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.start("bench.note", NOTE, ref="n")
    await bench.start("bench.wait", WAIT, ref="w")
    await bench.start("bench.branches", {}, ref="b")
    await bench.settle()
    desk = LegalHolds(bench.engine.pool, bench.clock, TENANT, bench.engine.privacy)
    for reference in ("n", "w"):
        await desk.hold("ann", Subject("reference", reference), "asked for by the regulator")
    await desk.lift("ben", Subject("reference", "w"), "answered")
    await delegate(bench, "ann", "sam")
    await undelegate(bench, (await delegate(bench, "ben", "sam"))["delegation_id"])
    await bench.settle()  # delegators and delegates are told
    await revoke(bench, (await register(bench, "sam")).id)
    while await Sequencer(bench.engine)():
        pass
    async with bench.engine.pool.connection() as conn:
        head = await checkpoints.read_head(conn, TENANT)
        assert head is not None
        await checkpoints.keep_checkpoint(conn, TENANT, Signed(head, "", bench.clock(), is_published=False))
    return approved, head


OFFICE = Once(_play)


@pytest.fixture
async def office(bench: Bench, tmp_path: Path) -> Office:
    return Office(bench, *await OFFICE.on(bench, tmp_path))


async def test_what_nobody_touched_holds_and_is_accounted_for(office: Office) -> None:
    found = await office.audit(office.head)
    assert found.findings == []
    assert (found.size, found.leaves, found.waiting) == (office.head.size, office.head.size, 0)
    assert found.until.startswith("2026-01-05T09:00:00")


async def test_what_awaits_its_place_is_counted_and_bounds_what_is_accounted_for(office: Office) -> None:
    office.bench.clock.move(minutes=5)
    run_id = (await office.bench.start("bench.note", NOTE, ref="later")).run_id
    office.bench.clock.move(minutes=5)
    await office.bench.settle()
    found = await office.audit()
    leaves = len(await office.bench.chain(run_id))
    assert (found.findings, found.waiting, found.until[:19]) == ([], leaves, "2026-01-05T09:05:00")


OF = "run_id = (SELECT run_id FROM runs WHERE trigger_ref = 'f')"
WHICH = "(SELECT run_id FROM runs WHERE trigger_ref = 'f')"
LAST = f"(SELECT max(seq) FROM audit_leaves WHERE {OF})"
OWN_LAST = "(SELECT max(seq) FROM tenant_leaves)"
CHANGED: dict[str, tuple[str, set[str]]] = {
    "a run is gone": (
        f"DELETE FROM audit_leaves WHERE {OF}; DELETE FROM runs WHERE trigger_ref = 'f'",
        {"run.missing", "leaf.missing"},
    ),
    "a leaf is gone": (f"DELETE FROM audit_leaves WHERE {OF} AND seq = 3", {"leaf.missing", "chain.broken"}),
    "an end is cut off": (f"DELETE FROM audit_leaves WHERE {OF} AND seq = {LAST}", {"leaf.missing", "chain.broken"}),
    "an end is cut off, and the run's row put right": (
        (
            f"DELETE FROM audit_leaves WHERE {OF} AND seq = {LAST};"
            f" UPDATE runs SET audit_seq = audit_seq - 1, audit_hash = (SELECT encode(hash, 'hex') FROM audit_leaves"
            f" WHERE {OF} AND seq = {LAST}) WHERE trigger_ref = 'f'"
        ),
        {"leaf.missing", "chain.cut"},
    ),
    "a leaf says something else": (
        f'UPDATE audit_leaves SET leaf = (leaf::jsonb || \'{{"event": "run.other"}}\')::json WHERE {OF} AND seq = 2',
        {"chain.broken"},
    ),
    "a leaf has another hash": (
        f"UPDATE audit_leaves SET hash = decode(repeat('00', 32), 'hex') WHERE {OF} AND seq = 2",
        {"chain.broken", "log.forked"},
    ),
    "a leaf has no place": (
        (
            f"DELETE FROM log_entries WHERE chain = {WHICH} AND first_seq = (SELECT max(first_seq) FROM log_entries"
            f" WHERE chain = {WHICH})"
        ),
        {"leaf.unplaced"},
    ),
    "a leaf was put in twice": (
        (
            "INSERT INTO log_entries SELECT tenant, (SELECT max(first_index + count) FROM log_entries), 1, chain, 2"
            f" FROM log_entries WHERE chain = {WHICH} AND first_seq = 1"
        ),
        {"leaf.twice"},
    ),
    "a decision is gone": (f"DELETE FROM policy_decisions WHERE {OF}", {"record.missing"}),
    "a decision says something else": (
        f'UPDATE policy_decisions SET document = (document::jsonb || \'{{"outcome": "deny"}}\')::json WHERE {OF}',
        {"record.changed"},
    ),
    "a read is gone": ("DELETE FROM reads", {"record.missing"}),
    "a receipt is gone": (f"DELETE FROM receipts WHERE {OF}", {"record.missing"}),
    "a receipt was put in": (
        (
            "INSERT INTO receipts SELECT receipt_id, run_id, tenant, effect_id, 1, 'other', fingerprint, outcome,"
            f" document, response, at FROM receipts WHERE {OF} LIMIT 1"
        ),
        {"record.unnamed"},
    ),
    "an approval asks for something else": (f"UPDATE approvals SET tier = 'low' WHERE {OF}", {"record.changed"}),
    "an approval is gone": ("DELETE FROM votes; DELETE FROM approvals", {"record.missing"}),
    "a vote has another reason": ("UPDATE votes SET reason = 'other' WHERE person = 'ann'", {"record.changed"}),
    "a vote is gone": ("DELETE FROM votes WHERE person = 'ann'", {"record.changed"}),
    "a question asks something else": (
        "UPDATE questions SET question = 'other' WHERE answer IS NULL",
        {"record.changed"},
    ),
    "a question is gone": ("DELETE FROM questions WHERE answer IS NULL", {"record.changed"}),
    "a question was put in": (
        (
            "INSERT INTO questions SELECT 'qst_other', tenant, approval_id, 'cat', 'Cat', question, asked_at"
            " FROM questions WHERE answer IS NULL"
        ),
        {"record.changed"},
    ),
    "an answer says something else": (
        "UPDATE questions SET answer = json_build_object('by', 'rita') WHERE answer IS NOT NULL",
        {"record.changed"},
    ),
    "an answer is gone": ("UPDATE questions SET answer = NULL WHERE question = 'who owns it?'", {"record.changed"}),
    "an answer was put in": (
        "UPDATE questions SET answer = json_build_object('by', 'rita') WHERE answer IS NULL",
        {"record.changed"},
    ),
    "a card was put in": (f"UPDATE approvals SET cards = '[{{}}]' WHERE {OF}", {"record.changed"}),
    "a definition was put in": (
        "INSERT INTO definitions SELECT 'other', version, digest, canonical, created_at FROM definitions LIMIT 1",
        {"record.unnamed"},
    ),
    "a definition says something else": ("UPDATE definitions SET canonical = '{}'", {"record.changed"}),
    "a definition is gone": (
        "DELETE FROM definitions WHERE name = (SELECT min(name) FROM definitions)",
        {"record.missing"},
    ),
    "a policy was put in": (
        "INSERT INTO policy_texts SELECT repeat('0', 64), files, first_seen FROM policy_texts LIMIT 1",
        {"record.unnamed"},
    ),
    "a policy says something else": ("UPDATE policy_texts SET files = '{}'", {"record.changed"}),
    "a policy is gone": ("DELETE FROM policy_texts", {"record.missing"}),
    "another directory is said to be loaded": ("UPDATE directories SET version = 9", {"record.changed"}),
    "no directory is said to be loaded": ("DELETE FROM directories", {"record.missing"}),
    "somebody is in another group": (
        "UPDATE actors SET groups = '[\"compliance\"]' WHERE actor_id = 'rita'",
        {"record.changed"},
    ),
    "somebody has one more account": (
        "INSERT INTO slack_accounts SELECT tenant, team, 'UOTHER', actor_id FROM slack_accounts LIMIT 1",
        {"record.changed"},
    ),
    "a key was put in": (
        "INSERT INTO signing_keys SELECT tenant, 2, repeat('0', 64), entry FROM signing_keys",
        {"record.unnamed"},
    ),
    "a key signs for longer": (
        'UPDATE signing_keys SET entry = (entry::jsonb || \'{"from": "2020-01-01T00:00:00.000000Z"}\')::json',
        {"record.changed"},
    ),
    "a key is gone": ("DELETE FROM signing_keys", {"record.missing"}),
    "a delegation is for more": ("UPDATE delegations SET ends_at = ends_at + interval '1 day'", {"record.changed"}),
    "a delegation is said to be another's": ("UPDATE delegations SET recorded_by = 'rita'", {"record.changed"}),
    "a delegation is gone": ("DELETE FROM delegations", {"record.missing"}),
    "a delegation is said to go on": (
        "UPDATE delegations SET ended_at = NULL, ended_by = NULL, ended_reason = NULL",
        {"record.missing"},
    ),
    "a passkey has another key": ("UPDATE passkeys SET public_key = 'AAAA'", {"record.changed"}),
    "a passkey is said to be another's": ("UPDATE passkeys SET person = 'ann'", {"record.changed"}),
    "a passkey is gone": ("DELETE FROM passkeys", {"record.missing"}),
    "a passkey is said to sign again": (
        "UPDATE passkeys SET revoked_at = NULL, revoked_by = NULL, revoked_reason = NULL",
        {"record.missing"},
    ),
    "a hold was put in": (
        (
            "INSERT INTO evidence_holds SELECT 'hold_other', tenant, 'run', 'x', reason, set_by, set_at"
            " FROM evidence_holds LIMIT 1"
        ),
        {"record.unnamed"},
    ),
    "a hold is said to be another's": ("UPDATE evidence_holds SET set_by = 'rita'", {"record.changed"}),
    "a hold has another reason": ("UPDATE evidence_holds SET reason = 'other'", {"record.changed"}),
    "a hold is gone": ("DELETE FROM evidence_holds", {"record.missing"}),
    "a hold is said to be lifted": (
        "UPDATE evidence_holds SET lifted_at = set_at, lifted_by = 'ben', lifted_reason = 'x' WHERE subject = 'n'",
        {"record.unnamed"},
    ),
    "a hold is said never to have been lifted": (
        "UPDATE evidence_holds SET lifted_at = NULL, lifted_by = NULL, lifted_reason = NULL",
        {"record.missing"},
    ),
    "an act of the tenant is gone": ("DELETE FROM tenant_leaves WHERE seq = 2", {"leaf.missing", "chain.broken"}),
    "an act of the tenant says something else": (
        'UPDATE tenant_leaves SET leaf = (leaf::jsonb || \'{"event": "key.other"}\')::json WHERE seq = 2',
        {"chain.broken"},
    ),
    "the end of the tenant's chain is cut off, and its row put right": (
        (
            f"DELETE FROM tenant_leaves WHERE seq = {OWN_LAST};"
            f" UPDATE tenants SET audit_seq = audit_seq - 1,"
            f" audit_hash = (SELECT encode(hash, 'hex') FROM tenant_leaves WHERE seq = {OWN_LAST})"
        ),
        {"leaf.missing", "chain.cut"},
    ),
    "the tenant's chain is gone, and its row put right": (
        "DELETE FROM tenant_leaves; UPDATE tenants SET audit_seq = 0, audit_hash = repeat('0', 64)",
        {"leaf.missing", "chain.cut"},
    ),
    "an act of the tenant has no place": (
        "DELETE FROM log_entries WHERE chain LIKE 'tenant%%' AND first_seq = 1",
        {"leaf.unplaced"},
    ),
    "the log is another one than was signed": (
        "UPDATE log_checkpoints SET root = decode(repeat('00', 32), 'hex')",
        {"log.forked"},
    ),
    "the log is shorter than was signed": ("UPDATE log_checkpoints SET size = size + 1", {"log.cut"}),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
async def test_what_was_changed_is_named(office: Office, change: tuple[str, set[str]]) -> None:
    statements, rules = change
    for statement in statements.split(";"):
        await office.bench.meddle(statement)
    found = await office.audit()
    assert rules <= {one.rule for one in found.findings}, found.findings


async def test_a_history_that_was_rewritten_whole_shows_in_a_checkpoint_that_was_kept(office: Office) -> None:
    await office.bench.meddle("DELETE FROM log_checkpoints")
    other = TreeHead(office.head.size, bytes(32))
    (finding,) = (await office.audit(other)).findings
    assert finding.rule == "log.forked"
    assert (await office.audit()).findings == []


async def test_what_another_tenant_brought_is_no_finding(office: Office) -> None:
    bench = office.bench
    async with bench.engine.pool.connection() as conn:
        await keep_definitions(
            conn, "other", [replace(next(iter(bench.definitions.values())), name="new")], bench.clock()
        )
    assert (await office.audit()).findings == []


async def test_a_chain_of_the_tenant_that_was_emptied_leaves_records_that_no_act_brought(bench: Bench) -> None:
    for statement in ("DELETE FROM tenant_leaves", "DELETE FROM log_pending", "UPDATE tenants SET audit_seq = 0"):
        await bench.meddle(statement)
    await bench.meddle("UPDATE tenants SET audit_hash = repeat('0', 64)")
    found = (await asyncio.to_thread(audit, bench.superuser, TENANT, [])).findings
    assert {one.rule for one in found} == {"record.unnamed"}


def test_an_act_that_is_none_of_ours_is_named() -> None:
    of, at = "tenant_acme", datetime(2026, 1, 5, tzinfo=UTC)
    leaf = next_leaf(GENESIS, run_id=of, at=at, event="odd.act", actor=PROGRAM, correlation=Correlation(), data={}).leaf
    leaves = [(1, leaf.hash, leaf.model_dump(exclude={"run_id", "seq", "prev_hash", "hash"}))]
    rows = TenantRows(of, 1, leaf.hash, leaves, placed=[(1, 1)])
    assert [one.rule for one in check_tenant(rows)] == ["act.form"]
