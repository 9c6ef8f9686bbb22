"""The verdict on a world: what does not hold, and what was done to it."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.checker.facts import Facts, gather
from tests.faults.checker.rules import answered_outside, broken

_RECOVERY = 3.0
_SHARE = 0.95
_ACTS = {
    "edited": "effect.edited",
    "handed on": "approval.handed",
    "asked about": "question.asked",
    "whose vote was withdrawn": "vote.withdrawn",
}


@dataclass
class Report:
    """`wrong` is empty where all holds."""

    wrong: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.wrong

    def text(self) -> str:
        """Return the report for people."""
        lines = [f"  {name}: {number}" for name, number in self.counts.items()]
        for rule, sentences in self.wrong.items():
            lines += [f"  BROKEN {rule}: {len(sentences)}", *(f"    {one}" for one in sentences[:12])]
        return "\n".join(lines)


def check(dsn: str, histories: Path) -> tuple[Facts, Report]:
    """Judge a database and the histories beside it."""
    facts = gather(dsn, histories)
    asked, answered = answered_outside(facts, _RECOVERY)
    report = Report(broken(facts), _counts(facts) | {"requests in calm": asked, "of them accepted": answered})
    if answered < _SHARE * asked:
        report.wrong["calm"] = [f"only {answered} of {asked} requests were accepted while nothing was wrong"]
    return facts, report


def _counts(facts: Facts) -> dict[str, int]:
    sorts = Counter(line["sort"] for line in facts.told("fault"))
    clicks = facts.told("clicked")
    kills = Counter(line["kind"] for line in facts.lines)
    leaves = Counter(row["leaf"]["event"] for row in facts.tables["leaves"])
    return {
        "runs": len(facts.tables["runs"]),
        "of them succeeded": sum(row["status"] == "succeeded" for row in facts.tables["runs"]),
        "effects in the world": len(facts.told("acted")),
        "leaves": len(facts.tables["leaves"]),
        "bundles": len(facts.tables["bundles"]),
        "clicks": len(clicks),
        "deliveries of clicks": sum(line["deliveries"] for line in clicks),
        **{f"requests {name}": leaves[event] for name, event in _ACTS.items()},
        "kills at failpoints": kills["killed"],
        "pauses at failpoints": kills["stopped"],
        **{f"faults: {name}": number for name, number in sorted(sorts.items())},
    }
