"""Child runs: the other side of `run` and `continue_with`. It starts a run, once for each step that asks for one."""

from receipts.chain import Actor
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched
from runtime.model.runbook_version import NotActiveError, version_to_start
from runtime.model.wait import wait_of_token
from runtime.planning.triggers import Claim, Trigger, TriggerError, claim_in, find_claim
from runtime.store import runs, waits
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_active, versions_of_runbook

START, CONTINUE = "run::start", "run::continue_with"
DEEPEST = 10
"""Levels of runs that start runs: one that starts itself ends there."""


def child_handlers(engine: Engine) -> dict[str, Handler]:
    """Return the handlers of the built-in verbs that start runs."""

    async def start(call: Call) -> JsonObject:
        return {"run_id": await _start(engine, call, _ref(call, wait_of_token(call.token)), {"token": call.token})}

    async def find(call: Call) -> Reconciled:
        async with engine.pool.connection() as conn:
            wait = await waits.last_wait(conn, call.run_id, call.step)
        return await _find(engine, call, _ref(call, wait.wait_id if wait else ""))

    async def continue_with(call: Call) -> JsonObject:
        return {"run_id": await _start(engine, call, _ref(call), {})}

    async def find_next(call: Call) -> Reconciled:
        return await _find(engine, call, _ref(call))

    return {START: Handler(start, reconcile=find), CONTINUE: Handler(continue_with, reconcile=find_next)}


def _ref(call: Call, wait_id: str = "") -> str:
    """Return the reference of what a step starts: one that waits and is tried anew waits, and starts, anew."""
    return ":".join(filter(None, (call.run_id, call.step, wait_id)))


async def _find(engine: Engine, call: Call, ref: str) -> Reconciled:
    """Find what the step has started, in our own rows: no person has to say whether it did."""
    async with engine.pool.connection() as conn:
        types = {life.trigger_type for life in await versions_of_runbook(conn, call.tenant, call.params["runbook"])}
        for trigger_type in sorted(types):
            if found := await find_claim(BatchedReads(conn), await _trigger(conn, call, trigger_type, ref, {})):
                return Done({"run_id": found.run_id})
    return Untouched()


async def _trigger(conn: Conn, call: Call, trigger_type: str, ref: str, awaited: dict[str, str]) -> Trigger:
    behind = await runs.starter(conn, call.tenant, call.run_id)
    depth = (behind["parent"] or {}).get("depth", 0) + 1
    return Trigger(
        tenant=call.tenant,
        type=trigger_type,
        ref=ref,
        payload=call.params["trigger"],
        requested_by=Actor(id=behind["requested_by"], kind=behind["requester_kind"]),
        submitted_by=behind["submitted_by"],
        request_id=behind["request_id"],
        parent={"run_id": call.run_id, "step": call.step, "depth": depth, **awaited},
    )


async def _start(engine: Engine, call: Call, ref: str, awaited: dict[str, str]) -> str:
    async with engine.pool.connection() as conn:
        definition = await _definition(engine, conn, call)
        trigger = await _trigger(conn, call, definition.trigger_type, ref, awaited)
    if trigger.parent and trigger.parent["depth"] > DEEPEST:
        raise RefusedError(f"runs that start runs go {DEEPEST} deep, and no deeper")
    try:
        claimed = await _claim(engine, definition, trigger)
    except TriggerError as error:
        raise RefusedError(f"{definition.name} version {definition.version}: {error}") from error
    return claimed.run_id


async def _claim(engine: Engine, definition: Definition, trigger: Trigger) -> Claim:
    """Claim a trigger for a step; raise RefusedError where its version has retired meanwhile, or the step has ended.

    The run of a step that waits is held until this is committed: what ends it afterwards finds what was started for it.
    """
    async with engine.pool.connection() as conn, conn.transaction():
        token = (trigger.parent or {}).get("token")
        if token and trigger.parent:
            await runs.keep_from_moving(conn, trigger.parent["run_id"])
        claimed = await claim_in(engine, BatchedReads(conn), definition, trigger)
        if claimed.is_new and token and not await waits.is_awaited(conn, token):
            raise RefusedError("the step that asked for it has ended")
        if claimed.is_new and not claimed.signal:
            await _expect_active(conn, trigger.tenant, definition)
    if claimed.is_new:
        at(Point.TRIGGER_CLAIMED)
        engine.wakeup.poke()
    return claimed


async def _expect_active(conn: Conn, tenant: str, definition: Definition) -> None:
    if not await keep_active(conn, tenant, definition.name, definition.version):
        raise RefusedError(f"{definition.name} version {definition.version} has retired just now")


async def _definition(engine: Engine, conn: Conn, call: Call) -> Definition:
    """Return the version that starts: of those that are active the one that is named, or else the newest."""
    name, version = call.params["runbook"], call.params.get("version")
    lives = await versions_of_runbook(conn, call.tenant, name)
    if not lives:
        raise RefusedError(f"there is no runbook {name}")
    try:
        life = version_to_start(lives, version)
    except NotActiveError as error:
        raise RefusedError(str(error)) from error
    return await engine.definitions.get(conn, life.name, life.version)
