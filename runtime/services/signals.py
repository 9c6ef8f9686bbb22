"""Signals: callers send them to runs, by the run's id or its business reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import ConflictError, dedupe_key_of
from runtime.model.payloads import SignalPayload
from runtime.model.wait import signal_key
from runtime.store import notifications
from runtime.store.runs import RunOf, runs_of_reference, trigger_type_of


class NoSuchRunError(Exception):
    """There is no run by that id or reference to which the caller may send signals."""


class SeveralRunsError(Exception):
    """Several runs under the reference go on, and a signal is for one."""


@dataclass(frozen=True)
class Signal:
    """Word to a run: `ref` is the sender's own, and the same ref is applied once. It names a run or a reference."""

    ref: str
    run_id: str | None
    reference: str | None
    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class SignalService:
    """Records signals to the runs of one tenant."""

    engine: Engine
    tenant: str

    async def send(
        self, caller: str, trigger_types: Sequence[str], signal: Signal
    ) -> tuple[str, str, Mapping[str, Any]]:
        """Record a signal and apply it; return the notification's id, the run's, and the facts of its outcome.

        Sent again, it gets the present outcome, whatever its reference names by then. Raise NoSuchRunError,
        SeveralRunsError, and ConflictError where its ref was used for another.
        """
        dedupe_key = dedupe_key_of("signal", self.tenant, caller, signal.ref)
        first_id = await self._recorded(dedupe_key)
        if first_id is None:
            run_id = await self._run_of(trigger_types, signal)
            payload = SignalPayload(run_id=run_id, name=signal.name, data=dict(signal.data))
            by, about = Actor(id=caller, kind="agent"), signal_key(run_id, signal.name)
            new = self.engine.notification(payload, by=by, about=about, key=dedupe_key)
            first_id = await inbox.record(self.engine, new)
        run_id = await self._same_run(first_id, signal)
        return first_id, run_id, await inbox.apply(self.engine, first_id)

    async def _recorded(self, dedupe_key: str) -> str | None:
        async with self.engine.pool.connection() as conn:
            return await notifications.find_recorded(conn, dedupe_key)

    async def _run_of(self, trigger_types: Sequence[str], signal: Signal) -> str:
        async with self.engine.pool.connection() as conn:
            if signal.run_id is not None:
                is_theirs = await trigger_type_of(conn, self.tenant, signal.run_id) in trigger_types
                found = [RunOf(signal.run_id, is_over=False)] if is_theirs else []
            else:
                found = await runs_of_reference(conn, self.tenant, trigger_types, signal.reference or "")
        return _the_one(found, signal)

    async def _same_run(self, notification_id: str, signal: Signal) -> str:
        """Return to which run the first signal under this ref went; it must have said the same."""
        first = (await self.engine.addressed(notification_id)).notification
        if not isinstance(first.payload, SignalPayload):
            raise TypeError(f"{notification_id} is no signal")
        payload = first.payload
        is_same = payload.name == signal.name and (first.forgotten or payload.data == dict(signal.data))
        if not is_same or signal.run_id not in (None, payload.run_id):
            raise ConflictError
        return payload.run_id


def _the_one(found: Sequence[RunOf], signal: Signal) -> str:
    """Return the one run that goes on; where none does, the newest, whose chain is closed."""
    if not found:
        what = f"run {signal.run_id}" if signal.run_id is not None else f"run under the reference {signal.reference}"
        raise NoSuchRunError(f"no {what}")
    going_on = [run for run in found if not run.is_over]
    if len(going_on) > 1:
        ids = ", ".join(run.run_id for run in going_on)
        raise SeveralRunsError(f"several runs under the reference {signal.reference} go on: {ids}; name one of them")
    return (going_on or found)[0].run_id
