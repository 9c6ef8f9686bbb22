"""Policy asked again, with the policies of a bundle: an `opa` without a network, a clock or chance.

One process answers for all decisions of a policy. It may use what OPA offers, but for what answers differently another
time; it runs in a folder of its own, with an empty environment, for a limited time.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evidence.errors import EvidenceError, UndecidedError

SECONDS = 60.0
"""How long one policy may take for all its decisions, of which each takes OPA milliseconds."""
FORBIDDEN = frozenset(
    {"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122"},
)
"""What would answer differently another time, or reach for a network."""
LARGEST = 64 * 1024 * 1024
"""Bytes of OPA's answers."""

_LIST = (
    "answers := data.countersign.effect.decisions;"
    ' flaws := data.countersign.effect.config.flaws with input as {"tenant": input[0].tenant}'
)
_EACH = (
    "answers := {format_int(place, 10): answer |"
    " some place, question in input; answer := data.countersign.effect.decision with input as question};"
    " flaws := []"
)
_QUERIES = {1: _EACH, 2: _LIST}
"""What is asked in each format: the first release knew one question at a time, and nothing of flaws."""


class AskingError(UndecidedError):
    """Policy could not be asked again; the message says why."""


class NoAnswerError(EvidenceError):
    """OPA has no answer: it finds the policy or the question faulty; the message is its own."""


class _Bindings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answers: dict[str, Any]
    flaws: list[str]


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    bindings: _Bindings


class _Fault(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    message: str


class _Output(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    result: list[_Result] = Field(default=[], max_length=1)
    errors: list[_Fault] = []


class _Builtin(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    name: str


class _Capabilities(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    builtins: list[_Builtin]


Printed = TypeVar("Printed", bound=BaseModel)


@dataclass(frozen=True)
class Opa:
    """An `opa` program, and how many seconds it has for one policy."""

    program: Path
    seconds: float = SECONDS

    @cached_property
    def version(self) -> str:
        """Return the program's own word on its version."""
        for line in self._run(Path.cwd(), "version")[1].decode().splitlines():
            name, _, value = line.partition(": ")
            if name == "Version":
                return value.strip()
        raise AskingError(f"{self.program} does not tell its version")

    def ask(self, version: int, files: Mapping[str, str], questions: Iterable[bytes]) -> dict[str, Any]:
        """Return the answers to a policy's questions by their places, as a bundle of this format asked them.

        The questions are JSON.
        """
        with TemporaryDirectory(prefix="countersign-replay-") as made:
            folder = Path(made)
            for name, text in files.items():
                _write(folder / "policy" / name, text)
            _write(folder / "policy/.manifest", json.dumps({"roots": [""], "rego_version": 1}))
            _write(folder / "capabilities.json", self._capabilities)
            _write_list(folder / "input.json", questions)
            arguments = ["--bundle", "policy", "--input", "input.json", "--capabilities", "capabilities.json"]
            limit = ["--strict-builtin-errors", "--timeout", f"{self.seconds:.0f}s", "--format", "json"]
            code, printed = self._run(folder, "eval", *arguments, *limit, _QUERIES[version])
        return _answers(code, printed)

    @cached_property
    def _capabilities(self) -> str:
        found = _parse(_Capabilities, self._run(Path.cwd(), "capabilities", "--current")[1])
        kept = [builtin.model_dump() for builtin in found.builtins if builtin.name not in FORBIDDEN]
        return json.dumps({**found.model_dump(), "builtins": kept, "allow_net": []})

    def _run(self, folder: Path, *arguments: str) -> tuple[int, bytes]:
        """Return the status and what was printed, or raise AskingError."""
        try:
            done = subprocess.run(
                [self.program.absolute(), *arguments],
                cwd=folder,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise AskingError(f"{self.program} did not answer within {self.seconds:g} seconds") from error
        except OSError as error:
            raise AskingError(f"{self.program} cannot be run: {error.strerror}") from error
        if len(done.stdout) > LARGEST:
            raise AskingError(f"{self.program} printed more than {LARGEST} bytes")
        return done.returncode, done.stdout


def _answers(code: int, printed: bytes) -> dict[str, Any]:
    found = _parse(_Output, printed)
    if code != 0 or found.errors:
        said = found.errors[0].message if found.errors else f"it ended with {code}"
        raise NoAnswerError(f"OPA has no answer: {said[:_SHOWN]}")
    if not found.result:
        raise NoAnswerError("OPA has no answer: it is undefined")
    bindings = found.result[0].bindings
    if bindings.flaws:
        raise NoAnswerError(f"its configuration is flawed: {'; '.join(bindings.flaws)[:_SHOWN]}")
    return bindings.answers


_SHOWN = 300


def _parse(model: type[Printed], printed: bytes) -> Printed:
    """Return what OPA printed, or raise AskingError."""
    try:
        return model.model_validate_json(printed)
    except ValidationError as error:
        first = error.errors()[0]
        raise AskingError(f"opa printed something else than was expected: {first['msg'][:_SHOWN]}") from error


def _write_list(path: Path, items: Iterable[bytes]) -> None:
    """Write a list of items that are JSON, one after the other."""
    with path.open("wb") as file:
        file.write(b"[")
        for number, item in enumerate(items):
            file.write(b"," + item if number else item)
        file.write(b"]")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
