"""The verdict on a world: what does not hold, and what was done to it.

A bundle that was promised to stay has its retention: whether each in a bucket can be deleted is looked at.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.faults.checker.budget_rules import count_budgets
from tests.faults.checker.facts import Facts, Row, gather
from tests.faults.checker.policy_rules import CHANGES, is_postponed
from tests.faults.checker.rules import answered_outside, broken

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


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
        "policy versions": len(facts.tables["versions"]),
        "activations": len(facts.tables["activations"]),
        "changes of the policy that were not done": sum(
            row["definition_name"] in CHANGES and row["status"] != "succeeded" for row in facts.tables["runs"]
        ),
        "effects that waited for another version": sum(map(is_postponed, facts.tables["leaves"])),
        **count_budgets(facts),
        "kills at failpoints": kills["killed"],
        "pauses at failpoints": kills["stopped"],
        **{f"faults: {name}": number for name, number in sorted(sorts.items())},
    }


def unlocked(client: "S3Client", bundles: list[Row], now: datetime) -> Iterator[str]:
    """Yield a sentence for each stored bundle whose version in the bucket is not locked beyond now."""
    for row in bundles:
        address = urlsplit(row["location"] or "")
        if address.scheme != "s3" or row["stored_at"] is None:
            continue
        (version,) = parse_qs(address.query)["versionId"]
        head = client.head_object(Bucket=address.netloc, Key=address.path.removeprefix("/"), VersionId=version)
        until = head.get("ObjectLockRetainUntilDate")
        if head.get("ObjectLockMode") is None or until is None or until <= now:
            yield f"the bundle of {row['run_id']} can be deleted: it is stored without its lock"
