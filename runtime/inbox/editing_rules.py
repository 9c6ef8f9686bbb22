"""When somebody may edit and resubmit a request, and what the action then is. Values in, values out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtime.definitions.model import Verb
from runtime.model.action import Action
from runtime.model.edits import Change, changes_between
from runtime.model.effect import Effect
from runtime.model.errors import ParamsError
from runtime.model.json_limits import fault
from runtime.model.votes import Refusal, RefusalCode
from runtime.planning.params import PARAMS_DEPTH, fits


def refuse_edit(verb: Verb, fields: Mapping[str, Any], params: Mapping[str, Any]) -> Refusal | None:
    """Return why the params may not be made others, or None: the verb names them, and what they make fits its schema.

    Neither target nor idempotency key is made of such params: it stays the same effect.
    """
    if strange := sorted(set(params).difference(verb.editable)):
        return Refusal(RefusalCode.NOT_EDITABLE, tuple(strange))
    wanted = edited_fields(fields, params)
    if wrong := fault(wanted, PARAMS_DEPTH):
        return Refusal(RefusalCode.UNFIT, (wrong,))
    try:
        fits(verb.input_schema, wanted, "params")
    except ParamsError as error:
        return Refusal(RefusalCode.UNFIT, (str(error),))
    return None if changes_between(fields, wanted) else Refusal(RefusalCode.UNCHANGED)


def edited_fields(fields: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action with some params as somebody wants them; None leaves one out."""
    kept = {name: value for name, value in fields.items() if name not in params}
    return kept | {name: value for name, value in params.items() if value is not None}


def edited_action(effect: Effect, params: Mapping[str, Any], salt: str) -> tuple[dict[str, Any], Action, list[Change]]:
    """Return the fields that the connector would get, the action that they make, and what of it is another."""
    fields = edited_fields(effect.fields, params)
    action = replace(effect, fields=fields).action(salt)
    return fields, action, changes_between(effect.action(salt).fields, action.fields)
