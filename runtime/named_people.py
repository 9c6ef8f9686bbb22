"""People whom an effect's fields name: policy asks who they are, so that they do not sign it."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import psycopg

from policy.contract import PolicyUnavailableError, Question, Verdict
from runtime.store.database.pool import Pool
from runtime.store.directory import people_named

Answers = Sequence[Verdict | PolicyUnavailableError]
Ask = Callable[[Sequence[Question]], Awaitable[Answers]]

log = logging.getLogger(__name__)


def names_in(fields: Mapping[str, Any], path: str) -> list[str] | None:
    """Return the names that a field has: a text or a list of texts; None where it has anything else, or is missing.

    `path` is a field, or members of it joined by dots. Null names nobody.
    """
    found: Any = fields
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    if found is None:
        return []
    names = found if isinstance(found, list) else [found]
    return names if all(isinstance(name, str) for name in names) else None


def told_who(names: Mapping[str, list[str] | None], known: Mapping[str, Sequence[str]]) -> dict[str, list[str] | None]:
    """Return the ids behind names, by field; None where a field has no names, or one is not in the directory."""

    def ids(found: list[str] | None) -> list[str] | None:
        if found is None or any(name not in known for name in found):
            return None
        return sorted({one for name in found for one in known[name]})

    return {path: ids(found) for path, found in names.items()}


async def asked_with_names(pool: Pool, ask: Ask, questions: Sequence[Question], first: Answers) -> Answers:
    """Return answers; where the first ones ask back who is named in fields, look that up and ask again with it.

    Only these questions are unavailable if the directory cannot be read, or if policy then asks for other names, since
    another version has come into force.
    """
    answers = list(first)
    back = {
        place: one.answer.names
        for place, one in enumerate(answers)
        if isinstance(one, Verdict) and one.answer.names and questions[place].named is None
    }
    if not back:
        return answers
    try:
        told = [await _look_up(pool, questions[place], paths) for place, paths in back.items()]
    except (psycopg.Error, OSError) as error:
        log.warning("the directory was not read: %s", error)
        unread = PolicyUnavailableError("it asks who is named in the effect, and the directory was not read")
        return [unread if place in back else one for place, one in enumerate(answers)]
    again = await ask(told)
    for place, question, answer in zip(back, told, again, strict=True):
        answers[place] = _told_answer(question, answer)
    return answers


def _told_answer(question: Question, answer: Verdict | PolicyUnavailableError) -> Verdict | PolicyUnavailableError:
    if isinstance(answer, PolicyUnavailableError):
        return answer
    if answer.answer.names:
        return PolicyUnavailableError(f"it asks for other names now: {', '.join(answer.answer.names)}")
    return answer.model_copy(update={"named": question.named})


async def _look_up(pool: Pool, question: Question, paths: Sequence[str]) -> Question:
    names = {path: names_in(question.effect.fields, path) for path in paths}
    sought = sorted({name for found in names.values() for name in found or ()})
    async with pool.connection() as conn:
        known = await people_named(conn, question.tenant, sought) if sought else {}
    return question.model_copy(update={"named": told_who(names, known)})
