"""Strict YAML: what JSON can say, and where each value stands in the file.

Refused: duplicate keys, anchors and aliases, tags, more than one document, files over 1 MiB, nesting over 32
levels, and plain values that readers of YAML 1.1 and 1.2 understand differently (``yes``, ``012``, ``~``).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, NoReturn

import yaml

from runtime.definitions.problems import DefinitionError, Path, Problem, show_path
from runtime.model.limits import MAX_INTEGER

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Mapping[str, Any] = {"": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_AMBIGUOUS = re.compile(
    r"(?i:yes|no|on|off|true|false|null|~|[-+]?\.(?:inf|nan)"
    r"|[-+]?(?:0x[\da-f_]+|0o[0-7_]+|0b[01_]+|(?=\.?\d)[\d_]*\.?[\d_]*(?:e[-+]?\d+)?))"
)


class SourceError(DefinitionError):
    """A file cannot be read as strict YAML; `problem` says why and where."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


@dataclass(frozen=True)
class Source:
    """A file's value, and the line of each path in it."""

    file: str
    value: Any
    lines: Mapping[Path, int]

    def problem(self, path: Path, code: str, message: str) -> Problem:
        """Return a problem at `path`, or at the nearest place above it that the file holds."""
        near = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in self.lines), ())
        return Problem(self.file, self.lines.get(near, 1), show_path(path), code, message)


def read_source(path: FilePath, file: str) -> Source:
    """Read the YAML file at `path`, to be called `file` in problems."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(Problem(file, 1, "$", "yaml", f"cannot be read: {error.strerror}")) from error
    return parse_source(data, file)


def parse_source(data: bytes, file: str) -> Source:
    """Parse `data`, or raise SourceError with the first thing wrong in it."""
    if len(data) > MAX_BYTES:
        raise SourceError(Problem(file, 1, "$", "yaml", "larger than 1 MiB"))
    builder = _Builder(file)
    try:
        for event in _events(data.decode()):
            builder.take(event)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(Problem(file, line, "$", "yaml", "not UTF-8")) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SourceError(Problem(file, line, "$", "yaml", f"not YAML: {error.problem}")) from error
    except yaml.YAMLError as error:
        raise SourceError(Problem(file, 1, "$", "yaml", "not YAML: a character that text may not hold")) from error
    return Source(file, builder.root, builder.lines)


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_LOADER)


@dataclass
class _Frame:
    """A container that is being filled; `key` is the mapping key whose value comes next."""

    container: dict[str, Any] | list[Any]
    path: Path
    key: str | None = None


@dataclass
class _Builder:
    """Builds the value out of parser events, without recursion."""

    file: str
    root: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    stack: list[_Frame] = field(default_factory=list)
    line: int = 1
    documents: int = 0

    def take(self, event: Any) -> None:
        """Take one event of the parser."""
        self.line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._start_document()
        elif isinstance(event, yaml.NodeEvent):
            self._take_node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()

    def _take_node(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            self._refuse("anchors and aliases are not allowed")
        if event.tag:
            self._refuse(f"the tag {event.tag} is not allowed")
        if isinstance(event, yaml.ScalarEvent):
            self._place(self._plain(event.value) if event.implicit[0] and not self._is_on(event.value) else event.value)
            return
        if len(self.stack) == MAX_DEPTH:
            self._refuse(f"nested more than {MAX_DEPTH} levels deep")
        container: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.stack.append(_Frame(container, self._place(container)))

    def _start_document(self) -> None:
        self.documents += 1
        if self.documents > 1:
            self._refuse("more than one document in the file")

    def _place(self, value: Any) -> Path:
        """Put `value` where the parser stands, and return its path."""
        if not self.stack:
            self.root = value
            return ()
        frame = self.stack[-1]
        if isinstance(frame.container, list):
            path = (*frame.path, len(frame.container))
            frame.container.append(value)
            self.lines[path] = self.line
            return path
        if frame.key is None:
            return self._open_key(frame, frame.container, value)
        path, frame.container[frame.key], frame.key = (*frame.path, frame.key), value, None
        return path

    def _open_key(self, frame: _Frame, container: Mapping[str, Any], key: Any) -> Path:
        if not isinstance(key, str):
            self._refuse("a key must be text; quote it")
        path = (*frame.path, key)
        if key in container:
            self._refuse(f"the key '{key}' stands twice", path)
        self.lines[path] = self.line
        frame.key = key
        return path

    def _plain(self, text: str) -> Any:
        """Return what an unquoted scalar means."""
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return self._integer(text)
        if _NUMBER.fullmatch(text):
            return self._number(text)
        if _AMBIGUOUS.fullmatch(text):
            self._refuse(f"{text[:20]} is ambiguous: quote it if it is text, else write it as JSON does")
        return text

    def _is_on(self, text: str) -> bool:
        """Return whether this is the key `on`: keys are text, so nobody can mean anything else."""
        frame = self.stack[-1] if self.stack else None
        return text == "on" and frame is not None and isinstance(frame.container, dict) and frame.key is None

    def _integer(self, text: str) -> int:
        if len(text) > len(str(-MAX_INTEGER)) or abs(int(text)) > MAX_INTEGER:
            self._refuse(f"the number {text[:20]} is too large for JSON; quote it if it is an identifier")
        return int(text)

    def _number(self, text: str) -> float:
        number = float(text)
        if not math.isfinite(number) or (abs(number) > MAX_INTEGER and number.is_integer()):
            self._refuse(f"the number {text[:20]} is too large for JSON")
        return number

    def _refuse(self, message: str, path: Path | None = None) -> NoReturn:
        frame = self.stack[-1] if self.stack else None
        if path is None and frame:
            path = frame.path if frame.key is None else (*frame.path, frame.key)
        raise SourceError(Problem(self.file, self.line, show_path(path or ()), "yaml", message))
