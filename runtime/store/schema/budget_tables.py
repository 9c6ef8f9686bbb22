"""Tables of budgets: what effects take of them, and the totals."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, ForeignKeyConstraint, Numeric, PrimaryKeyConstraint, Table
from sqlalchemy import Text as SqlText

from runtime.model.budget import UseStatus
from runtime.store.schema.base import flag, kept, metadata, moment, number, one_of, partial, words

_ACCOUNT = ("tenant", "budget", "counted_by", "key", "period", "currency")
_PERIODS = [f"budget_totals.{name}" for name in _ACCOUNT]

# How much of a budget is taken, for one requester, agent or target, in one day or month and one currency ("" for none).
# An attempt that begins locks its totals last of all, in the order of their keys. What was released is taken out then.
budget_totals = Table(
    "budget_totals",
    metadata,
    Column("tenant", SqlText, ForeignKey("tenants.tenant"), nullable=False),
    words("budget"),
    words("counted_by"),
    words("key"),
    words("period"),
    words("currency"),
    number("count"),
    Column("sum", Numeric, nullable=False),
    PrimaryKeyConstraint(*_ACCOUNT),
    CheckConstraint("count >= 0", name="count"),
    CheckConstraint("sum >= 0", name="sum"),
    info=kept("count", "sum"),
)


# What an attempt, begun by a decision, takes of a budget: reserved until its outcome is known, then used or released.
# An effect holds one reservation of a budget at a time.
budget_uses = Table(
    "budget_uses",
    metadata,
    words("decision_id"),
    Column("effect_id", SqlText, ForeignKey("effects.effect_id"), nullable=False),
    words("tenant"),
    words("budget"),
    words("counted_by"),
    words("key"),
    words("period"),
    words("currency"),
    Column("amount", Numeric, nullable=False),
    words("status"),
    flag("in_total", default=True),  # false once the total is without what was released
    moment("at"),
    PrimaryKeyConstraint("decision_id", "budget"),
    ForeignKeyConstraint(_ACCOUNT, _PERIODS),
    one_of("status", UseStatus),
    CheckConstraint("in_total OR status = 'released'", name="in_total"),
    CheckConstraint("amount >= 0", name="amount"),
    partial("uq_budget_uses_reserved", "effect_id", "budget", where="status = 'reserved'", unique=True),
    partial("ix_budget_uses_returned", *_ACCOUNT, where="status = 'released' AND in_total"),
    info=kept("status", "in_total"),
)
