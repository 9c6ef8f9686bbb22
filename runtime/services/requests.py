"""Runs and requests that a person may see, search and start by form.

What a person may see is asked of the store for each question anew; what they may not see is as if it were not there.
They may start what the directory grants them, by the door that callers use, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from policy.contract import Reason
from receipts.acts import CommandRefused
from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.model import Definition
from runtime.definitions.schemas import for_people, violations
from runtime.engine import Engine
from runtime.model.person import Person, SlackAccount
from runtime.model.runbook_version import NotActiveError
from runtime.model.search import FoundRun, Sought
from runtime.model.states import STEP, StepStatus, is_final
from runtime.model.votes import RefusalCode
from runtime.planning.triggers import TriggerError
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.callers import NoRunbookError, TriggerApi, Wish
from runtime.services.delegations import StandInWish, record_stand_in, settle_stand_in
from runtime.services.home import HomeQueries
from runtime.services.links import run_link
from runtime.store import directory, operator_lists, runs
from runtime.store.bundle_search import find_runs
from runtime.store.tenants import put_act


@dataclass(frozen=True)
class StepLine:
    """A step of a run: its path or what it does, its status, and its error, or why it is done later; "" for neither."""

    name: str
    status: str
    error: str


@dataclass(frozen=True)
class RunView:
    """A run as a command shows it; `ending` is what it came to, or how it stands; `runbook` is name and version.

    `steps` are all of it for operators, and for others those that go on, need attention or failed.
    """

    run_id: str
    reference: str
    runbook: str
    ending: str
    error: str
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    steps: Sequence[StepLine]
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us
    done: int = 0  # steps that have ended
    total: int = 0  # steps that there are by now


@dataclass(frozen=True)
class Runs:
    """Runs, the newest first, and whether there are more."""

    runs: Sequence[FoundRun]
    has_more: bool


@dataclass(frozen=True)
class Form:
    """A runbook that a person may start, in the version that starts now; `schema` is its trigger's."""

    name: str
    version: int
    title: str
    description: str
    trigger_type: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Filled:
    """A form as it was submitted. `form_id` is equal for deliveries of the same submission."""

    form_id: str
    runbook: str
    version: int
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Started:
    """The run that a form started, or to which it was sent as a signal of this name ("" for none)."""

    run_id: str
    signal: str


