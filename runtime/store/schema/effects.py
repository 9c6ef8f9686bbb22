"""The outbox."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    Table,
    UniqueConstraint,
    text,
)

from runtime.model.action import Tier
from runtime.model.effect import OnDoubt, Purpose
from runtime.model.states import EffectStatus
from runtime.store.schema.base import document, flag, kept, metadata, moment, number, one_of, partial, run_id, words

effects = Table(
    "effects",
    metadata,
    words("effect_id", primary_key=True),
    run_id(),
    words("tenant"),
    words("purpose"),
    words("step"),  # "" for a message
    words("connector"),
    words("operation"),
    words("target"),
    document("fields"),
    words("tier"),
    words("reversible_by", nullable=True),
    document("redact"),
    flag("hides", default=True),  # whether `fields` hold what nobody may see
    document("forgotten", nullable=True),  # JSON pointers of what was hidden, once `fields` hold it no more
    words("idempotency_key"),
    words("on_doubt"),
    words("digest"),
    words("dedupe_key"),  # 128 bits of SHA-256 of (definition, run, step, command): the same plan twice is one row
    words("correlation_key", server_default=""),
    Column("timeout_s", Float, nullable=False),
    Column("settles_s", Float, nullable=False),  # after the timeout a request may land for that long
    document("retry"),
    words("status"),
    number("attempt", 0),  # the fencing token of the lease
    number("tries", 0),  # attempts that reached the connector and were taken
    number("postponed", 0),  # times in a row that nothing could be begun, or was not taken
    words("lease_owner", nullable=True),
    moment("lease_expires_at", nullable=True),
    moment("next_try_at"),
    moment("give_up_at"),
    moment("started_at", nullable=True),  # an attempt began and its outcome is not yet known
    document("before", nullable=True),  # what the target held when the newest attempt was about to begin
    flag("claimed"),  # holds the idempotency key
    flag("asked"),  # people are asked what became of it
    flag("held"),  # somebody has to mend something, and operators were told
    words("approval_id", nullable=True),
    words("decision_id", nullable=True),
    words("error", server_default=""),
    moment("created_at"),
    UniqueConstraint("run_id", "dedupe_key"),
    one_of("status", EffectStatus),
    # one effect at a time acts under a key
    partial("uq_effects_claimed_key", "tenant", "idempotency_key", where="claimed", unique=True),
    partial(
        "ix_effects_due",
        "tenant",
        "purpose",
        text("(tries + postponed > 0)"),
        "next_try_at",
        where="status IN ('pending', 'held') OR status = 'in_doubt' AND NOT asked",
    ),
    partial("ix_effects_leased", "lease_expires_at", where="status = 'leased'"),
    # what holds something that nobody may see
    partial("ix_effects_begun", "run_id", where="purpose = 'step' AND started_at IS NOT NULL"),
    partial("ix_effects_hiding", "run_id", where="hides AND forgotten IS NULL"),
    CheckConstraint("(status = 'leased') = (lease_owner IS NOT NULL)", name="lease"),
    CheckConstraint("(purpose = 'message') = (step = '')", name="message"),
    CheckConstraint("NOT asked OR status = 'in_doubt'", name="asked"),
    one_of("purpose", Purpose),
    one_of("tier", Tier),
    one_of("on_doubt", OnDoubt),
    info=kept(
        "fields",
        "forgotten",
        "on_doubt",
        "digest",
        "timeout_s",
        "settles_s",
        "retry",
        "status",
        "attempt",
        "tries",
        "postponed",
        "lease_owner",
        "lease_expires_at",
        "next_try_at",
        "give_up_at",
        "started_at",
        "before",
        "claimed",
        "asked",
        "held",
        "approval_id",
        "decision_id",
        "error",
    ),
)
