"""Decisions of policy as the command line shows them: the answer, the rules behind it, and those that came near."""

import json
from collections.abc import Sequence
from typing import Any

from countersign.cli.command import Row, moment_text
from policy.answer import parse_answer
from policy.contract import PolicyUnavailableError, Question
from policy.explain import Explanation, RuleSeen

_OUTCOMES = {"allow": "Allowed", "deny": "Denied", "needs_approval": "Needs approval"}
_LONGEST = 200
"""Characters of a value that is shown whole."""


def decision_lines(found: Row, explanation: Explanation) -> list[str]:
    """Return a recorded decision with its explanation, in lines."""
    document = found["document"]
    answer, effect = document["answer"], document["input"]["effect"]
    act = f"{effect['connector']}::{effect['operation']} to {effect['target']}"
    return [
        f"{found['definition_name']} {found['reference']}: {act}",
        f"{document['id']} of run {document['run_id']}, step {document['step']}, {moment_text(found['at'])}",
        "",
        *_said(answer),
        _asked_again(answer, explanation.answer),
        f"policy {document['policy_digest']}",
        *_rules(answer, explanation),
    ]


def answer_lines(digest: str, question: Question, explanation: Explanation) -> list[str]:
    """Return what a policy answers, and why, in lines."""
    effect, answer, fault = question.effect, explanation.answer, fault_of(explanation.answer)
    return [
        f"{effect.connector}::{effect.operation} to {effect.target}",
        "",
        *(
            [f"No valid answer, so nothing would be done: {fault}"]
            if fault
            else [*_said(answer), *_requirement(answer)]
        ),
        *(f"printed: {line}" for line in explanation.printed),
        f"policy {digest}, {explanation.milliseconds:.1f} ms",
        *_rules(answer, explanation),
    ]


def fault_of(answer: Any) -> str | None:
    """Return why the gate would not take an answer, None where it would."""
    try:
        parse_answer(answer, "answer")
    except PolicyUnavailableError as error:
        return str(error)
    return None


def rules_json(explanation: Explanation) -> dict[str, Any]:
    """Return the rules that gave something, and those that came near, for programs."""
    return {name: [_rule_json(one) for one in getattr(explanation, name)] for name in ("gave", "near")}


def _rule_json(seen: RuleSeen) -> dict[str, Any]:
    rule = seen.rule
    said = {"rule": rule.path, "title": rule.title, "code": rule.code, "file": rule.place.file, "line": rule.place.row}
    return {**said, **({"not_so": seen.fault.text} if seen.fault else {}), "read": dict(seen.reads)}


def _said(answer: Row) -> list[str]:
    reasons = [f"  {reason['msg']} ({reason['code']})" for reason in answer["reasons"]]
    return [f"{_OUTCOMES[answer['outcome']]}, tier {answer['tier']}", *reasons]


def _requirement(answer: Row) -> list[str]:
    """Return who has to sign."""
    return [f"  {name}: {shown(value)}" for name, value in (answer["requirement"] or {}).items()]


def _codes(answer: Any) -> set[str]:
    """Return the codes of a valid answer's reasons."""
    return set() if fault_of(answer) else {reason["code"] for reason in answer["reasons"]}


def _asked_again(told: Row, answered: Any) -> str:
    """Say whether the same is answered today; a reason's words may hold what was hidden on the record."""
    if fault_of(answered) is None and _without_words(told) == _without_words(answered):
        return "asked again, the policy answers the same"
    return f"asked again, the policy answers {json.dumps(answered, ensure_ascii=False)}"


def _without_words(answer: Row) -> dict[str, Any]:
    return {**{name: value for name, value in answer.items() if value is not None}, "reasons": sorted(_codes(answer))}


def _rules(answer: Any, explanation: Explanation) -> list[str]:
    behind = [one for one in explanation.gave if _is_behind(answer, one)]
    others = set(_named(answer)).difference(map(_name, behind))
    return [
        *_section("Behind the answer", behind, sorted(others)),
        *_section("Came near: one condition does not hold", explanation.near),
        *_section("Holds as well", [one for one in explanation.gave if one not in behind]),
    ]


def _is_behind(answer: Any, seen: RuleSeen) -> bool:
    """Return whether an answer names a rule or, where it names none as those of earlier policies, has its code."""
    named = _named(answer)
    return _name(seen) in named if named else seen.rule.code in _codes(answer)


def _named(answer: Any) -> Sequence[str]:
    """Return the rules that a valid answer names."""
    return () if fault_of(answer) else answer.get("rules", ())


def _name(seen: RuleSeen) -> str:
    """Return the name of a rule as answers have it."""
    return f"{seen.rule.path.removeprefix('data.')}#{seen.rule.code}"


def _section(heading: str, seen: Sequence[RuleSeen], others: Sequence[str] = ()) -> list[str]:
    """Return rules under a heading, and behind them the names of what is no rule that was asked."""
    shown = [line for one in seen if one.rule.title for line in _rule_lines(one)]
    named = [f"  {name}" for name in others]
    return ["", heading, *shown, *named] if shown or named else []


def _rule_lines(seen: RuleSeen) -> list[str]:
    rule = seen.rule
    head = f"  {rule.title}{f' ({rule.code})' if rule.code else ''}  {rule.place.file}:{rule.place.row}"
    fault = [f"    not so: {' '.join(seen.fault.text.split())}"] if seen.fault else []
    return [head, *fault, *(f"    {words} = {shown(value)}" for words, value in seen.reads.items())]


def shown(value: Any) -> str:
    """Return a value as JSON, cut off where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
