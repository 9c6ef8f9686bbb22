"""What a person may start by form: the triggers that the directory grants them, by the door that callers use, too."""

from collections.abc import Sequence
from dataclasses import dataclass

from policy.model import Reason
from receipts.chain import Actor
from runtime.definitions.model import Definition
from runtime.definitions.schemas import for_people, violations
from runtime.model.actor import Person
from runtime.model.life import NotActiveError
from runtime.planning.triggers import TriggerError
from runtime.services.callers import CallerDesk, NoRunbookError, Wish
from runtime.services.front_model import Filled, Form, FormError, Started
from runtime.store import directory

_GONE = "This runbook cannot be started by you any more. Nothing was done."
_CHANGED = "This runbook has changed since you opened the form. Nothing was done. Please ask again."

_DENIED = "Policy denies this request{}. Nothing was started. Change your entries and submit again, or cancel."


@dataclass(frozen=True)
class Starting:
    """The forms of one tenant. What the directory grants is read for each question anew."""

    callers: CallerDesk

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
