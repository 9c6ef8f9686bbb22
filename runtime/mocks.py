"""Mocks: the overlay, a strict YAML file that says which handlers are mocked, and what each of them does instead.

Every problem is found at once, with file, line and path, before anything starts: an answer that the verb's own schema
would refuse is one. In a process that runs on mocks no handler that is not mocked may write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from receipts.chain import Actor
from runtime.definitions.durations import parse_duration
from runtime.definitions.loading.shapes import Shape, read_shape
from runtime.definitions.loading.yaml_source import Source, SourceError, read_source
from runtime.definitions.model import Definition, Kind, Verb
from runtime.definitions.nodes import Text
from runtime.definitions.problems import InvalidDefinitionsError, Problem, hint
from runtime.definitions.registry import RESERVED_NAMESPACES
from runtime.definitions.schemas import violations
from runtime.engine import Engine
from runtime.handlers import (
    BlockedError,
    Call,
    Done,
    Handler,
    HandlerError,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    Reconciled,
    RefusedError,
    TransientError,
)
from runtime.inbox import inbox
from runtime.model.payloads import CompletionPayload

KEPT = RESERVED_NAMESPACES - {"crud"}
"""What cannot be mocked: the chat, which has a sandbox, and time."""


class FailureShape(Shape):
    """``fails``: how the calls of a step fail: `times` in a row before one succeeds, or always."""

    kind: Literal["transient", "not_taken", "blocked", "refused", "unknown"]
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
    file, problems = read_shape(OverlayFile, source)
    mocks: dict[str, Mock] = {}
    for name in file.handlers if file else ():
        declared, misshapen = read_shape(MockShape, source, ("handlers", name))
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


MOCK = Actor(id="mock", kind="system")
"""Who answers for the other side of a durable step."""

_ERRORS: Mapping[str, type[HandlerError]] = {
    "transient": TransientError,
    "not_taken": NotTakenError,
    "blocked": BlockedError,
    "refused": RefusedError,
    "unknown": OutcomeUnknownError,
}

Complete = Callable[[Call, Mock], Awaitable[None]]


def overlaid(handlers: Mapping[str, Handler], overlay: Overlay, complete: Complete) -> dict[str, Handler]:
    """Return the handlers of a process with this overlay; `complete` gives the answer to a durable step."""
    return {name: _overlaid(name, handler, overlay.get(name), complete) for name, handler in handlers.items()}


def _overlaid(name: str, handler: Handler, mock: Mock | None, complete: Complete) -> Handler:
    if mock is not None:
        return _mocked(handler, mock, complete)
    if handler.writes and name.partition("::")[0] not in KEPT:
        return Handler(partial(_refuse, name), reconcile=handler.reconcile)
    return handler


async def _refuse(name: str, call: Call) -> JsonObject:
    del call
    raise RefusedError(f"this program runs on mocks, and {name} is none of them: nothing is written for real")


def _mocked(handler: Handler, mock: Mock, complete: Complete) -> Handler:
    """Return the mock of a handler: it reads where that reads, and can tell what became of a write where that can."""
    failed: dict[tuple[str, str], int] = {}

    async def run(call: Call) -> JsonObject:
        await asyncio.sleep(mock.delay.total_seconds())
        _fail(mock, call, failed)
        if call.token and mock.answer is not None:
            await complete(call, mock)
        return dict(mock.result)

    async def reconcile(call: Call) -> Reconciled:
        del call
        return Done(dict(mock.result))

    async def before(call: Call) -> JsonObject:
        del call
        return dict(mock.before or {})

    return Handler(
        run,
        reconcile=reconcile if handler.reconcile else None,
        before=before if mock.before is not None else None,
        writes=handler.writes,
    )


def _fail(mock: Mock, call: Call, failed: dict[tuple[str, str], int]) -> None:
    """Raise what the overlay wants of this call: so many in a row for a step, counted in this process."""
    step = (call.run_id, call.step)
    if mock.fails is None or (mock.fails.times is not None and failed.get(step, 0) >= mock.fails.times):
        return
    failed[step] = failed.get(step, 0) + 1
    raise _ERRORS[mock.fails.kind](mock.fails.message)


def completing(engine: Engine) -> Complete:
    """Return what answers for the other side, as its own notification would: on record, and applied once."""

    async def complete(call: Call, mock: Mock) -> None:
        payload = CompletionPayload(result=dict(mock.answer or {}), token=call.token, verbs=list(mock.verbs))
        key = f"{call.tenant}:{MOCK.id}:{call.token}"
        await inbox.submit(engine, payload, by=MOCK, about=call.correlation_key, key=key)

    return complete
