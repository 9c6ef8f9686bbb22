"""Recorded questions asked of a policy's text with OPA's coverage, in an `opa` that is confined and has no network.

Each question has a process of its own: OPA tells the coverage of a whole evaluation, and not of a question in it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policy.confined import DESK, Bounds, confined
from policy.coverage.lines import SeenFile
from policy.errors import PolicyError
from policy.explain import DECISION, FLAWS, lay_out, offline_capabilities, parsed_json

_QUERY = f"[[answer | answer := {DECISION}], [flaws | flaws := {FLAWS}]]"
"""What the gate asks: of a question, and once of the configuration."""
_NO_REASONS = "--coverage-runs="
"""Not asked: each reason why a line is not reached would be one more evaluation."""


@dataclass(frozen=True)
class CoverageOpa:
    """A policy's text, laid out in a folder, and the program that is asked."""

    opa: Path
    folder: Path
    bounds: Bounds
    at_once: asyncio.Semaphore

    async def seen(self, question: Mapping[str, Any]) -> dict[str, SeenFile] | None:
        """Return what a question did in each file, None where the policy fails over it."""
        policy = self.folder / "policy"
        where = ("--bundle", str(policy), "--capabilities", str(self.folder / "capabilities.json"))
        how = ("--strict-builtin-errors", "--stdin-input", "--format", "json", "--coverage", _NO_REASONS)
        try:
            async with self.at_once:
                asked = json.dumps(question)
                printed, _ = await confined(self.opa, "eval", *where, *how, _QUERY, bounds=self.bounds, stdin=asked)
        except PolicyError:
            return None
        root = f"{str(policy).strip('/')}/"
        files = parsed_json(printed)["coverage"]["files"]
        return {name.strip("/").removeprefix(root): SeenFile.of(told) for name, told in files.items()}

    async def tree(self, name: str) -> Any:
        """Return the syntax tree of a file; raise PolicyError."""
        how = ("parse", "--format", "json", "--json-include=locations,-comments")
        async with self.at_once:
            printed, _ = await confined(self.opa, *how, str(self.folder / "policy" / name), bounds=self.bounds)
        return parsed_json(printed)


@asynccontextmanager
async def coverage_opa(
    opa: Path, files: Mapping[str, str], at_once: int, bounds: Bounds = DESK
) -> AsyncIterator[CoverageOpa]:
    """Lay a policy's text out in a folder of its own; up to `at_once` questions are asked at the same time."""
    with TemporaryDirectory(prefix="countersign-coverage-") as made:
        folder = Path(made)
        (folder / "capabilities.json").write_text(await offline_capabilities(opa, bounds))
        lay_out(folder / "policy", files)
        yield CoverageOpa(opa, folder, bounds, asyncio.Semaphore(at_once))
