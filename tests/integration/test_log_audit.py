"""The audit of a live database names what was taken out of it, put into it or changed, with triggers off."""

import asyncio
from dataclasses import dataclass

import pytest

from receipts.log.hashes import TreeHead
from runtime.log.audit import Audit, audit
from runtime.log.sequencer import Sequencer
from runtime.store.log import checkpoints
from runtime.store.log.checkpoints import Signed
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets

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


@pytest.fixture
async def office(bench: Bench, targets: Targets) -> Office:
    assert targets
    approved = (await bench.start("bench.file", FILE, ref="f")).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.start("bench.note", NOTE, ref="n")
    await bench.start("bench.wait", WAIT, ref="w")
    await bench.start("bench.branches", {}, ref="b")
    await bench.settle()
    while await Sequencer(bench.engine)():
        pass
    async with bench.engine.pool.connection() as conn:
        head = await checkpoints.read_head(conn, TENANT)
        assert head is not None
        await checkpoints.keep_checkpoint(conn, TENANT, Signed(head, "", bench.clock(), is_published=False))
    return Office(bench, approved, head)


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
    "a card was put in": (f"UPDATE approvals SET cards = '[{{}}]' WHERE {OF}", {"record.changed"}),
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
