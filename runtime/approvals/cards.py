"""What the author of a verb or a step declared for its card, evaluated once: when people are asked."""

from collections.abc import Mapping
from typing import Any

from receipts.fields import timestamp
from receipts.redaction import redact
from runtime.definitions.model import Definition
from runtime.definitions.shown import shown_of
from runtime.planning.passage import Passage
from runtime.store.run_tx import RunTx


async def declared_card(passage: Passage, before: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the card of a request shows beside what all cards do; None where nothing is declared.

    It is made of the action's public form, and of what is there now, the trigger and the business state without what
    nobody may see; what is still known as a secret of the run is taken out of the result.
    """
    tx, effect = passage.tx, passage.effect
    definition = await tx.definition()
    verb = await passage.verb()
    card = verb and (definition.node(effect.step).card or verb.card)
    if not verb or not card:
        return None
    context = {
        "params": dict(passage.attempt.action.fields),
        "before": redact(dict(before), verb.redact).value,
        "run": _run_facts(tx, definition),
        "trigger": redact(tx.row["trigger"]).value,
        "state": redact(tx.row["state"] or {}).value,
    }
    shown: dict[str, Any] = (await tx.privacy()).value(shown_of(card, context))
    return shown


def _run_facts(tx: RunTx, definition: Definition) -> dict[str, Any]:
    return {
        "id": tx.run_id,
        "tenant": tx.tenant,
        "definition": definition.name,
        "version": definition.version,
        "reference": tx.row["reference"],
        "started_at": timestamp(tx.row["created_at"]),
    }
