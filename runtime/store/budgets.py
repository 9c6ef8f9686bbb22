"""What effects take of budgets. Totals are locked last in a transaction, all at once and in order, so none waits long.

A transaction that has locked totals waits for nothing after that: neither for runs, which come first, nor for the
policy in force or an idempotency key. What is released is marked alone, and leaves its total with the next use of it:
the end of an effect locks no total.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal

from runtime.model.budget import BudgetSpentError, HeldUse, SpentUse, Total, Use, UseStatus
from runtime.model.effect import LeaseLostError
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, columns_of

_ACCOUNT = "tenant, budget, counted_by, key, period, currency"
_WANTED = (
    ("tenant", "text"),
    ("budget", "text"),
    ("counted_by", "text"),
    ("key", "text"),
    ("period", "text"),
    ("currency", "text"),
    ("amount", "numeric"),
    ("most", "int"),
    ("at_most", "numeric"),
)
_ROWS = f"json_to_recordset(%(wanted)s::json) AS r ({columns_of(_WANTED)})"
_LOCK = f"""
    INSERT INTO budget_totals AS t ({_ACCOUNT}, count, sum)
    SELECT {_ACCOUNT}, 0, 0 FROM {_ROWS} ORDER BY {_ACCOUNT}
        ON CONFLICT ({_ACCOUNT}) DO UPDATE SET count = t.count
"""  # noqa: S608 - our own columns
_TAKE_OUT = f"""
    WITH released AS (
        UPDATE budget_uses SET in_total = false
         WHERE status = 'released' AND in_total AND ({_ACCOUNT}) IN (SELECT {_ACCOUNT} FROM {_ROWS})
        RETURNING {_ACCOUNT}, amount),
    by_total AS (SELECT {_ACCOUNT}, count(*) AS count, sum(amount) AS sum FROM released GROUP BY {_ACCOUNT})
    UPDATE budget_totals t SET count = t.count - r.count, sum = t.sum - r.sum FROM by_total r
     WHERE (t.tenant, t.budget, t.counted_by, t.key, t.period, t.currency)
         = (r.tenant, r.budget, r.counted_by, r.key, r.period, r.currency)
"""  # noqa: S608 - our own columns
_TAKE = f"""
    UPDATE budget_totals t SET count = t.count + 1, sum = t.sum + r.amount FROM {_ROWS}
     WHERE (t.tenant, t.budget, t.counted_by, t.key, t.period, t.currency)
         = (r.tenant, r.budget, r.counted_by, r.key, r.period, r.currency)
       AND (r.most IS NULL OR t.count + 1 <= r.most) AND (r.at_most IS NULL OR t.sum + r.amount <= r.at_most)
    RETURNING t.budget, t.count, t.sum
"""  # noqa: S608 - our own columns
_TOTALS = f"SELECT budget, count, sum FROM budget_totals WHERE ({_ACCOUNT}) IN (SELECT {_ACCOUNT} FROM {_ROWS})"  # noqa: S608

_RESERVED = WriteKind(
    "reserved",
    "budget_uses",
    """
    INSERT INTO budget_uses (
        decision_id, budget, tenant, counted_by, key, period, currency, amount, effect_id, status, at)
    SELECT * FROM {r}
    """,
    (
        ("decision_id", "text"),
        ("budget", "text"),
        ("tenant", "text"),
        ("counted_by", "text"),
        ("key", "text"),
        ("period", "text"),
        ("currency", "text"),
        ("amount", "numeric"),
        ("effect_id", "text"),
        ("status", "text"),
        ("at", "timestamptz"),
    ),
    key=2,
)
_ENDED = WriteKind(
    "ended",
    "budget_uses",
    """
    UPDATE budget_uses SET status = r.status FROM {r}
     WHERE budget_uses.decision_id = r.decision_id AND budget_uses.budget = r.budget AND budget_uses.status = 'reserved'
    RETURNING budget_uses.decision_id AS id
    """,
    (("decision_id", "text"), ("budget", "text"), ("status", "text")),
    key=2,
    lost=LeaseLostError,
)


async def reserve(
    conn: Conn, tenant: str, begun: tuple[str, str], uses: Sequence[Use], beyond: Collection[str], now: datetime
) -> dict[str, Total]:
    """Take of budgets for an effect that has `begun` by a decision (ids of both); return the new totals by name.

    Raise BudgetSpentError where too little is left of one that is not among those that it may go `beyond`. Be last in
    the transaction: totals are locked.
    """
    wanted = {"wanted": json.dumps([_row(tenant, use, beyond) for use in uses])}
    await conn.write()
    conn.put(_LOCK, wanted)
    conn.put(_TAKE_OUT, wanted)
    taken = _totals(await conn.rows(_TAKE, wanted))
    if len(taken) < len(uses):
        found = _totals(await conn.rows(_TOTALS, wanted))
        raise BudgetSpentError([SpentUse(use, found[use.name]) for use in uses if use.name not in taken])
    effect_id, decision_id = begun
    for use in uses:
        taken_of = (use.name, tenant, use.by, use.key, use.period, use.currency, str(use.amount))
        await conn.gather(_RESERVED, (decision_id, *taken_of, effect_id, UseStatus.RESERVED, now))
    return taken


def _row(tenant: str, use: Use, beyond: Collection[str]) -> dict[str, str | int | None]:
    is_bound = use.name not in beyond
    return {
        "tenant": tenant,
        "budget": use.name,
        "counted_by": use.by,
        "key": use.key,
        "period": use.period,
        "currency": use.currency,
        "amount": str(use.amount),
        "most": use.most if is_bound else None,
        "at_most": str(use.at_most) if is_bound and use.at_most is not None else None,
    }


def _totals(rows: Sequence[dict[str, int | str | Decimal]]) -> dict[str, Total]:
    return {str(row["budget"]): Total(int(row["count"]), Decimal(row["sum"])) for row in rows}


async def held_by(conn: Conn, effect_id: str) -> tuple[HeldUse, ...]:
    """Return what an effect has taken of budgets by attempts whose outcome is not known."""
    rows = await conn.read(
        "SELECT decision_id, budget FROM budget_uses WHERE effect_id = %s AND status = 'reserved' ORDER BY budget",
        (effect_id,),
    )
    return tuple(HeldUse(row["decision_id"], row["budget"]) for row in rows)


async def end(conn: Conn, held: Sequence[HeldUse], status: UseStatus) -> None:
    """Say what became of what was reserved; LeaseLostError at the commit if somebody else has said it."""
    for one in held:
        await conn.gather(_ENDED, (one.decision_id, one.budget, status))
