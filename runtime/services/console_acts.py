"""Operators' acts in the console: on one subject or on many that a page listed, recorded once for each form.

The same words go into the same inbox as from the command line: workers ask policy, and what is refused is on record.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from receipts.canonical import digest
from receipts.chain import Actor
from receipts.console_acts import ActsAsked
from runtime.engine import Engine
from runtime.model.limits import error_text
from runtime.model.notification import dedupe_key_of
from runtime.model.run import FoundStep, RepairAction
from runtime.model.search import UnknownError
from runtime.model.states import RUN, NotificationStatus, RunStatus, is_final
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.compensation import preview_undo
from runtime.services.console_sessions import ConsoleViewer
from runtime.services.operator import OperatorService, StepRepair
from runtime.services.refusal_words import refusal_reason
from runtime.store.operator_lists import find_dead_letter, find_effect, find_run
from runtime.store.step_repairs import find_step
from runtime.store.tenants import put_act

PATIENCE = 5.0
"""Seconds for which a page waits until a worker has done one act; it is on record before that."""
PATIENCE_WITH_MANY = 20.0
MOST = 200
"""Subjects of one act on many."""


class ActName(StrEnum):
    """What an operator does: to a run, an effect, a step (retry_step, supply, skip, end) or a dead letter."""

    CANCEL = "cancel"
    UNDO = "undo"
    RETRY = "retry"
    RETRY_STEP = "retry_step"
    SUPPLY = "supply"
    SKIP = "skip"
    END = "end"
    REQUEUE = "requeue"
    DROP = "drop"
    RETRY_BUNDLE = "retry_bundle"


_REPAIRS = {
    ActName.RETRY_STEP: RepairAction.RETRY,
    ActName.SUPPLY: RepairAction.SUPPLY,
    ActName.SKIP: RepairAction.SKIP,
    ActName.END: RepairAction.END,
}
OF_DEAD_LETTERS = frozenset({ActName.REQUEUE, ActName.DROP})
OF_MANY = frozenset({ActName.CANCEL, ActName.RETRY, ActName.REQUEUE, ActName.DROP})
"""What can be done to many at once."""


@dataclass(frozen=True)
class Subject:
    """What an act is about: a run, an effect of one or a dead letter by its id, or a `step` of a run by its path.

    `version` is that of the run or step as a page showed it, None where it has none.
    """

    id: str
    step: str = ""
    version: int | None = None


@dataclass(frozen=True)
class ActForm:
    """A form that was sent: what, why, what is supplied, and the form's own key."""

    name: ActName
    reason: str
    key: str
    result: Mapping[str, Any] | None = None

    @property
    def word(self) -> str:
        """Return what is one wish: the same form, saying the same."""
        result = None if self.result is None else dict(self.result)
        return digest([self.key, str(self.name), self.reason, result])


@dataclass(frozen=True)
class ActPage:
    """A subject as it is now, as lines of label and value, and why nothing can be done, "" where it can."""

    subject: Subject
    lines: Sequence[tuple[str, str]]
    why_not: str


@dataclass(frozen=True)
class ActOutcome:
    """What became of an act on a subject: done, not yet (`is_open`), or not, and why."""

    subject: str
    is_done: bool
    is_open: bool
    why: str


@dataclass(frozen=True)
class ConsoleActs:
    """Acts of one tenant's operators."""

    engine: Engine
    tenant: str

    async def page(self, name: ActName, subject: Subject) -> ActPage | None:
        """Return what an act would be about, as it is now; None where there is no such thing."""
        async with self.engine.pool.connection() as conn:
            if name in OF_DEAD_LETTERS:
                return _letter_page(await find_dead_letter(conn, self.tenant, subject.id), subject)
            if name in _REPAIRS:
                return _step_page(await find_step(conn, self.tenant, subject.id, subject.step))
            if subject.id.startswith("eff_"):
                return _effect_page(await find_effect(conn, self.tenant, subject.id), subject)
            run = await find_run(conn, self.tenant, subject.id)
            page = _run_page(run, goes_on=name in (ActName.CANCEL, ActName.RETRY))
            items = await preview_undo(conn, self.tenant, subject.id, None) if name is ActName.UNDO and page else []
        undone = [(f"{item.standing}", f"{item.what} {item.target} {item.why}".strip()) for item in items or ()]
        return page and ActPage(page.subject, [*page.lines, *undone], page.why_not)

    async def do(self, form: ActForm, subject: Subject, viewer: ConsoleViewer) -> ActOutcome:
        """Do it at most once for each form; raise UnknownError where what it is about is not there."""
        desk = self._desk(viewer, form, subject)
        recorded = await _record(desk, form, subject, viewer.person)
        return _outcome(subject.id, await desk.outcome(recorded, PATIENCE))

    async def do_many(self, form: ActForm, subjects: Sequence[Subject], viewer: ConsoleViewer) -> list[ActOutcome]:
        """Do it to each, on record as one wish; a form that is sent again does nothing more, and says the same."""
        await self._note(form, subjects, viewer)
        outcomes = list[ActOutcome]()
        recorded = list[tuple[OperatorService, Subject, str]]()
        for subject in subjects:
            desk = self._desk(viewer, form, subject)
            try:
                recorded.append((desk, subject, await _record(desk, form, subject, viewer.person)))
            except UnknownError as error:
                outcomes.append(ActOutcome(subject.id, is_done=False, is_open=False, why=f"{error}."))
        until = time.monotonic() + PATIENCE_WITH_MANY
        for desk, subject, notification in recorded:
            facts = await desk.outcome(notification, max(until - time.monotonic(), 0.0))
            outcomes.append(_outcome(subject.id, facts))
        return outcomes

    def _desk(self, viewer: ConsoleViewer, form: ActForm, subject: Subject) -> OperatorService:
        word = digest([form.word, subject.id, subject.step])
        once = dedupe_key_of("console", self.tenant, viewer.session_id, word)
        return OperatorService(self.engine.pool, self.engine.clock, self.tenant, once)

    async def _note(self, form: ActForm, subjects: Sequence[Subject], viewer: ConsoleViewer) -> None:
        ids = [subject.id for subject in subjects]
        act = ActsAsked(
            form=digest([viewer.session_id, form.word, ids]),
            act=form.name,
            reason=self.engine.privacy.text(error_text(form.reason)),
            subjects=len(ids),
            digest=digest(ids),
        )
        async with self.engine.pool.connection() as conn, conn.transaction():
            await put_act(conn, self.tenant, act, Actor(id=viewer.person, kind="person"), self.engine.clock())


