"""Effects: what was proposed is what the definition wants, and was done while it was wanted.

Whether a text can be what a template of the definition gives is told as far as that goes without evaluating CEL.
"""

import re
from collections.abc import Mapping
from typing import Any

from evidence import names
from evidence.verify.approvals import OVER
from evidence.verify.contents import BrokenError
from evidence.verify.definition import VerbForm
from evidence.verify.facts import Decided, Facts
from evidence.verify.rules import Rule, agree, broken_leaf, counted, rule
from evidence.verify.step_repairs import retried_lines
from receipts.piecewise import member
from receipts.receipt import Receipt

_HOLE = re.compile(r"\$\{([^{}]*)\}")
_PARAM = re.compile(r"params\.([A-Za-z_][A-Za-z0-9_]*)")
_MOST_UNKNOWN = 4
"""Parts that may be anything: with more of them, and with longer texts, matching takes too long."""
_LONGEST_TEXT = 512
_HIDDEN = "[redacted"


def can_give(template: str, text: str, known: Mapping[str, str], params: Mapping[str, Any]) -> bool:
    """Return whether `text` fits: its fixed parts, what is `known` (`run.id`), and params that are plain and shown."""
    if "$${" in template or len(text) > _LONGEST_TEXT:
        return len(text) <= _LONGEST_TEXT
    parts = [
        part if number % 2 == 0 else _value_of(part.strip(), known, params)
        for number, part in enumerate(_HOLE.split(template))
    ]
    fixed = [part for part in parts if part is not None]
    if len(fixed) == len(parts):
        return "".join(fixed) == text
    if len(parts) - len(fixed) > _MOST_UNKNOWN:
        return True
    pattern = "".join(".*" if part is None else re.escape(part) for part in parts)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _value_of(expression: str, known: Mapping[str, str], params: Mapping[str, Any]) -> str | None:
    """Return what an expression gives; None where that cannot be told."""
    if expression in known:
        return known[expression]
    named = _PARAM.fullmatch(expression)
    value = member(params, named[1]) if named else None
    return value if isinstance(value, str) and _HIDDEN not in value else None


CHAT = frozenset(
    {
        *("slack::post_card", "slack::update_card", "slack::post_message", "slack::update_message"),
        "slack::direct_message",
        "webhook::deliver",
    }
)
"""What the program says by itself, beside the steps of the definition."""
POST_TASK = "slack::post_task"


@rule(
    "effects.of-definition",
    "An effect of a step is proposed once, and once more each time that somebody had the step tried anew, is the"
    " `handler` of the step's verb, and the verb's class is `write` or it is a governed read. An effect of no step is"
    " word in the chat: `slack::post_card`, `slack::update_card`, `slack::post_message`, `slack::update_message` or"
    " `slack::direct_message`, or word to a subscriber: `webhook::deliver`.",
)
def _of_definition(facts: Facts) -> str:
    times, anew, effects = dict[str, int](), retried_lines(facts.contents), set[str | None]()
    for leaf, proposal in facts.proposals:
        path = leaf.correlation.step
        so_far = times.get(path, 0) if path else 0
        may = 1 + sum(seq < leaf.seq for seq in anew.get(str(path), ()))
        if leaf.correlation.effect_id in effects or so_far >= may:
            raise broken_leaf(leaf, f"an effect of step {path} was proposed before" if path else "was proposed before")
        effects.add(leaf.correlation.effect_id)
        if path is None:
            if proposal.action not in CHAT:
                raise broken_leaf(leaf, f"{proposal.action} is of no step, and no word in the chat")
            continue
        times[path] = so_far + 1
        verb = facts.verb(leaf, path)
        if proposal.action != verb.execution.handler or not verb.effect.passes_gate:
            raise broken_leaf(leaf, f"{proposal.action} is not what step {path} is to be allowed to do")
    return counted(len(effects), "effect")


@rule(
    "effects.as-declared",
    "An effect of a step has the `tier` of its verb, can be undone by what the verb says (`reversible_by`), is put to"
    " policy as a read (`reads`) if and only if it is a governed one, and its `target` and idempotency key are what"
    " the verb's templates give: their fixed parts, `run.id`, `run.tenant`, `run.definition`, `tenant`, `step`, and"
    " `params.NAME` where that is a text that is shown. The key of an effect of a step that was tried anew may end"
    " with its number among the step's, as in `#2`. A task goes to the channel that it names. Word in the chat has"
    " tier `low`, and cannot be undone.",
)
def _as_declared(facts: Facts) -> str:
    for decision in facts.decisions:
        _check_declared(facts, decision)
    for receipt in facts.receipts:
        record = receipt.record
        verb = facts.verb(receipt.leaf, record.step) if record.step else None
        agree(
            receipt.name,
            names.DEFINITION,
            reversible_by=(record.reversible_by, verb.effect.reversible_by if verb else None),
        )
        fields = record.request if isinstance(record.request, dict) else {}
        key = _first_key(facts, record) if verb else ""
        if verb and not can_give(verb.effect.idempotency_key, key, _known(facts, record.step), fields):
            raise BrokenError(receipt.name, f"its idempotency key is not what {verb.effect.idempotency_key} gives")
    return counted(len(facts.proposed), "effect")


def _first_key(facts: Facts, record: Receipt) -> str:
    """Return the key without what a step that was tried anew adds: the number of the effect, where it asks again."""
    nth = facts.numbers_of_effects[record.step][record.effect_id]
    return record.idempotency_key.removesuffix(f"#{nth}") if nth > 1 else record.idempotency_key


def _check_declared(facts: Facts, decision: Decided) -> None:
    record, asked = decision.record, decision.record.input.effect
    verb = facts.verb(decision.leaf, record.step) if record.step else None
    agree(
        decision.name,
        names.DEFINITION,
        **{
            "input.effect.tier": (asked.tier, verb.effect.tier if verb else "low"),
            "input.effect.reversible": (asked.reversible, verb is not None and verb.effect.reversible_by is not None),
            "input.effect.reads": (asked.reads, verb is not None and verb.effect.is_governed_read),
        },
    )
    if verb is None or asked.digest != facts.standing(record.effect_id, decision.leaf.seq):
        return
    if not _is_target(facts, verb, decision):
        raise BrokenError(decision.name, f"the target {asked.target} is not what {verb.effect.target} gives")


def _is_target(facts: Facts, verb: VerbForm, decision: Decided) -> bool:
    asked = decision.record.input.effect
    if verb.execution.handler == POST_TASK:
        return asked.target == asked.fields.get("channel")
    return can_give(verb.effect.target, asked.target, _known(facts, decision.record.step), asked.fields)


def _known(facts: Facts, step: str) -> dict[str, str]:
    run = facts.contents.run
    told = {"run.id": run.run_id, "run.tenant": run.tenant, "run.definition": run.definition.name}
    return told | {"tenant": run.tenant, "step": step}


@rule(
    "effects.while-wanted",
    "What acted for a step had been decided on after it was proposed, and before the step and the run ended.",
)
def _while_wanted(facts: Facts) -> str:
    for receipt in facts.acted:
        record = receipt.record
        decided = facts.decided[str(record.decision_id)].leaf
        ended = next((one for one in facts.of_steps.get(record.step, ()) if one.event in OVER), facts.end)
        if not facts.proposed[record.effect_id][0].seq < decided.seq < min(ended.seq, facts.end.seq):
            raise BrokenError(receipt.name, f"was decided on in line {decided.seq}, when step {record.step} was over")
    return counted(len(facts.acted), "receipt")


RULES: tuple[Rule[Facts], ...] = (_of_definition, _as_declared, _while_wanted)
