"""The functions of packs that expressions may call: which there are, and one call, checked on both sides."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from runtime.definitions.cel.sizes import Size
from runtime.functions import Function, Type

MAX_SIZE = 65536
"""Characters and members, all told, of the arguments of a call, and of its result."""
GAIN = 1024
"""Of them a result may have beyond its arguments; what all results of an evaluation have beyond that is MAX_SIZE."""

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


def gain(name: str) -> Size:
    """Return by how much a result is larger than the arguments, in any version, as far as its cost is counted."""
    kinds = {function.returns for function in _installed[name].values()}
    if kinds & {Type.LIST, Type.OBJECT}:
        return Size(GAIN, 4 * GAIN)
    return Size(1, 4 * GAIN if Type.TEXT in kinds else 0)


def missing(pinned: Mapping[str, int]) -> list[str]:
    """Return those of the functions, by name and version, that there are not."""
    return [f"{name} version {version}" for name, version in pinned.items() if version not in _installed.get(name, {})]


class Calls:
    """The functions of one evaluation, and the first fault of a call: what CEL makes of a fault is not looked at."""

    def __init__(self, wanted: Iterable[str], pinned: Mapping[str, int] | None) -> None:
        self.fault = ""
        self._beyond = 0
        self.functions: dict[str, Callable[..., Any]] = {}
        for name in wanted:
            self.functions[name] = self._guarded(_found(name, pinned))

    def _guarded(self, function: Function) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return self._counted(arguments, _called(function, arguments))
            except ValueError as error:
                self.fault = self.fault or f"{function.name}: {error}"
            except Exception as error:  # noqa: BLE001 - the pack's own code: whatever it raises is a fault
                self.fault = self.fault or f"{function.name} is broken: {type(error).__name__}: {error}"
            return None

        return call

    def _counted(self, arguments: tuple[Any, ...], result: Any) -> Any:
        """Return the result; raise ValueError where all results are larger than the cost of the expression allows."""
        self._beyond += max(0, _size(result) - _size(list(arguments)) - GAIN)
        if self._beyond > MAX_SIZE:
            raise ValueError(f"its results are larger than {MAX_SIZE} characters and members, all told")
        return result


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
