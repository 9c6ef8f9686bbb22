"""`--replay`: each decision of a bundle is asked for again, and OPA's answer compared with the one on record."""

import re
from functools import partial
from itertools import groupby
from typing import Any

from evidence import names
from evidence.replay_asking import NoAnswerError, Opa
from evidence.verify import policies
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import Rule, counted
from receipts import canonical
from receipts.canonical import built

NAME = "decisions.replay"
SENTENCE = "OPA gives each answer again, asked with the policy and the question of the decision."

_HIDDEN = "[redacted]"
Record = dict[str, Any]


def replayed_by(opa: Opa) -> Rule[Contents]:
    """Return the rule that this program gives each answer again."""
    return Rule(NAME, SENTENCE, partial(replay, opa))


def replay(opa: Opa, contents: Contents) -> str:
    """Return what was asked again, or raise BrokenError at the first answer that is another one.

    Raise `asking.AskingError` where it could not be asked.
    """
    version, texts = int(contents.statement.predicate.builder_version), policies.texts(contents)
    records = {name: contents.value(name) for name in contents.decisions}
    by_policy = sorted(records.items(), key=lambda item: (item[1]["policy_digest"], item[0]))
    for digest, group in groupby(by_policy, key=lambda item: item[1]["policy_digest"]):
        decisions = list(group)
        try:
            answers = opa.ask(version, texts[digest], (canonical.dumps(record["input"]) for _, record in decisions))
        except NoAnswerError as error:
            raise BrokenError(f"{names.POLICIES}/{digest}", str(error)) from error
        for place, (name, record) in enumerate(decisions):
            _compare(name, record, answers.get(str(place)))
    theirs = sorted({str(record.get("opa_version", "unknown")) for record in records.values()})
    return f"{counted(len(records), 'decision')} by OPA {', '.join(theirs)}, asked again of OPA {opa.version}"


def _compare(name: str, record: Record, answer: Any) -> None:
    """Raise unless the answer is the one on record, in which texts may have been hidden."""
    told = record["answer"]
    if not isinstance(answer, dict):
        raise BrokenError(name, "policy has no answer to its question")
    if answer.keys() != told.keys():
        raise BrokenError(name, "policy answers in another form")
    for member in sorted(told):
        if not _is_same(told[member], answer[member]):
            raise BrokenError(name, f"{member} is {_shown(told[member])}, and policy answers {_shown(answer[member])}")


def _is_same(told: Any, answered: Any) -> bool:
    """Compare what is on record with what is answered; on record, secrets in texts have been hidden."""
    told = built(told)
    if isinstance(told, str) and isinstance(answered, str) and _HIDDEN in told:
        hidden = ".*".join(map(re.escape, re.split(rf"(?:{re.escape(_HIDDEN)})+", told)))
        return re.fullmatch(hidden, answered, re.DOTALL) is not None
    if isinstance(told, list) and isinstance(answered, list):
        return len(told) == len(answered) and all(map(_is_same, told, answered))
    if isinstance(told, dict) and isinstance(answered, dict):
        return told.keys() == answered.keys() and all(_is_same(told[name], answered[name]) for name in told)
    try:
        return canonical.dumps(told) == canonical.dumps(answered)
    except canonical.CanonicalError:
        return False


def _shown(value: Any) -> str:
    text = canonical.dumps(value).decode() if not isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 200
