"""Puts an attempt at a read on record: what it asked, got, used and cost."""

from dataclasses import dataclass
from datetime import datetime

from receipts.canonical import digest_of
from receipts.chain import READ_RECORDED
from receipts.fields import timestamp
from receipts.read import ReadRecord, measured
from runtime.engine import Engine
from runtime.handlers import Answer, HandlerError, JsonObject
from runtime.model.action import commitment
from runtime.model.run import ReadLease
from runtime.outbox.usage import told_in
from runtime.store import records
from runtime.store.run_tx import RunTx


@dataclass(frozen=True)
class ReadAttempt:
    """An attempt at a read that has come back: what it gave, and what was told beside that, if anything."""

    lease: ReadLease
    verb: str
    handler: str
    began: datetime
    result: JsonObject | Exception
    said: Answer | HandlerError | None


async def record_read(engine: Engine, tx: RunTx, attempt: ReadAttempt, error: str) -> None:
    """Write the record of an attempt, and the leaf that names it; `error` may be put on record, "" for none."""
    lease, result, salt = attempt.lease, attempt.result, tx.row["salt"]
    params = dict(lease.params)
    record = ReadRecord(
        read_id=engine.new_id("red"),
        tenant=lease.tenant,
        run_id=lease.run_id,
        step=lease.path,
        verb=attempt.verb,
        handler=attempt.handler,
        attempt=lease.attempt,
        started_at=timestamp(min(attempt.began, tx.now)),
        finished_at=timestamp(tx.now),
        outcome="failure" if isinstance(result, Exception) else "success",
        request=measured(params, commitment(params, salt)),
        response=None if isinstance(result, Exception) else measured(result, commitment(result, salt)),
        told=await told_in(tx, attempt.said),
        error=error or None,
    )
    document = record.document()
    seq = tx.leaf(READ_RECORDED, {"read_id": record.read_id, "digest": digest_of(document)}, step=lease.path)
    await records.insert_read(tx.conn, seq, record, document)
