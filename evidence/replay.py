"""Policy replay (`--replay`): each decision of a bundle is asked for again, and the answers compared.

OPA's answer has to be the one on record. It is asked with the policies of the bundle, of an `opa` without a network, a
clock or chance. One process answers for all decisions of a policy. It may use what OPA offers, but for what answers
differently another time; it runs in a folder of its own, with an empty environment, for a limited time.
"""

import json
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evidence import names
from evidence.errors import EvidenceError, UndecidedError
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.decisions import policy_texts
from evidence.verify.rules import Rule, counted
from receipts import canonical
from receipts.canonical import built

SECONDS = 60.0
"""How long one policy may take for all its decisions, of which each takes OPA milliseconds."""
FORBIDDEN = frozenset(
    {"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122"},
)
"""What would answer differently another time, or reach for a network."""
_LATE = "context deadline exceeded"
"""What OPA says where its own time limit has passed before ours."""
LARGEST = 64 * 1024 * 1024
"""Bytes of OPA's answers."""

_QUERY = (
    "answers := data.countersign.effect.decisions;"
    ' flaws := data.countersign.effect.config.flaws with input as {"tenant": input[0].tenant}'
)


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
    """An `opa` program, and how many seconds it has for one policy; `before` are words that confine it, with `env`."""

    program: Path
    seconds: float = SECONDS
    before: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def version(self) -> str:
        """Return the program's own word on its version."""
        for line in self._run(Path.cwd(), "version")[1].decode().splitlines():
            name, _, value = line.partition(": ")
            if name == "Version":
                return value.strip()
        raise AskingError(f"{self.program} does not tell its version")

    def ask(self, files: Mapping[str, str], questions: Iterable[bytes]) -> dict[str, Any]:
        """Return the answers to a policy's questions by their places; the questions are JSON."""
        with TemporaryDirectory(prefix="countersign-replay-") as made:
            folder = Path(made)
            for name, text in files.items():
                _write(folder / "policy" / name, text)
            _write(folder / "policy/.manifest", json.dumps({"roots": [""], "rego_version": 1}))
            _write(folder / "capabilities.json", self._capabilities)
            _write_list(folder / "input.json", questions)
            arguments = ["--bundle", "policy", "--input", "input.json", "--capabilities", "capabilities.json"]
            limit = ["--strict-builtin-errors", "--timeout", f"{self.seconds:.0f}s", "--format", "json"]
            code, printed = self._run(folder, "eval", *arguments, *limit, _QUERY)
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
                [*self.before, self.program.absolute(), *arguments],
                cwd=folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise AskingError(f"{self.program} did not answer within {self.seconds:g} seconds") from error
        except OSError as error:
            raise AskingError(f"{self.program} cannot be run: {error.strerror}") from error
        if done.returncode == -signal.SIGKILL:
            raise AskingError(f"{self.program} did not answer within the CPU time that it has: it was killed")
        if len(done.stdout) > LARGEST:
            raise AskingError(f"{self.program} printed more than {LARGEST} bytes")
        return done.returncode, done.stdout


def _answers(code: int, printed: bytes) -> dict[str, Any]:
    if code != 0 and not printed:
        raise AskingError(f"OPA ended with {code} and said nothing: it may have needed more memory than it has")
    found = _parse(_Output, printed)
    if code != 0 or found.errors:
        said = found.errors[0].message if found.errors else f"it ended with {code}"
        if said == _LATE:
            raise AskingError("OPA did not answer in time")
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


NAME = "decisions.replay"
SENTENCE = "OPA gives each answer again, asked with the policy and the question of the decision."

_HIDDEN = "[redacted]"
Record = dict[str, Any]


def replayed_by(opa: Opa) -> Rule[Contents]:
    """Return the rule that this program gives each answer again."""
    return Rule(NAME, SENTENCE, partial(replay, opa))


def replay(opa: Opa, contents: Contents) -> str:
    """Return what was asked again, or raise BrokenError at the first answer that is another one.

    Raise AskingError where it could not be asked.
    """
    texts = policy_texts(contents)
    records = {name: contents.value(name) for name in contents.decisions}
    by_policy = sorted(records.items(), key=lambda item: (item[1]["policy_digest"], item[0]))
    for digest, group in groupby(by_policy, key=lambda item: item[1]["policy_digest"]):
        decisions = list(group)
        try:
            answers = opa.ask(texts[digest], (canonical.dumps(record["input"]) for _, record in decisions))
        except NoAnswerError as error:
            raise BrokenError(f"{names.POLICIES}/{digest}", str(error)) from error
        for place, (name, record) in enumerate(decisions):
            _compare(name, record, answers.get(str(place)))
    theirs = sorted({str(record["opa_version"]) for record in records.values()})
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
