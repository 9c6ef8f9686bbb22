"""A walk through the code: files and functions of ours that are entered, and statements that PostgreSQL is sent."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

ROOT = Path(__file__).resolve().parents[1]
_LEFT_OUT = ("sandbox/", "tests/", ".venv/", "countersign/setting", "countersign/config")
"""A stand-in, what measures, other people's code, and settings, which are read once."""


@dataclass
class Walk:
    """What was entered: functions, as (file, qualified name), and the statements that were sent."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """Return the files that were entered, by name."""
        return sorted({file for file, _ in self.functions})

    def enter(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; what a module does when it is imported is none."""
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            file = frame.f_code.co_filename[len(str(ROOT)) + 1 :]
            if not file.startswith(_LEFT_OUT) and frame.f_code.co_name != "<module>":
                self.functions.add((file, frame.f_code.co_qualname))


_walks: list[Walk] = []


class Noting(AsyncCursor[DictRow]):
    """Notes the statements that are sent, but for BEGIN and COMMIT."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        if query not in ("BEGIN", "COMMIT"):
            for walk in _walks:
                walk.statements.append(" ".join(str(query).split()))
        return await super().execute(query, params, **kwargs)


@contextmanager
def walked() -> Iterator[Walk]:
    """Give the walk through what is done until the block ends, in this thread and in those that begin meanwhile."""
    walk, before = Walk(), sys.getprofile()
    _walks.append(walk)
    threading.setprofile(walk.enter)
    sys.setprofile(walk.enter)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        _walks.remove(walk)