async def _record(desk: OperatorService, form: ActForm, subject: Subject, by: str) -> str:
    """Write an act into the inbox; raise UnknownError."""
    reason = error_text(form.reason)
    match form.name:
        case ActName.CANCEL:
            return await desk.cancel(by, subject.id, reason, subject.version)
        case ActName.UNDO:
            return await desk.undo(by, subject.id, None, reason, subject.version)
        case ActName.RETRY:
            return await desk.retry(by, subject.id, reason, subject.version)
        case ActName.REQUEUE:
            return await desk.requeue(by, subject.id, reason)
        case ActName.DROP:
            return await desk.drop(by, subject.id, reason)
        case ActName.RETRY_BUNDLE:
            return await desk.retry_bundle(by, subject.id, reason)
        case _:
            how = _REPAIRS[form.name]
            repair = StepRepair(subject.id, subject.step, how, reason, form.result, subject.version)
            return await desk.repair_step(by, repair)


_DONE = (NotificationStatus.APPLIED, NotificationStatus.EARLY)


def _outcome(subject: str, facts: Mapping[str, Any] | None) -> ActOutcome:
    if facts is None:
        return ActOutcome(subject, is_done=False, is_open=True, why="It is on record; a worker will do it.")
    if facts["status"] in _DONE:
        return ActOutcome(subject, is_done=True, is_open=False, why="")
    if "reason" in facts:
        return ActOutcome(subject, is_done=False, is_open=False, why=str(facts["reason"]))
    refusal = Refusal(RefusalCode(facts["code"]), tuple(facts["about"]))
    return ActOutcome(subject, is_done=False, is_open=False, why=refusal_reason(refusal))


def _run_page(run: Mapping[str, Any] | None, *, goes_on: bool) -> ActPage | None:
    if run is None:
        return None
    lines = [
        ("Run", f"{run['definition_name']} v{run['definition_version']}, {run['reference'] or run['trigger_ref']}"),
        ("Requested by", run["requester_name"]),
        ("State", run["status"].replace("_", " ")),
    ]
    why = "The run has ended." if goes_on and is_final(RUN, RunStatus(run["status"])) else ""
    return ActPage(Subject(run["run_id"], version=run["version"]), lines, why)


def _step_page(step: FoundStep | None) -> ActPage | None:
    if step is None:
        return None
    lines = [
        ("Run", f"{step.title}, {step.trigger_ref}"),
        ("Step", step.path),
        ("State", str(step.status).replace("_", " ")),
        ("What went wrong", step.error),
    ]
    return ActPage(Subject(step.run_id, step.path, step.version), lines, "")


def _effect_page(effect: Mapping[str, Any] | None, subject: Subject) -> ActPage | None:
    if effect is None:
        return None
    lines = [
        ("Effect", f"{effect['connector']}::{effect['operation']}"),
        ("Target", effect["target"]),
        ("State", effect["status"].replace("_", " ")),
        ("Why", effect["error"]),
    ]
    return ActPage(Subject(subject.id), lines, "")


def _letter_page(letter: Mapping[str, Any] | None, subject: Subject) -> ActPage | None:
    if letter is None:
        return None
    lines = [("Dead letter", letter["kind"]), ("About", letter["correlation_key"]), ("Why", letter["reason"])]
    return ActPage(Subject(subject.id), lines, "")
