"""Decisions of policy as the command line shows them: the answer, the rules behind it, and those that came near."""

import json
from collections.abc import Sequence
from typing import Any

from countersign.cli.command import Row, moment_text
from policy.answer import parse_answer
from policy.contract import PolicyUnavailableError, Question
from policy.differences import shown_value
from policy.explain import Explanation, RuleSeen
from policy.trial import rules_of
from runtime.model.person import Person

_OUTCOMES = {"allow": "Allowed", "deny": "Denied", "needs_approval": "Needs approval"}
_MOST_SIGNERS = 20


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
        _policy(found),
        *_rules(answer, explanation),
    ]


def _policy(found: Row) -> str:
    """Name the policy that decided: its version, where its text is one, and that nobody had activated it, if so."""
    document = found["document"]
    version = f"version {found['version']}, " if found["version"] else ""
    development = ", for development: nobody had activated it" if "development" in document else ""
    return f"policy {version}{document['policy_digest']}{development}"


def answer_lines(
    digest: str, question: Question, explanation: Explanation, fault: str | None, signers: Sequence[Person] | None
) -> list[str]:
    """Return what a policy answers, why, and who could sign, in lines."""
    effect, answer = question.effect, explanation.answer
    return [
        f"{effect.connector}::{effect.operation} to {effect.target}",
        "",
        *(
            [f"No valid answer, so nothing would be done: {fault}"]
            if fault
            else [*_said(answer), *_requirement(answer), *_asked_back(answer), *_signers(signers)]
        ),
        *(f"printed: {_visible(line)}" for line in explanation.printed),
        f"policy {digest}, {explanation.milliseconds:.1f} ms",
        *_rules(answer, explanation),
    ]


def trial_json(
    digest: str, explanation: Explanation, fault: str | None, signers: Sequence[Person] | None
) -> dict[str, Any]:
    """Return the same for programs, with the members of a preview over HTTP; `signers` are all of them."""
    people = None if signers is None else [{**vars(one), "groups": list(one.groups)} for one in signers]
    return {
        "result": explanation.answer,
        "fault": fault,
        "policy_digest": digest,
        "rules": rules_of(explanation),
        "signers": None if people is None else {"count": len(people), "people": people},
        "printed": list(explanation.printed),
        "milliseconds": explanation.milliseconds,
    }


def _said(answer: Row) -> list[str]:
    reasons = [f"  {reason['msg']} ({reason['code']})" for reason in answer["reasons"]]
    return [f"{_OUTCOMES[answer['outcome']]}, tier {answer['tier']}", *reasons]


def _asked_back(answer: dict[str, Any]) -> list[str]:
    """Return how to say whom fields name, where policy asks for that; the gate looks it up in the directory."""
    named = {path: ["ID"] for path in answer.get("names", ())}
    return [f"  it asks who is named there: --set 'named={json.dumps(named)}'"] if named else []


def _requirement(answer: Row) -> list[str]:
    """Return who has to sign."""
    return [f"  {name}: {shown_value(value)}" for name, value in (answer["requirement"] or {}).items()]


def _signers(signers: Sequence[Person] | None) -> list[str]:
    """Return who could sign now; nothing where that is not known."""
    if signers is None:
        return []
    named = [f"{one.name} ({', '.join(one.groups)})" for one in signers[:_MOST_SIGNERS]]
    more = [f"and {len(signers) - len(named)} more"] if len(signers) > len(named) else []
    return [f"Who could sign it now: {', '.join([*named, *more]) or 'nobody'}"]


def _codes(answer: Any) -> set[str]:
    """Return the codes of a valid answer's reasons."""
    return {reason["code"] for reason in answer["reasons"]} if _is_answer(answer) else set()


def _is_answer(answer: Any) -> bool:
    try:
        parse_answer(answer, "answer")
    except PolicyUnavailableError:
        return False
    return True


def _asked_again(told: Row, answered: Any) -> str:
    """Say whether the same is answered today; a reason's words may hold what was hidden on the record."""
    if _is_answer(answered) and _without_words(told) == _without_words(answered):
        return "asked again, the policy answers the same"
    return f"asked again, the policy answers {json.dumps(answered, ensure_ascii=False)}"


def _without_words(answer: Row) -> dict[str, Any]:
    return {**{name: value for name, value in answer.items() if value is not None}, "reasons": sorted(_codes(answer))}


def _rules(answer: Any, explanation: Explanation) -> list[str]:
    behind = [one for one in explanation.gave if _is_behind(answer, one)]
    others = set(_named(answer)).difference(map(_name, behind))
    untried = explanation.untried
    return [
        *_section("Behind the answer", behind, sorted(others)),
        *_section("Came near: one condition does not hold", explanation.near),
        *_section("Holds as well", [one for one in explanation.gave if one not in behind]),
        *(["", f"{untried} more rules may have come near: finding out took too long"] if untried else []),
    ]


def _is_behind(answer: Any, seen: RuleSeen) -> bool:
    """Return whether an answer names a rule or, where it names none as those of earlier policies, has its code."""
    named = _named(answer)
    return _name(seen) in named if named else seen.rule.code in _codes(answer)


def _named(answer: Any) -> Sequence[str]:
    """Return the rules that a valid answer names."""
    return answer.get("rules", ()) if _is_answer(answer) else ()


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
    return [head, *fault, *(f"    {words} = {shown_value(value)}" for words, value in seen.reads.items())]


def _visible(line: str) -> str:
    """Return what a policy prints without what a terminal would obey."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
