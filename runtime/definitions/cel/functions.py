"""The functions of packs that expressions may call: which there are, and one call, checked on both sides."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from runtime.functions import Function

MAX_SIZE = 65536
"""Characters and members, all told, of the arguments of a call, and of its result."""

_installed: dict[str, dict[int, Function]] = {}


def replace_all(functions: Iterable[Function]) -> None:
    """Have these functions, and no others."""
    _installed.clear()
    for function in functions:
        _installed.setdefault(function.name, {})[function.version] = function


def names() -> frozenset[str]:
    """Return the names of the functions that there are."""
    return frozenset(_installed)


def newest(name: str) -> int:
    """Return the newest version of a function."""
    return max(_installed[name])


def counts(name: str) -> frozenset[int]:
    """Return how many arguments a function takes, in any of its versions."""
    return frozenset(len(function.params) for function in _installed.get(name, {}).values())


def missing(pinned: Mapping[str, int]) -> list[str]:
    """Return those of the functions, by name and version, that there are not."""
    return [f"{name} version {version}" for name, version in pinned.items() if version not in _installed.get(name, {})]


class Calls:
    """The functions of one evaluation, and the first fault of a call: what CEL makes of a fault is not looked at."""

    def __init__(self, wanted: Iterable[str], pinned: Mapping[str, int] | None) -> None:
        self.fault = ""
        self.functions: dict[str, Callable[..., Any]] = {}
        for name in wanted:
            self.functions[name] = self._guarded(_found(name, pinned))

    def _guarded(self, function: Function) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return _called(function, arguments)
            except ValueError as error:
                self.fault = self.fault or f"{function.name}: {error}"
            except Exception as error:  # noqa: BLE001 - the pack's own code: whatever it raises is a fault
                self.fault = self.fault or f"{function.name} is broken: {type(error).__name__}: {error}"
            return None

        return call


def _found(name: str, pinned: Mapping[str, int] | None) -> Function:
    if pinned is not None and name not in pinned:
        raise ValueError(f"the definition names no version of {name}")
    version = newest(name) if pinned is None else pinned[name]
    function = _installed.get(name, {}).get(version)
    if function is None:
        raise ValueError(f"{name} version {version} is not installed")
    return function


def _called(function: Function, arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != len(function.params):
        raise ValueError(f"takes {len(function.params)} arguments, not {len(arguments)}")
    for number, (wanted, given) in enumerate(zip(function.params, arguments, strict=True), 1):
        if not wanted.fits(given):
            raise ValueError(f"argument {number} is no {wanted}")
    _limited(list(arguments), "its arguments are")
    result = function.run(*arguments)
    if not function.returns.fits(result):
        raise TypeError(f"it gives a {type(result).__name__}, and says that it gives a {function.returns}")
    _limited(result, "its result is")
    return result


def _limited(value: Any, what: str) -> None:
    if _size(value) > MAX_SIZE:
        raise ValueError(f"{what} larger than {MAX_SIZE} characters and members")


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    members = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + sum(map(_size, members))
