"""`--undoes`: whether the bundle of the run that this one takes back is the one whose receipts it names."""

from functools import partial
from pathlib import Path
from typing import Any

from evidence import names
from evidence.verify.below import read_other
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.ended import EndedRun
from evidence.verify.rules import Rule, counted
from evidence.verify.trust import Trust
from receipts import canonical

NAME = "receipts.undone"
SENTENCE = (
    "The bundle of the run that is undone, where it is given, holds by itself, under the same keys, and is of the same"
    " tenant. This run was queued by `countersign.undo`, and the schema of its definition's trigger has that run"
    " (`run_id`) and receipts of it (`receipts`: `receipt_id` and `digest`) as constants, each of which says `success`."
    " What this run did for its steps has as idempotency key `undo:` with one of these ids, and the number of a further"
    " try, as in `#2`."
)
_ACTED = ("success", "in_doubt")


def undoes(file: Path, trust: Trust) -> Rule[Contents]:
    """Return the rule that a bundle undoes the run of this file."""
    return Rule(NAME, SENTENCE, partial(_check, file, trust))


def _check(file: Path, trust: Trust, contents: Contents) -> str:
    undone = read_other(file, trust, "the run that is undone")
    named = _named(contents, undone)
    for receipt in named:
        if undone.receipts.get(str(receipt.get("receipt_id"))) != receipt.get("digest"):
            raise BrokenError(names.DEFINITION, f"names a receipt that {undone.run_id} has not: {receipt}"[:200])
    keys = {f"undo:{receipt['receipt_id']}" for receipt in named}
    for name, record in contents.receipts.items():
        if record.step and record.outcome in _ACTED and record.idempotency_key.partition("#")[0] not in keys:
            raise BrokenError(name, f"undoes nothing of {undone.run_id} that {names.DEFINITION} names")
    return f"{counted(len(named), 'receipt')} of {undone.run_id} named, to be undone"


def _named(contents: Contents, undone: EndedRun) -> list[dict[str, Any]]:
    """Return the receipts that are undone, as the definition names them; raise unless they are of that run."""
    definition = canonical.loads(contents.member(names.DEFINITION))
    run_id, receipts = (_constant(definition, member) for member in ("run_id", "receipts"))
    queued = contents.leaves[0].data.get("trigger_type")
    if (queued, contents.run.tenant, run_id) != ("countersign.undo", undone.tenant, undone.run_id):
        raise BrokenError(names.DEFINITION, f"does not undo the run {undone.run_id} of {undone.tenant}")
    if not isinstance(receipts, list) or not all(isinstance(one, dict) for one in receipts):
        raise BrokenError(names.DEFINITION, "names no receipts that are undone")
    return receipts


def _constant(definition: Any, member: str) -> Any:
    """Return what a member of the trigger's payload has to be; None where it may be anything."""
    for name in ("trigger", "schema", "properties", member, "const"):
        definition = definition.get(name) if isinstance(definition, dict) else None
    return definition
