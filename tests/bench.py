"""A whole runtime on a test bench: real database, real OPA, a clock moved by hand, connectors written by hand."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from bot.views.card import card
from bot.views.messages import message_text
from countersign.engine import keep_definitions
from countersign.settings import ROOT
from policy.engine import PolicyEngine
from receipts.chain import Actor, Leaf
from receipts.privacy import Privacy
from runtime import sweeps
from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.definitions.model import Definition
from runtime.engine import Engine, Routing
from runtime.handlers import Answer, Call, Done, Handler, JsonObject, Reconciled, Untouched
from runtime.inbox import inbox
from runtime.lanes import Lane, room_for, slots_of
from runtime.model.effect import Effect, Purpose
from runtime.model.messages import Said
from runtime.model.notification import Notification
from runtime.model.payloads import CompletionPayload, ProgressPayload
from runtime.model.person import SlackAccount
from runtime.model.runbook_version import Activation
from runtime.model.votes import ClaimAct, VoteVerdict
from runtime.outbox.entities import entity_handlers
from runtime.planning import triggers
from runtime.planning.triggers import Claim, Trigger
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards
from runtime.services.child_runs import child_handlers
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.home import HomeQueries, Look, Waiting
from runtime.store import directory, leases, runs
from runtime.store.leases import Lessee
from runtime.store.run_history import chain_of_run
from runtime.worker import Worker
from tests import leaves
from tests.begun import Rows, begin_with, rows_of
from tests.databases import program_pool, superuser
from tests.logins import as_program, loading

TENANT = "acme"
TEAM = "T0ACME"
PUBLIC_URL = "https://countersign.example"
EDITION = directory.Edition(0, "be" * 32)
BENCH_SECRET = "xapp-1-benchSettingsHoldThisToken-0987654321"
"""A secret of the bench's settings."""
BENCH_PRIVACY = Privacy.of([BENCH_SECRET])
VERBS = ["request_client_documents", "request_additional_information", "await_answer"]
PEOPLE = {
    "rita": ["onboarding"],
    "ann": ["compliance"],
    "ben": ["compliance"],
    "cat": ["compliance"],
    "sue": ["senior-compliance"],
    "omar": ["operators"],
    "ivy": ["incident-managers"],
    "olga": ["payments-owners"],
    "sam": ["security"],
    "pam": ["payments-owners", "security"],
}

_AWAIT = {
    "audit_leaves": """
        INSERT INTO log_pending SELECT r.tenant, r.run_id, 1, string_agg(l.hash, '' ORDER BY l.seq)
          FROM runs r JOIN audit_leaves l USING (run_id) GROUP BY r.run_id
    """,
    "tenant_leaves": """
        INSERT INTO log_pending SELECT tenant, 'tenant_' || tenant, 1, string_agg(hash, '' ORDER BY seq)
          FROM tenant_leaves GROUP BY tenant
    """,
}


@dataclass
class HandClock:
    """A clock that stands still until it is moved."""

    now: datetime = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class Target:
    """A connector's other side: counts what was done, answers what it is told to."""

    calls: list[Call] = field(default_factory=list)
    answers: list[JsonObject | Answer | Exception] = field(default_factory=list)
    done: dict[str, JsonObject] = field(default_factory=dict)
    default: JsonObject = field(default_factory=lambda: {"ok": True})

    async def run(self, call: Call) -> JsonObject | Answer:
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else dict(self.default)
        if isinstance(answer, Exception):
            raise answer
        self.done[call.key] = Answer.of(answer).result
        return answer

    async def reconcile(self, call: Call) -> Reconciled:
        return Done(self.done[call.key]) if call.key in self.done else Untouched()

    def handler(self, **extra: Any) -> Handler:
        return Handler(run=self.run, **extra)


class ChatTarget(Target):
    """The chat's other side, as far as the runtime sees it: gives each message a place."""

    async def run(self, call: Call) -> JsonObject:
        self.calls.append(call)
        return {"channel": str(call.params.get("channel", "D1")), "ts": f"{len(self.calls)}.0"}

    def said(self, operation: str) -> list[JsonObject]:
        """Return the params of an operation's calls, those that say something with the bot's words as `text`."""
        return [_in_words(call.params) for call in self.calls if call.operation == operation]


def _in_words(params: JsonObject) -> JsonObject:
    return {**params, "text": message_text(_SAID.validate_python(params["said"]))} if "said" in params else dict(params)


_SAID: TypeAdapter[Said] = TypeAdapter(Said)


ROUTING = Routing("C0APPROVALS", {"compliance": "C0COMPLIANCE"}, public_url=PUBLIC_URL)
CHAT_OPERATIONS = ("post_card", "update_card", "post_message", "update_message", "direct_message", "post_task")


