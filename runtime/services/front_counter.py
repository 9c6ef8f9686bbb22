"""The front door of one tenant: what a person may see is asked of the store, for each question anew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from receipts.chain import Actor
from receipts.refused import CommandRefused
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.model.actor import Person, SlackAccount
from runtime.model.finding import Sought
from runtime.model.states import STEP, StepStatus, is_final
from runtime.model.votes import RefusalCode
from runtime.services.approval_view import ApprovalView
from runtime.services.callers import CallerDesk
from runtime.services.desk import EngineDesk
from runtime.services.front_model import Filled, Form, Runs, RunView, Started, StepLine
from runtime.services.home_counter import HomeCounter
from runtime.services.link_addresses import run_link
from runtime.services.request_starts import Starting
from runtime.services.standing_in import StandInWish, record_stand_in, settle_stand_in
from runtime.store import directory, listings, runs
from runtime.store.bundles_found import find_runs
from runtime.store.tenant_acts import put_act

_SHOWN = frozenset(StepStatus) - {
    StepStatus.PENDING,
    StepStatus.SUCCEEDED,
    StepStatus.FAILED_HANDLED,
    StepStatus.SKIPPED,
    StepStatus.CANCELED,
}
"""Of steps that go on, are held or failed: what a person who is no operator sees."""


@dataclass(frozen=True)
class FrontCounter:
    """The counter of one tenant, over the engine. Operators are those who are told of what is held and in doubt."""

    engine: Engine
    tenant: str
    catalog: Catalog

    @property
    def home(self) -> HomeCounter:
        """Return the counter of people's desks."""
        return HomeCounter(self.engine, self.tenant)

    async def approval(self, person: Person, approval_id: str) -> ApprovalView | None:
        """Return a request that the person may see."""
        view = await EngineDesk(self.engine, self.tenant).approval(approval_id)
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
            later = await listings.why_not_yet(conn, run_id)
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

    async def forms(self, person: Person) -> list[Form]:
        """Return the runbooks that the person may start."""
        return await self._starting.forms(person)

    async def start(self, person: Person, filled: Filled) -> Started:
        """Start a run for the person, or return the one that this form started before; raise FormError."""
        return await self._starting.start(person, filled)

    async def stand_in(self, person: Person, wish: StandInWish) -> str:
        """Write down who is to vote for the person, durably; return the notification's id."""
        return await record_stand_in(self.engine, self.tenant, person, wish)

    async def settled(self, notification_id: str) -> str:
        """Apply what is written down, at most once; return why nothing was done, "" where it was."""
        return await settle_stand_in(self.engine, notification_id)

    @property
    def _starting(self) -> Starting:
        return Starting(CallerDesk(self.engine, self.tenant, self.catalog))

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
