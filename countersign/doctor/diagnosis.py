"""How the doctor's facts are told: one failure for each cause, and what could not be checked because of it."""

import re
from collections.abc import Iterator, Sequence

from bot.slack.doctor import Fact

_NOT_SET = re.compile(r"COUNTERSIGN_\w+ is not set\b")


def diagnosis(facts: Sequence[Fact], idle: Fact | None) -> Iterator[str]:
    """Yield the lines; `idle` says that nothing runs here, which is then the cause of all that is not set."""
    causes: dict[str, str] = {}
    for fact in (*([idle] if idle else []), *facts):
        if fact.ok:
            yield f"ok    {fact.name}: {fact.detail}"
        elif idle and fact is not idle and _NOT_SET.search(fact.detail):
            yield f"-     {fact.name}: not checked: {fact.detail}"
        elif fact.detail in causes:
            yield f"-     {fact.name}: not checked: see {causes[fact.detail]}"
        else:
            causes[fact.detail] = fact.name
            yield f"FAIL  {fact.name}: {fact.detail}\n      {fact.remedy}"
