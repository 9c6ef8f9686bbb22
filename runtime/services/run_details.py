"""Details of a run for its page: its graph, what it did outside and why that was allowed, signals, and its chain."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.canonical import digest
from receipts.chain import CARD_SHOWN, VOTE_COUNTED
from receipts.redaction import hide
from runtime.definitions.model import Definition
from runtime.definitions.nodes import WaitSpec
from runtime.engine import Engine
from runtime.model.approval import AskKind
from runtime.services.approval_rows import shown_fields
from runtime.services.approval_view import FieldView
from runtime.services.run_graph import RunGraph, graph_of
from runtime.store import run_details
from runtime.store.database.pool import Conn

EFFECTS = 50
"""Effects of a run's steps that are shown in full."""
RECEIPTS = 500
"""Receipts of those that are shown."""
SIGNALS = 50
CARDS = 10
"""Cards of a request that are shown, the newest."""

_ROUTINE = re.compile(
    r"effect\.proposed|decision\.recorded|receipt\.written|read\.recorded|card\.shown|wait\.(opened|completed)"
    r"|step\.(ready|running|succeeded|skipped|parked|waiting_approval)|run\.(running|waiting|waiting_approval)"
)


@dataclass(frozen=True)
class Decided:
    """Policy's last decision on an effect: its answer, the rules behind it, and how often policy was asked."""

    decision_id: str
    outcome: str
    rules: Sequence[tuple[str, str]]
    policy_digest: str
    at: datetime
    asked: int


@dataclass(frozen=True)
class ShownEffect:
    """An effect of a step: what it changes, the last decision on it, None before there is one, and its receipts."""

    effect_id: str
    step: str
    action: str
    target: str
    tier: str
    status: str
    tries: int
    error: str
    reversible_by: str | None
    fields: Sequence[FieldView]
    decided: Decided | None
    receipts: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class TrailLeaf:
    """A record of the run's chain; a routine one is told together with those beside it."""

    seq: int
    at: str
    event: str
    actor: str
    about: str
    data: Mapping[str, Any]
    hash: str
    is_routine: bool


@dataclass(frozen=True)
class RunDetails:
    """What a run's page shows beside the run; `all_…` count what there is."""

    graph: RunGraph
    all_steps: int
    effects: Sequence[ShownEffect]
    all_effects: int
    signals: Sequence[Mapping[str, Any]]
    all_signals: int


@dataclass(frozen=True)
class ShownCard:
    """A card as it was shown: its number among those of its request, and its digest.

    `at` is when the chain says that a card of this digest was shown, "" where it says so of none; `voters` are the
    names of those who voted on it.
    """

    number: int
    card: Mapping[str, Any]
    digest: str
    at: str
    voters: Sequence[str]


async def find_details(engine: Engine, conn: Conn, tenant: str, run: Mapping[str, Any]) -> RunDetails:
    """Return the details of a run that was read in full."""
    definition = await engine.definitions.get(conn, run["definition_name"], run["definition_version"])
    counts = await run_details.step_counts(conn, run["run_id"])
    effects = await run_details.effects_of(conn, run["run_id"], EFFECTS)
    ids = [row["effect_id"] for row in effects]
    decisions = await run_details.last_decisions(conn, run["run_id"], ids)
    receipts: dict[str, list[Mapping[str, Any]]] = {}
    for row in await run_details.receipts_of(conn, run["run_id"], ids, RECEIPTS):
        receipts.setdefault(row["effect_id"], []).append(row)
    names = set(_signals_of(definition))
    signals = await run_details.signals_to(conn, tenant, run["run_id"], names, SIGNALS) if names else []
    return RunDetails(
        graph=graph_of(definition, counts, run["runs"]),
        all_steps=sum(row["count"] for row in counts),
        effects=[_effect(row, decisions.get(row["effect_id"]), receipts.get(row["effect_id"], ())) for row in effects],
        all_effects=effects[0]["total"] if effects else 0,
        signals=[{**one, "data": hide(one["data"]).value} for one in signals],
        all_signals=signals[0]["total"] if signals else 0,
    )


def _signals_of(definition: Definition) -> Iterator[str]:
    """Yield the names of the signals that the runbook may take."""
    for node in definition.steps.values():
        if isinstance(node.spec, WaitSpec) and node.spec.signal:
            yield node.spec.signal
    if definition.about:
        yield definition.about.signal


def _effect(
    row: Mapping[str, Any], decided: Mapping[str, Any] | None, receipts: Sequence[Mapping[str, Any]]
) -> ShownEffect:
    same = ("effect_id", "step", "target", "tier", "status", "tries", "error", "reversible_by")
    return ShownEffect(
        **{name: row[name] for name in same},
        action=f"{row['connector']}::{row['operation']}",
        fields=shown_fields(row, AskKind.EFFECT),
        decided=_decided(decided) if decided else None,
        receipts=receipts,
    )


def _decided(row: Mapping[str, Any]) -> Decided:
    rules = [(str(one.get("code", "")), str(one.get("msg", ""))) for one in row["answer"].get("reasons", ())]
    return Decided(row["decision_id"], row["outcome"], rules, row["policy_digest"], row["at"], row["asked"])


async def find_trail(conn: Conn, run_id: str, after: int, limit: int) -> list[TrailLeaf]:
    """Return the records of a run's chain behind one of them, at most so many."""
    return [_leaf(leaf) for leaf in await run_details.leaves_after(conn, run_id, after, limit)]


def _leaf(leaf: Mapping[str, Any]) -> TrailLeaf:
    about, data = leaf["correlation"], leaf["data"] or {}
    is_plain = data.get("outcome") in (None, "allow", "success")
    return TrailLeaf(
        seq=leaf["seq"],
        at=leaf["at"],
        event=leaf["event"],
        actor=leaf["actor"]["id"],
        about=about["step"] or about["approval_id"] or about["effect_id"] or "",
        data=data,
        hash=leaf["hash"],
        is_routine=is_plain and _ROUTINE.fullmatch(leaf["event"]) is not None,
    )


async def find_cards(conn: Conn, tenant: str, run_id: str, approval_id: str) -> tuple[list[ShownCard], int] | None:
    """Return the newest cards of a request of the run, and how many there were; None where there is no such request."""
    rows = await run_details.cards_of(conn, tenant, run_id, approval_id, CARDS)
    if rows is None:
        return None
    told = await run_details.cards_told(conn, run_id, approval_id)
    return [_card(row, told) for row in rows], rows[0]["total"] if rows else 0


def _card(row: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> ShownCard:
    own = digest(row["card"])
    at = next((one["at"] for one in told if one["event"] == CARD_SHOWN and one["data"].get("digest") == own), "")
    votes = [one for one in told if one["event"] == VOTE_COUNTED and one["data"].get("card") == own]
    return ShownCard(row["number"], row["card"], own, at, [one["name"] or one["data"]["person"] for one in votes])
