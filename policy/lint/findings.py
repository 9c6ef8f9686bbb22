"""Findings of lint, and the configuration of a tenant with the lines of its file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.lint.json_lines import Path, lines_of


@dataclass(frozen=True, order=True)
class Finding:
    """What is surely not meant: where it stands, its stable code, and a sentence that says what to do.

    `line` is 0 where there is no line; `path` is that of a member of the configuration, or the name of a rule.
    """

    file: str
    line: int
    path: str
    code: str
    says: str

    def __str__(self) -> str:
        """Return it as one line."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        path = f" {self.path}:" if self.path else ""
        return " ".join(f"{place}:{path} {self.says} ({self.code})".split())


@dataclass(frozen=True)
class TenantConfig:
    """The configuration of a tenant: what it says, its file, and the line of each member."""

    tenant: str
    file: str
    document: Mapping[str, Any]
    lines: Mapping[Path, int]

    @classmethod
    def of(cls, tenant: str, file: str, text: str, document: Mapping[str, Any]) -> "TenantConfig":
        """Return the configuration that a file holds."""
        return cls(tenant, file, document, lines_of(text))

    @property
    def connectors(self) -> Mapping[str, Any]:
        """Return the connectors that the tenant lists."""
        found: Mapping[str, Any] = self.document["connectors"]
        return found

    @property
    def requirements(self) -> Mapping[str, Any]:
        """Return the tenant's requirements by name."""
        found: Mapping[str, Any] = self.document["requirements"]
        return found

    def operations(self) -> list[tuple[str, str]]:
        """Return each operation that the tenant lists, with its connector."""
        return [(name, one) for name, entry in self.connectors.items() for one in entry["operations"]]

    def flaw(self, said: str) -> Finding:
        """Return what the policy itself says against the configuration: mostly a member, `: ` and what is wrong."""
        path, _, wrong = said.partition(": ")
        line = {".".join(map(str, one)): line for one, line in self.lines.items()}.get(path)
        if line is None:
            return Finding(self.file, 1, "", "policy.flaw", said)
        return Finding(self.file, line, path, "policy.flaw", wrong)

    def finding(self, path: Path, code: str, says: str) -> Finding:
        """Return a finding about a member; one that is not there has the line of what it would stand in."""
        ways = (path[:length] for length in range(len(path), -1, -1))
        line = next((self.lines[one] for one in ways if one in self.lines), 1)
        return Finding(self.file, line, ".".join(map(str, path)), code, says)
