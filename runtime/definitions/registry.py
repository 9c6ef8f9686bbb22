"""Handlers and functions from installed packages, found through entry point groups; anything doubtful is refused."""

import importlib
import importlib.metadata
import re
import traceback
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from pydantic import BaseModel, ValidationError

from receipts.privacy import SHORTEST_SECRET, TOO_SHORT, secrets_in
from runtime.definitions.problems import DefinitionError, hint
from runtime.functions import FUNCTIONS_GROUP, Function
from runtime.handlers import ENTRY_POINT_GROUP, SETTINGS_GROUP, Handler

RESERVED_NAMESPACES = frozenset({"crud", "definition", "policy", "run", "slack", "timer", "webhook"})

_FUNCTION = re.compile(r"[a-z][a-z0-9_]*")
_NAME = re.compile(r"(?P<namespace>[a-z][a-z0-9_]*)::[a-z][a-z0-9_]*")

Settings = Mapping[str, Mapping[str, str]]


class HandlerRegistryError(DefinitionError):
    """The installed packages do not give one consistent set of handlers; the message names the package."""


def discover(settings: Settings, listed: Collection[str]) -> dict[str, Handler]:
    """Return the handlers of the installed packs that are listed, each made with its own settings."""
    handlers = collect(entry_points(group=ENTRY_POINT_GROUP), settings, listed)
    discover_settings(settings, listed)
    return handlers


def discover_settings(settings: Settings, listed: Collection[str]) -> dict[str, BaseModel]:
    """Return the settings of the installed packs that are listed, as each declares them."""
    return collect_settings(entry_points(group=SETTINGS_GROUP), settings, listed)


def collect_settings(points: Iterable[EntryPoint], settings: Settings, listed: Collection[str]) -> dict[str, BaseModel]:
    """Return the settings that are given, parsed by the models that `points` name, whose types say what is secret."""
    declared = {point.name: point for point in points if point.name in listed}
    parsed: dict[str, BaseModel] = {}
    for name, given in sorted(settings.items()):
        if not given:
            continue
        if name not in declared:
            raise HandlerRegistryError(f"settings for '{name}', but the pack declares none under {SETTINGS_GROUP}")
        parsed[name] = _parsed(declared[name], given)
    return parsed


def _parsed(point: EntryPoint, given: Mapping[str, str]) -> BaseModel:
    """Return a pack's settings; nothing that is refused is quoted, as it may be secret."""
    try:
        model = point.load()
        parsed: BaseModel = model.model_validate(dict(given))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = "; ".join(f"{'.'.join(map(str, item['loc'])) or '(whole)'}: {item['msg']}" for item in found)
        raise HandlerRegistryError(f"{_describe(point)}: settings: {wrong}") from None
    except Exception as error:
        raise _broken(point, error) from error
    for name in type(parsed).model_fields:
        if any(len(secret) < SHORTEST_SECRET for secret in secrets_in(getattr(parsed, name))):
            raise HandlerRegistryError(f"{_describe(point)}: settings: {name} {TOO_SHORT}")
    return parsed


def collect(points: Iterable[EntryPoint], settings: Settings, listed: Collection[str]) -> dict[str, Handler]:
    """Return the handlers that `points` offer, of listed packs alone: no code of another one runs.

    A namespace belongs to one pack.
    """
    handlers: dict[str, Handler] = {}
    owners = dict.fromkeys(RESERVED_NAMESPACES, "the runtime")
    packs: dict[str, str] = {}
    for point in sorted((point for point in points if point.name in listed), key=_describe):
        if point.name in packs:
            raise HandlerRegistryError(f"{_describe(point)} is offered by {packs[point.name]} too")
        packs[point.name] = _describe(point)
        offered = _offered(point, settings.get(point.name, {}))
        for namespace in sorted({_namespace(point, name) for name in offered}):
            if owners.setdefault(namespace, _describe(point)) != _describe(point):
                raise HandlerRegistryError(f"{_describe(point)}: the namespace '{namespace}' is {owners[namespace]}'s")
        handlers |= offered
    for name in settings.keys() - packs.keys():
        raise HandlerRegistryError(
            f"settings for '{name}', but no such pack is installed and listed{hint(name, packs)}"
        )
    return handlers


def discover_functions(listed: Collection[str]) -> list[Function]:
    """Return the functions that the installed packs which are listed add to expressions."""
    return collect_functions(entry_points(group=FUNCTIONS_GROUP), listed)


def collect_functions(points: Iterable[EntryPoint], listed: Collection[str]) -> list[Function]:
    """Return the functions that `points` name, of listed packs alone; each version of a name stands there once."""
    found: dict[tuple[str, int], Function] = {}
    for point in sorted((point for point in points if point.name in listed), key=_describe):
        for function in _named(point):
            if wrong := _unfit(point, function):
                raise HandlerRegistryError(f"{_describe(point)}: {wrong}")
            if (function.name, function.version) in found:
                again = f"the function {function.name} version {function.version} is there already"
                raise HandlerRegistryError(f"{_describe(point)}: {again}")
            found[function.name, function.version] = function
    return list(found.values())


def _named(point: EntryPoint) -> list[Function]:
    try:
        return list(point.load())
    except Exception as error:
        raise _broken(point, error) from error


def _unfit(point: EntryPoint, function: object) -> str:
    """Return why a function is not one that expressions may call, "" if it is."""
    if not isinstance(function, Function):
        return f"'{function}' is not a Function but a {type(function).__name__}"
    if not _FUNCTION.fullmatch(function.name) or not function.name.startswith(f"{point.name.replace('-', '_')}_"):
        return f"the name of the function '{function.name}' does not begin with that of its pack"
    return "" if function.version >= 1 else f"the version of the function {function.name} is {function.version}"


def _describe(point: EntryPoint) -> str:
    return f"pack '{point.name}' of {point.dist.name if point.dist else 'an unnamed distribution'}"


def _offered(point: EntryPoint, settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return what the pack's factory makes. Its code is not ours: whatever it raises closes the door."""
    try:
        factory = point.load()
    except Exception as error:
        raise _broken(point, error) from error
    try:
        offered = dict(factory(settings))
    except ValueError as error:  # by contract the word about settings; the place of it is in the settings
        raise HandlerRegistryError(f"{_describe(point)}: {error}") from error
    except Exception as error:
        raise _broken(point, error) from error
    for name, handler in offered.items():
        if not isinstance(handler, Handler):
            raise HandlerRegistryError(f"{_describe(point)}: '{name}' is not a Handler but a {type(handler).__name__}")
    return offered


def _broken(point: EntryPoint, error: Exception) -> HandlerRegistryError:
    """Name the pack, what went wrong in it, and the file and line for whoever has to mend it."""
    return HandlerRegistryError(f"{_describe(point)} is broken: {_place(error)}{type(error).__name__}: {error}")


def _place(error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    ours = {__file__, importlib.__file__, importlib.metadata.__file__}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in ours]
    theirs = [frame for frame in frames if not frame.filename.startswith("<frozen ")]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""


def _namespace(point: EntryPoint, name: object) -> str:
    found = _NAME.fullmatch(str(name))
    if found is None:
        raise HandlerRegistryError(f"{_describe(point)}: '{name}' is not of the form namespace::operation")
    return found["namespace"]
