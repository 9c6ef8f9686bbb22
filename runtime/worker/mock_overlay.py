"""The overlay: a strict YAML file that says which handlers are mocked, and what each of them does instead.

Every problem is found at once, with file, line and path, before anything starts: an answer that the verb's own schema
would refuse is one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from runtime.definitions.durations import parse_duration
from runtime.definitions.loading.shapes import Shape, shape
from runtime.definitions.loading.yaml_source import Source, SourceError, read_source
from runtime.definitions.model import Definition, Kind, Verb
from runtime.definitions.nodes import Text
from runtime.definitions.problems import InvalidDefinitionsError, Problem, hint
from runtime.definitions.registry import RESERVED_NAMESPACES
from runtime.definitions.schemas import violations

KEPT = RESERVED_NAMESPACES - {"crud"}
"""What cannot be mocked: the chat, which has a sandbox, and time."""


class FailureShape(Shape):
    """``fails``: how the calls of a step fail: `times` in a row before one succeeds, or always."""

    kind: Literal["transient", "not_taken", "held", "refused", "unknown"]
    message: Text
    times: int | None = Field(default=None, ge=1)


class MockShape(Shape):
    """One handler: what a call returns, and what the other side of a durable verb answers later."""

    result: dict[str, Any] = Field(default_factory=dict)
    answer: dict[str, Any] | None = None
    before: dict[str, Any] | None = None
    delay: Text | None = None
    fails: FailureShape | None = None


class OverlayFile(Shape):
    """The whole file."""

    handlers: dict[str, Any] = Field(min_length=1)


@dataclass(frozen=True)
class Mock:
    """What a mocked handler does: wait, then fail or return `result`; `answer` is what completes a durable step."""

    result: Mapping[str, Any]
    answer: Mapping[str, Any] | None
    before: Mapping[str, Any] | None
    delay: timedelta
    fails: FailureShape | None
    verbs: tuple[str, ...]  # those that it stands behind


Overlay = Mapping[str, Mock]


def read_overlay(path: Path, handlers: Collection[str], definitions: Collection[Definition]) -> Overlay:
    """Return the mocks by handler, or raise InvalidDefinitionsError with everything that is wrong with the file."""
    try:
        source = read_source(path, str(path))
    except SourceError as error:
        raise InvalidDefinitionsError([error.problem]) from error
    file, problems = shape(OverlayFile, source)
    mocks: dict[str, Mock] = {}
    for name in file.handlers if file else ():
        declared, misshapen = shape(MockShape, source, ("handlers", name))
        problems += misshapen or list(_faults(source, name, declared, handlers, definitions))
        if declared is not None and not problems:
            mocks[name] = _mock(declared, [verb.name for verb in _verbs_of(name, definitions)])
    if problems:
        raise InvalidDefinitionsError(sorted(set(problems)))
    return mocks


def _mock(declared: MockShape, verbs: list[str]) -> Mock:
    delay = parse_duration(declared.delay) if declared.delay else timedelta(0)
    return Mock(declared.result, declared.answer, declared.before, delay, declared.fails, tuple(verbs))


def _faults(
    source: Source,
    name: str,
    declared: MockShape | None,
    handlers: Collection[str],
    definitions: Collection[Definition],
) -> Iterator[Problem]:
    if name.partition("::")[0] in KEPT:
        yield source.problem(("handlers", name), "rule", f"'{name}' is the runtime's own and stays what it is")
    elif name not in handlers:
        yield source.problem(("handlers", name), "unknown_handler", f"unknown handler '{name}'{hint(name, handlers)}")
    if declared is None:
        return
    if declared.delay is not None:
        try:
            parse_duration(declared.delay)
        except ValueError as error:
            yield source.problem(("handlers", name, "delay"), "duration", str(error))
    for verb in _verbs_of(name, definitions):
        yield from _misfits(source, name, declared, verb)


def _verbs_of(name: str, definitions: Collection[Definition]) -> list[Verb]:
    return [verb for definition in definitions for verb in definition.verbs.values() if verb.handler == name]


def _misfits(source: Source, name: str, declared: MockShape, verb: Verb) -> Iterator[Problem]:
    """Yield where what the mock gives is not what the verb promises to its runbooks."""
    place = ("handlers", name)
    key, given = ("answer", declared.answer) if verb.kind is Kind.DURABLE else ("result", declared.result)
    if given is None:
        message = f"the durable verb '{verb.name}' needs the 'answer' that ends its wait"
        yield source.problem(place, "missing_key", message)
        return
    if verb.kind is not Kind.DURABLE and declared.answer is not None:
        yield source.problem((*place, "answer"), "rule", f"the verb '{verb.name}' waits for no answer")
    for path, _, message in violations(verb.output_schema, given):
        yield source.problem((*place, key, *path), "type_mismatch", f"does not fit the verb '{verb.name}': {message}")
