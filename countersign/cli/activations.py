"""Moves that policy and people decide, of definitions and policy versions: asks for one, and says what came of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from countersign.cli.command import out, run, shared_settings, show_json
from countersign.cli.operate import APPLY_SECONDS, perform
from countersign.connection import expected, looked_up
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from runtime.model.effect import Purpose
from runtime.model.states import RUN, EffectStatus, RunStatus, is_final
from runtime.services.operator import PAUSE, OperatorService
from runtime.services.run_in_full import find_run

_SETTLED = {RunStatus.WAITING_APPROVAL, *(status for status in RunStatus if is_final(RUN, status))}
_PUT_OFF = (EffectStatus.PENDING, EffectStatus.BLOCKED)


def move(record: Callable[[OperatorService], Awaitable[str]], done: str, *, as_json: bool) -> None:
    """Ask for a move, wait a while for what policy says, and tell it; raise OperateError where nothing was done."""
    settings = shared_settings("database_url")
    facts = run(perform(settings, record))
    if "run_id" in facts:
        facts |= run(_run_outcome(settings, facts["run_id"]))
    if facts.get("run_status") in (RunStatus.FAILED_TERMINAL, RunStatus.CANCELED):
        raise OperateError(f"nothing was done: {facts['error']} ({facts['run_id']})")
    if as_json:
        show_json(facts)
        return
    out.print(_outcome_text(facts, done))


def _outcome_text(facts: dict[str, Any], done: str) -> str:
    match facts.get("run_status"):
        case RunStatus.SUCCEEDED:
            return f"{done} ({facts['run_id']})"
        case RunStatus.WAITING_APPROVAL:
            return (
                f"policy requires signatures, which are requested now; until then nothing changes ({facts['run_id']})"
            )
    told = f"on record as {facts.get('run_id', facts['notification_id'])}: a worker will do it"
    return f"{told}\nput off: {facts['put_off']}" if facts.get("put_off") else told


async def _run_outcome(settings: Settings, run_id: str) -> dict[str, Any]:
    """Return how the run stands once it has ended or waits for people, or after a while; `put_off` is why not yet."""
    until = time.monotonic() + APPLY_SECONDS
    while True:
        found = expected(await looked_up(settings, find_run, run_id), f"run {run_id}")
        status = RunStatus(found["status"])
        if status in _SETTLED or time.monotonic() >= until:
            return {"run_status": str(status), "error": found["error"], "put_off": _why_put_off(found["effects"])}
        await asyncio.sleep(PAUSE)


def _why_put_off(effects: Sequence[Mapping[str, Any]]) -> str:
    """Return why what the run does is tried later, empty where it is not."""
    moves = (one for one in effects if one["purpose"] == Purpose.STEP and one["status"] in _PUT_OFF)
    return next((str(one["error"]) for one in moves if one["error"]), "")