class FormError(Exception):
    """A form started nothing; `faults` says why, by the name of the property, "" for what is of no single one."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


_GONE = "This runbook cannot be started by you any more. Nothing was done."
_CHANGED = "This runbook has changed since you opened the form. Nothing was done. Please ask again."

_DENIED = "Policy denies this request{}. Nothing was started. Change your entries and submit again, or cancel."


@dataclass(frozen=True)
class FormStarts:
    """The forms of one tenant. What the directory grants is read for each question anew."""

    callers: TriggerApi

    async def forms(self, person: Person) -> list[Form]:
        """Return the runbooks that the person may start, by title."""
        found = [await self._runbook(trigger) for trigger in await self._granted(person)]
        return sorted((_form(one) for one in found if one is not None), key=lambda form: (form.title, form.name))

    async def start(self, person: Person, filled: Filled) -> Started:
        """Start a run for the person, or return the one that this form started before; raise FormError."""
        form = next((one for one in await self.forms(person) if one.name == filled.runbook), None)
        if form is None:
            raise FormError({"": _GONE})
        if form.version != filled.version:
            raise FormError({"": _CHANGED})
        faults = violations(form.schema, dict(filled.payload))
        if faults:
            raise FormError({str(one[0][0]) if one[0] else "": for_people(one) for one in reversed(faults)})
        wish = Wish(form.trigger_type, filled.version, f"form:{filled.form_id}", filled.payload)
        by = Actor(id=person.id, kind="person")
        try:
            if (denial := await self.callers.denied(wish, by, person.id)) is not None:
                raise FormError({"": self._denied(denial)})
            claim = await self.callers.trigger(wish, by, person.id)
        except (TriggerError, NotActiveError, NoRunbookError) as error:
            raise FormError({"": str(error)}) from error
        return Started(claim.run_id, claim.signal.name if claim.signal else "")

    def _denied(self, reasons: Sequence[Reason]) -> str:
        why = "; ".join(f"{self.callers.engine.privacy.text(one.msg)} (rule {one.code})" for one in reasons)
        return _DENIED.format(f": {why}" if why else "")

    async def _granted(self, person: Person) -> Sequence[str]:
        async with self.callers.engine.pool.connection() as conn:
            row = await directory.actor(conn, self.callers.tenant, person.id)
        return row["grants"].get("triggers", ()) if row is not None and row["kind"] == "person" else ()

    async def _runbook(self, trigger_type: str) -> Definition | None:
        """Return the version that starts now, None where none does, or where that hangs on what is filled in."""
        try:
            runbook, _ = await self.callers.runbook_for(Wish(trigger_type, None, "", {}))
        except (NotActiveError, NoRunbookError):
            return None
        return runbook if runbook.when is None else None


def _form(definition: Definition) -> Form:
    return Form(
        name=definition.name,
        version=definition.version,
        title=definition.title,
        description=definition.description,
        trigger_type=definition.trigger_type,
        schema=definition.trigger_schema,
    )


_SHOWN = frozenset(StepStatus) - {
    StepStatus.PENDING,
    StepStatus.SUCCEEDED,
    StepStatus.FAILED_HANDLED,
    StepStatus.SKIPPED,
    StepStatus.CANCELED,
}
"""Of steps that go on, need attention or failed: what a person who is no operator sees."""


@dataclass(frozen=True)
class RequestService:
    """The front door of one tenant. What a person may not see is as if it were not there.

    A person sees what they asked for, and what their groups may decide, open or not. Operators, who are those told of
    what needs attention, is blocked or in doubt, see everything.
    """

    engine: Engine
    tenant: str
    catalog: Catalog

    @property
    def home(self) -> HomeQueries:
        """Return what people's App Homes show."""
        return HomeQueries(self.engine, self.tenant)

    @property
    def starting(self) -> FormStarts:
        """Return the service that starts runs by form."""
        return FormStarts(TriggerApi(self.engine, self.tenant, self.catalog))

    async def approval(self, person: Person, approval_id: str) -> ApprovalView | None:
        """Return a request that the person may see."""
        view = await ApprovalService(self.engine, self.tenant).approval(approval_id)
        if view is None or not await self._may_see(person, view):
            return None
        return view

    async def run(self, person: Person, run_id: str) -> RunView | None:
        """Return a run that the person may see."""
        if not (await self._find(person, Sought(run_id=run_id, limit=1))).runs:
            return None
        async with self.engine.pool.connection() as conn:
            found = await runs.run_summary(conn, self.tenant, run_id)
            if found is None:
                return None
            later = await operator_lists.why_not_yet(conn, run_id)
            who = await directory.actor(conn, self.tenant, found["requested_by"])
            definition = await self.engine.definitions.get(conn, found["definition_name"], found["definition_version"])
        name = who["name"] if who else found["requested_by"]
        steps = [_line(step, later.get(step["path"], "")) for step in found["steps"]]
        if not self._is_operator(person):
            steps = [replace(one, name=_does(definition, one.name)) for one in steps if one.status in _SHOWN]
        return _run_view(found, name, steps, run_link(self.engine.routing.public_url, run_id))

    async def mine(self, person: Person, limit: int, after: str | None = None) -> Runs:
        """Return the runs that the person asked for; those behind the run `after`, if that is given."""
        return await self._find(person, Sought(requested_by=person.id, started_by_runs=False, limit=limit, after=after))

    async def search(self, person: Person, words: str, limit: int, after: str | None = None) -> Runs:
        """Return the runs that the person may see with these words in reference, trigger or the runbook's name."""
        return await self._find(person, Sought(customer=words, by_definition=True, limit=limit, after=after))

    async def refused(self, account: SlackAccount, command: str, code: RefusalCode) -> None:
        """Put on record that a command was refused: once for each account, command and code."""
        act = CommandRefused(team=account.team, user=account.user, command=command, code=code)
        actor = Actor(id=f"slack:{account.team}:{account.user}", kind="person")
        async with self.engine.pool.connection() as conn, conn.transaction():
            await put_act(conn, self.tenant, act, actor, self.engine.clock())

    async def stand_in(self, person: Person, wish: StandInWish) -> str:
        """Write down who is to vote for the person, durably; return the notification's id."""
        return await record_stand_in(self.engine, person, wish)

    async def settled(self, notification_id: str) -> str:
        """Apply what is written down, at most once; return why nothing was done, "" where it was."""
        return await settle_stand_in(self.engine, notification_id)

    def _is_operator(self, person: Person) -> bool:
        return not set(person.groups).isdisjoint(self.engine.routing.doubt_groups)

    async def _may_see(self, person: Person, view: ApprovalView) -> bool:
        if self._is_operator(person) or not set(person.groups).isdisjoint((*view.groups, *view.joined)):
            return True
        async with self.engine.pool.connection() as conn:
            asked_for = Sought(run_id=view.run_id, requested_by=person.id, limit=1)
            return bool(await find_runs(conn, self.tenant, asked_for))

    async def _find(self, person: Person, sought: Sought) -> Runs:
        """Return what is sought among what the person may see; one more than the limit is read, to know of more."""
        assert sought.limit is not None  # noqa: S101 - every caller above says it
        seen_by = None if self._is_operator(person) else person.id
        wider = Sought(**{**vars(sought), "seen_by": seen_by, "limit": sought.limit + 1})
        async with self.engine.pool.connection() as conn:
            found = await find_runs(conn, self.tenant, wider)
        return Runs(found[: sought.limit], has_more=len(found) > sought.limit)


def _run_view(found: dict[str, Any], requester: str, steps: Sequence[StepLine], link: str) -> RunView:
    return RunView(
        run_id=found["run_id"],
        reference=found["reference"] or found["trigger_ref"],
        runbook=f"{found['definition_name']} v{found['definition_version']}",
        ending=found["outcome"] or found["status"],
        error=found["error"] or "",
        requested_by=requester,
        created_at=found["created_at"],
        finished_at=found["finished_at"],
        steps=steps,
        link=link,
        done=sum(is_final(STEP, StepStatus(step["status"])) for step in found["steps"]),
        total=len(found["steps"]),
    )


def _does(definition: Definition, path: str) -> str:
    """Return what a step does in its author's words, its path where they say nothing."""
    verb = definition.calls(path)
    return verb.description if verb and verb.description else path


def _line(step: dict[str, Any], later: str) -> StepLine:
    return StepLine(step["path"], step["status"], step["error"] or later)