@dataclass
class Bench:
    """The runtime and everything around it."""

    engine: Engine
    worker: Worker
    clock: HandClock
    chat: ChatTarget
    desk: ApprovalService
    definitions: Mapping[str, Definition]
    superuser: str
    catalog: Catalog

    async def start(self, trigger_type: str, payload: Mapping[str, Any], ref: str = "1", by: str = "rita") -> Claim:
        trigger = Trigger(TENANT, trigger_type, ref, payload, Actor(id=by, kind="person"), "portal-bot", "req-1")
        return await triggers.claim(self.engine, self.definitions[trigger_type], trigger)

    async def settle(self) -> None:
        """Do all that can be done at this moment."""
        await self.worker.drain()

    async def later(self, **by: float) -> None:
        """Move the clock, sweep, and do what follows."""
        self.clock.move(**by)
        await sweeps.sweep(self.engine)
        await self.settle()

    async def run_summary(self, run_id: str) -> dict[str, Any]:
        async with self.engine.pool.connection() as conn:
            found = await runs.run_summary(conn, TENANT, run_id)
        assert found is not None
        return found

    async def run(self, run_id: str) -> dict[str, Any]:
        found = await self.run_summary(run_id)
        return {**found, "steps": {step["path"]: step for step in found["steps"]}}

    async def lease(self, worker: str, lasts: timedelta = timedelta(0), slots: int = 8) -> list[Effect]:
        """Lease effects of steps as another worker would."""
        now = self.clock()
        room = room_for(slots_of(slots, receivers=0), Lane.EFFECTS, [], self.engine.handlers)
        async with self.engine.pool.connection() as conn:
            return await leases.lease_effects(conn, Lessee(TENANT, worker, now, now + lasts), Purpose.STEP, room)

    async def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Return what the program finds; backwards where the query names no order: no test may then go by one."""
        async with self.engine.pool.connection() as conn:
            found = await (await conn.execute(query, values)).fetchall()
            return found if "ORDER BY" in query else found[::-1]

    async def chain(self, run_id: str) -> list[Leaf]:
        """Return the run's leaves, with their place in its chain."""
        async with self.engine.pool.connection() as conn:
            return await chain_of_run(conn, run_id)

    async def meddle(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Change what no program may: as a superuser, past every trigger."""
        with superuser(self.superuser) as conn:
            return leaves.meddle(conn, query, values)

    async def forget_log(self) -> None:
        """Take away every place in the log, and all that was signed of it."""
        for table in ("log_checkpoints", "log_heads", "log_tiles", "log_entries", "log_pending"):
            await self.meddle(f"DELETE FROM {table}")

    async def await_places(self, *tables: str) -> None:
        """Have all leaves of these tables await a place."""
        for table in tables:
            await self.meddle(_AWAIT[table])

    async def pending(self, person: str, limit: int) -> Waiting:
        """Return what waits for a person."""
        return await HomeQueries(self.engine, TENANT).waiting(person, Look(limit))

    async def approval_id(self, kind: str = "effect", status: str = "requested") -> str:
        found = await self.rows(
            "SELECT approval_id FROM approvals WHERE kind = %s AND status = %s ORDER BY requested_at DESC", kind, status
        )
        return str(found[0]["approval_id"])

    async def click(
        self,
        person: str,
        approval_id: str,
        verdict: str = "approve",
        reason: str = "seen and checked",
        nonce: str = "",
        stamp: str = "",
    ) -> ClickOutcome:
        click = Click(
            dedupe_key=f"{approval_id}:{person}:{verdict}:{nonce}",
            approval_id=approval_id,
            stamp=stamp,
            verdict=VoteVerdict(verdict),
            reason=reason,
            account=SlackAccount(TEAM, f"U{person.upper()}"),
            person_id=person,
            refusal=None,
            request_id="req-click",
        )
        return await self.desk.apply(await self.desk.record(click))

    async def show(self, approval_id: str, ts: str = "1.0") -> None:
        """Remember a request's card as it is now, as the bot does that posted or edited it."""
        view = await self.desk.approval(approval_id)
        assert view
        await StoredCards(self.engine).remember(approval_id, "C1", ts, card(view, now=self.clock()).json())

    async def claim(self, person: str, approval_id: str, act: str = "claim", nonce: str = "") -> ClickOutcome:
        """Take a review on in Slack, or give it back."""
        click = Click(
            dedupe_key=f"{approval_id}:{person}:{act}:{nonce}",
            approval_id=approval_id,
            stamp="",
            verdict=ClaimAct(act),
            reason="",
            account=SlackAccount(TEAM, f"U{person.upper()}"),
            person_id=person,
            refusal=None,
            request_id="req-claim",
        )
        return await self.desk.apply(await self.desk.record(click))

    async def review(self, ref: str = "1") -> str:
        """Start a run that asks compliance for a review; return the review."""
        run_id = (await self.start("bench.review", {"case": "C1"}, ref)).run_id
        await self.settle()
        found = await self.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
        return str(found[0]["approval_id"])

    async def complete(
        self, key: str, result: Any, dedupe: str = "c1", token: str | None = "", **payload: Any
    ) -> Mapping[str, Any]:
        """Answer as the other side would: with the token that went out, unless another, or None, is given."""
        if token == "":
            waits = await self.rows("SELECT token FROM waits WHERE correlation_key = %s ORDER BY created_at", key)
            token = waits[-1]["token"] if waits else None
        body = {"outcome": "succeeded", "result": result, "error": "", "token": token, "verbs": VERBS, **payload}
        notification = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=TENANT,
            dedupe_key=dedupe,
            correlation_key=key,
            payload=CompletionPayload(**body),
            actor=Actor(id="portal-bot", kind="agent"),
            request_id="req-done",
        )
        return await inbox.apply(self.engine, await inbox.record(self.engine, notification))

    async def progress(
        self, key: str, message: str, data: dict[str, Any] | None = None, verbs: list[str] = VERBS
    ) -> Mapping[str, Any]:
        """Tell how far the other side has come, with the token that went out."""
        waits = await self.rows("SELECT token FROM waits WHERE correlation_key = %s ORDER BY created_at", key)
        payload = ProgressPayload(message=message, data=data, token=waits[-1]["token"], verbs=verbs)
        actor, id_ = Actor(id="portal-bot", kind="agent"), self.engine.new_id("ntf")
        new = Notification(id_, TENANT, id_, key, payload, actor, "req-progress")
        return await inbox.apply(self.engine, await inbox.record(self.engine, new))


