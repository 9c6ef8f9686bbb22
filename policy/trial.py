"""Trials of a policy: a question that somebody makes up, or a recorded one with changes, in the gate's own form."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from policy.bundle import strict_json
from policy.contract import Question
from policy.errors import PolicyError


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
