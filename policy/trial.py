"""Trials of a policy: a question that somebody makes up, or a recorded one with changes, in the gate's own form."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from policy.answer import expect_editor_apart, parse_answer, parse_flaws
from policy.bundle import CONFIG_FILE, check_names, policy_text, strict_json
from policy.contract import PolicyText, PolicyUnavailableError, Question
from policy.errors import PolicyError
from policy.explain import Explanation, RuleSeen


def parse_question(document: Any) -> Question:
    """Return a question, or raise PolicyError that says what is wrong with it, and where."""
    try:
        return Question.model_validate_json(json.dumps(document))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise PolicyError(f"the question is none: {where or 'it'}: {first['msg']}") from error


def with_changes(document: Any, changes: Sequence[str]) -> Any:
    """Return a question with members changed, each as `effect.fields.amount=900`: JSON, or else text.

    Raise PolicyError where a change names no member of an object that is there.
    """
    changed = copy.deepcopy(document)
    for change in changes:
        path, mark, value = change.partition("=")
        *around, name = path.split(".")
        if not mark or not name:
            raise PolicyError(f"{change}: write PATH=VALUE, such as effect.fields.amount=900")
        _object_at(changed, around, change)[name] = _value(value)
    return changed


def _object_at(document: Any, path: Sequence[str], change: str) -> dict[str, Any]:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    if not isinstance(document, dict):
        raise PolicyError(f"{change}: the question has no {'.'.join(path) or 'members'}")
    return document


def _value(text: str) -> Any:
    try:
        return strict_json(text)
    except ValueError:
        return text


def candidate(
    served: PolicyText | None, modules: Mapping[str, str], config: Mapping[str, Any] | None, tenant: str
) -> PolicyText:
    """Return a policy with replaced or added modules; raise PolicyError.

    Without `served` they are the whole policy. `config` replaces the tenants' configuration. A changed policy sees the
    configuration of this tenant only.
    """
    if served is not None and not modules and config is None:
        return served
    for name in modules:
        if not name.endswith(".rego"):
            raise PolicyError(f"{name}: the name of a module ends with .rego")
    files = dict(served.files) if served is not None else {}
    held = json.loads(files.pop(CONFIG_FILE, "{}")) if config is None else config
    files |= modules
    check_names(files)
    try:
        return policy_text(files, {name: value for name, value in held.items() if name == tenant})
    except ValueError as error:
        raise PolicyError(f"the configuration has no canonical form: {error}") from error


def fault_of(explanation: Explanation, question: Question) -> str | None:
    """Return why the gate would not take an answer, None where it would."""
    try:
        if flaws := parse_flaws(explanation.flaws):
            return "; ".join(f"{question.tenant}: {flaw}" for flaw in flaws)
        expect_editor_apart(question, parse_answer(explanation.answer, "answer"))
    except PolicyUnavailableError as error:
        return str(error)
    return None


def rules_of(explanation: Explanation) -> dict[str, Any]:
    """Return the rules that gave something, and those that came near, for programs."""
    fired, near = ([_rule(one) for one in seen] for seen in (explanation.gave, explanation.near))
    return {"fired": fired, "near": near, "untried": explanation.untried}


def _rule(seen: RuleSeen) -> dict[str, Any]:
    rule = seen.rule
    said = {"path": rule.path, "title": rule.title, "code": rule.code, "file": rule.place.file, "row": rule.place.row}
    return {**said, "reads": dict(seen.reads), "not_so": seen.fault.text if seen.fault else None}