Kind = tuple[object, ...]
"""Of what kind a bench is: its packs, and what is looked at in its handlers."""
_catalogs: dict[Kind, Catalog] = {}
_begun: dict[tuple[Kind, datetime], Rows] = {}


def _kind(packs: list[Path], handlers: Mapping[str, Handler]) -> Kind:
    """Return the packs, and of each handler its kind: nothing else in handlers is looked at."""
    kinds = (
        (name, handler.writes, handler.reconcile is None, handler.before is None) for name, handler in handlers.items()
    )
    return (*packs, *sorted(kinds))


def _catalog(packs: list[Path], handlers: Mapping[str, Handler]) -> Catalog:
    """Load the packs once for handlers of the same kinds."""
    kind = _kind(packs, handlers)
    if kind not in _catalogs:
        _catalogs[kind] = load_catalog(packs, handlers)
        _catalogs[kind].require("strict")
    return _catalogs[kind]


async def _begin(engine: Engine, superuser: str, packs: list[Path]) -> None:
    """Store the definitions and the people: once for a kind of bench, and then as they were stored for the first.

    Packs that one test has written come after those of the checkout, as at a start that brings them.
    """
    lasting = [pack for pack in packs if pack.is_relative_to(ROOT)]
    kind = (_kind(lasting, engine.handlers), engine.clock())
    is_untouched = begin_with(superuser, _begun.get(kind))
    if not (is_untouched and kind in _begun):
        await _store(engine, superuser, _catalog(lasting, engine.handlers))
        if is_untouched:
            _begun[kind] = rows_of(superuser)
    if packs != lasting:
        await keep_definitions(engine, _catalog(packs, engine.handlers), Activation.FIRST)


async def _store(engine: Engine, superuser: str, catalog: Catalog) -> None:
    await keep_definitions(engine, catalog, Activation.FIRST)
    people = [{"id": i, "kind": "person", "name": i.title(), "groups": g, "grants": {}} for i, g in PEOPLE.items()]
    agent = {"id": "portal-bot", "kind": "agent", "name": "Portal", "groups": [], "grants": {}}
    accounts = [(TEAM, f"U{i.upper()}", i) for i in PEOPLE]
    async with loading(superuser) as conn:
        await directory.replace_directory(conn, TENANT, EDITION, [*people, agent], accounts, engine.clock())


@asynccontextmanager
async def open_bench(
    dsn: str,
    policy: PolicyEngine,
    packs: list[Path],
    handlers: Mapping[str, Handler],
    *,
    clock: HandClock | None = None,
    routing: Routing = ROUTING,
    privacy: Privacy = BENCH_PRIVACY,
    **connection: Any,
) -> AsyncIterator[Bench]:
    """Open a runtime over `dsn` with the given packs and handlers; chat operations are counted by hand."""
    chat = ChatTarget()
    nobody: Any = None
    every = {
        **entity_handlers(nobody, {}),
        **{f"slack::{name}": chat.handler(reconcile=chat.reconcile) for name in CHAT_OPERATIONS},
        **handlers,
    }
    catalog = _catalog(packs, every)
    clock = clock or HandClock()
    async with program_pool(dsn, **connection) as pool:
        every.update(entity_handlers(pool, catalog.entities))
        engine = Engine(
            dsn=as_program(dsn),
            listen_dsn=as_program(dsn),
            pool=pool,
            tenant=TENANT,
            handlers=every,
            policy=policy,
            clock=clock,
            routing=routing,
            worker="bench",
            privacy=privacy,
            jitter=lambda: 0.0,
        )
        await _begin(engine, dsn, packs)
        every.update(child_handlers(engine))
        definitions = {definition.trigger_type: definition for definition in catalog.definitions.values()}
        yield Bench(engine, Worker(engine), clock, chat, ApprovalService(engine, TENANT), definitions, dsn, catalog)


def with_handlers(bench: Bench, handlers: Mapping[str, Handler]) -> Bench:
    """Return the bench with other connectors, as after a restart of the worker."""
    engine = replace(bench.engine, handlers={**bench.engine.handlers, **handlers})
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))
