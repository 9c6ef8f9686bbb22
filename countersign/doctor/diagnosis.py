"""The doctor's diagnosis: one failure for each cause, what could not be checked because of it, and what to do."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.doctor import Fact

_NOT_SET = re.compile(r"COUNTERSIGN_\w+ is not set\b")


class Standing(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "failed"
    NOT_CHECKED = "not_checked"


_MARKS = {Standing.OK: "ok   ", Standing.FAILED: "FAIL ", Standing.NOT_CHECKED: "-    "}


@dataclass(frozen=True)
class Finding:
    """What a check found; `remedy` is what to do if it failed, else ""."""

    name: str
    standing: Standing
    detail: str
    remedy: str = ""

    def line(self) -> str:
        """Return it for people."""
        remedy = f"\n      {self.remedy}" if self.remedy else ""
        return f"{_MARKS[self.standing]} {self.name}: {self.detail}{remedy}"


def diagnosis(facts: Sequence[Fact], idle: Fact | None) -> Iterator[Finding]:
    """Yield what was found; `idle` says that nothing runs here, which is then the cause of all that is not set."""
    causes: dict[str, str] = {}
    for fact in (*([idle] if idle else []), *facts):
        if fact.ok:
            yield Finding(fact.name, Standing.OK, fact.detail)
        elif idle and fact is not idle and _NOT_SET.search(fact.detail):
            yield Finding(fact.name, Standing.NOT_CHECKED, f"not checked: {fact.detail}")
        elif fact.detail in causes:
            yield Finding(fact.name, Standing.NOT_CHECKED, f"not checked: see {causes[fact.detail]}")
        else:
            causes[fact.detail] = fact.name
            yield Finding(fact.name, Standing.FAILED, fact.detail, fact.remedy)


_CAUSES = (
    (
        r"unsupported startup parameter",
        "Set COUNTERSIGN_DATABASE_POOLER=transaction: COUNTERSIGN_DATABASE_URL leads to a pooler, such as PgBouncer.",
    ),
    (
        r"authentication failed|no password supplied|role \".*\" does not exist|no such user",
        "Set COUNTERSIGN_DATABASE_URL to a user and password that PostgreSQL accepts.",
    ),
    (
        r"FATAL:.*database \".*\" does not exist|no such database",
        "Create the database, or name another one in COUNTERSIGN_DATABASE_URL.",
    ),
    (
        r"countersign migrate|relation \".*\" does not exist|column \".*\" does not exist",
        "Run `countersign migrate`.",
    ),
    (r"too many (clients|connections)|remaining connection slots", "Lower COUNTERSIGN_DATABASE_CONNECTIONS."),
    (
        r"OPA at .*HTTP status 401",
        "Set COUNTERSIGN_OPA_TOKEN, or COUNTERSIGN_OPA_CERTIFICATE and its key, to what OPA accepts.",
    ),
    (
        r"OPA at .*certificate",
        "Set COUNTERSIGN_OPA_CA to the authority of OPA's certificate, and ours in COUNTERSIGN_OPA_CERTIFICATE.",
    ),
    (
        r"OPA at unix:.*Permission denied",
        "Let our user reach OPA's socket: start OPA as the same user, or share a group with --unix-socket-perm.",
    ),
    (
        r"OPA at .*(Cannot connect|no answer within|refused|Disconnected)",
        "Start OPA, or set COUNTERSIGN_OPA_URL to where it runs and COUNTERSIGN_OPA_TIMEOUT to how long it may take.",
    ),
    (r"OPA at ", "Serve the bundle that `countersign policy build` makes, as docs/policy.md says."),
    (r"^COUNTERSIGN_\w+\b", "Correct the setting that the message names."),
)


def remedy_of(why: str, otherwise: str) -> str:
    """Return what to do about an error that says `why`; `otherwise` where its cause is not known."""
    return next((remedy for cause, remedy in _CAUSES if re.search(cause, why)), otherwise)
