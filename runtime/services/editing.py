"""Requests that people edit and resubmit: the form, the edit, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.definitions.model import Verb
from runtime.definitions.schemas import deref, for_people, violations
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.inbox.request_edits import edited_fields, foresee_edit, refuse_foreseen_edit
from runtime.model.approval import AskKind
from runtime.model.limits import error_text, json_fault
from runtime.model.payloads import EditPayload
from runtime.model.person import SlackAccount
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode
from runtime.planning.step_params import PARAMS_DEPTH
from runtime.services.clicks import record_said
from runtime.store import approvals
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class EditForm:
    """What of a request may be edited: `schema` has these params alone, `present` their values now.

    `title` is what people call the request.
    """

    approval_id: str
    stamp: str
    title: str
    schema: Mapping[str, Any]
    present: Mapping[str, Any]


@dataclass(frozen=True)
class EditWish:
    """A person's edit as it came from Slack. `dedupe_key` is equal for deliveries of the same one.

    `params` are those that are to be another; what is None in them is to be left out. `refusal` as for a click.
    """

    dedupe_key: str
    approval_id: str
    stamp: str
    params: Mapping[str, Any]
    reason: str
    account: SlackAccount
    person_id: str | None
    refusal: Refusal | None
    request_id: str


@dataclass(frozen=True)
class EditService:
    """Edits of requests, of one tenant."""

    engine: Engine
    tenant: str

    async def form(self, approval_id: str) -> EditForm | None:
        """Return what of an open request may be edited, or None where nothing may."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
            row = await approvals.approval_view_row(conn, approval_id)
            if approval is None or row is None or row["tenant"] != self.tenant:
                return None
            verb = await editable_verb(self.engine, conn, row)
        if verb is None:
            return None
        return EditForm(approval_id, approval.stamp, row["title"], form_schema(verb), _present(verb, row["fields"]))

    def faults(self, form: EditForm, params: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Return what is wrong with the params as a person wants them, by their names; nothing where they fit."""
        wanted = edited_fields(form.present, params)
        missing = [(name, "has to be there") for name in form.schema["required"] if name not in wanted]
        wrong = [(str(one[0][0]), for_people(one)) for one in violations(form.schema, wanted) if one[0]]
        return missing + wrong

    async def refusal(self, approval_id: str, person_id: str, params: Mapping[str, Any]) -> Refusal | None:
        """Return why policy, or too few people left to sign, would end what the person makes of a request; or None.

        Reads only; raise PolicyUnavailableError.
        """
        verdict = await foresee_edit(self.engine, approval_id, person_id, params)
        if verdict is None:
            return None
        async with self.engine.pool.connection() as conn:
            row = await approvals.approval_view_row(conn, approval_id)
            if row is None:
                return None
            return await refuse_foreseen_edit(conn, row, verdict, self.engine.privacy, self.engine.clock())

    async def record(self, wish: EditWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        actor_id = wish.person_id or f"slack:{wish.account.team}:{wish.account.user}"
        return await record_said(
            self.engine,
            _payload_of(wish),
            by=actor_id,
            about=f"approval:{wish.approval_id}",
            key=f"edit:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply(self, notification_id: str) -> Refusal | None:
        """Apply a recorded wish, at most once; return why it did not count, None where it did."""
        facts = await inbox.apply(self.engine, notification_id)
        return None if facts["counted"] else Refusal(RefusalCode(facts["code"]), tuple(facts.get("about", ())))


async def editable_verb(engine: Engine, conn: Conn, row: Mapping[str, Any]) -> Verb | None:
    """Return the verb of an open request that may be edited, None where nothing may; `row` is the request's."""
    if (row["kind"], row["status"]) != (AskKind.EFFECT, ApprovalStatus.REQUESTED):
        return None
    definition = await engine.definitions.get(conn, row["definition_name"], row["definition_version"])
    verb = definition.verb_of(row["step"])
    return verb if verb.editable else None


def form_schema(verb: Verb) -> dict[str, Any]:
    """Return the schema of the params that may be edited, as a form's; their references are followed."""
    properties = verb.input_schema["properties"]
    return {
        "type": "object",
        "properties": {name: deref(verb.input_schema, properties[name]) for name in verb.editable},
        "required": [name for name in verb.editable if name in verb.input_schema.get("required", ())],
    }


def _present(verb: Verb, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in verb.editable if name in fields}


def _payload_of(wish: EditWish) -> EditPayload:
    params = dict(wish.params)
    refusal = wish.refusal or (Refusal(RefusalCode.NOT_IN_DIRECTORY) if wish.person_id is None else None)
    if wrong := json_fault(params, PARAMS_DEPTH):  # what cannot be recorded is on record as that
        params, refusal = {}, refusal or Refusal(RefusalCode.UNFIT, (wrong,))
    return EditPayload(
        approval_id=wish.approval_id,
        team=wish.account.team,
        user=wish.account.user,
        person_id=wish.person_id,
        refusal=refusal,
        stamp=wish.stamp,
        params=params,
        reason=error_text(wish.reason),
    )
