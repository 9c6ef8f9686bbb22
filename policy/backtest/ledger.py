"""The files of a backtest: its plan, each judged decision, and the time that both policies took."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from policy.backtest.judging import JudgedDecision
from policy.errors import PolicyError

JUDGED, TIMES = "decisions.jsonl", "times.jsonl"
_LONGEST_LINE = 4 * 1024 * 1024


class Plan(BaseModel):
    """The plan of a backtest, the first line of its file: the candidate's digest, and the decisions selected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidate: str
    since: datetime | None
    until: datetime | None
    read_until: datetime
    sample: int | None
    cutoff: str | None
    decisions: int


class Ledger:
    """The file of a backtest: the plan, then one line for each judged decision, in database order."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / JUDGED
        self._times = folder / TIMES

    def begin(self, plan: Plan) -> None:
        """Write the plan into a new file."""
        with self._file.open("x", encoding="utf-8") as file:
            file.write(f"{plan.model_dump_json()}\n")

    def plan(self) -> Plan:
        """Return the plan, or raise PolicyError."""
        try:
            with self._file.open(encoding="utf-8") as file:
                return Plan.model_validate_json(file.readline())
        except FileNotFoundError as error:
            raise PolicyError(f"{self._file} is not there: no backtest was begun in {self._file.parent}") from error
        except ValidationError as error:
            raise PolicyError(f"{self._file}, line 1: not the plan of a backtest") from error

    def judged(self) -> Iterator[JudgedDecision]:
        """Yield the judged decisions; raise PolicyError at any other line."""
        with self._file.open(encoding="utf-8") as file:
            next(file)
            for number, line in enumerate(file, 2):
                try:
                    yield JudgedDecision.model_validate_json(line)
                except ValidationError as error:
                    raise PolicyError(f"{self._file}, line {number}: not a decision that was judged") from error

    def repair(self) -> None:
        """Remove an incomplete last line."""
        with self._file.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LONGEST_LINE))
            tail = file.read()
            file.truncate(size - len(tail) + tail.rfind(b"\n") + 1)

    def append(self, judged: Sequence[JudgedDecision], seconds: float, recorded_us: int) -> None:
        """Append a set of judged decisions, and the time of both policies to the other file."""
        with self._file.open("a", encoding="utf-8") as file:
            file.writelines(f"{one.model_dump_json()}\n" for one in judged)
        took = {"decisions": len(judged), "recorded_ms": recorded_us / 1000, "candidate_ms": round(seconds * 1000, 3)}
        with self._times.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(took)}\n")
