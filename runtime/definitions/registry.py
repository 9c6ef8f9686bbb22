"""Handlers from installed packages, found through the entry point group; anything doubtful is refused."""

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from runtime.definitions.problems import DefinitionError, hint
from runtime.handlers import ENTRY_POINT_GROUP, Handler

RESERVED_NAMESPACES = frozenset({"slack", "timer"})

_NAME = re.compile(r"(?P<namespace>[a-z][a-z0-9_]*)::[a-z][a-z0-9_]*")

Settings = Mapping[str, Mapping[str, str]]


class HandlerRegistryError(DefinitionError):
    """The installed packages do not give one consistent set of handlers; the message names the package."""


def discover(settings: Settings) -> dict[str, Handler]:
    """Return the handlers of all installed packs, each made with its own settings."""
    return collect(entry_points(group=ENTRY_POINT_GROUP), settings)


def collect(points: Iterable[EntryPoint], settings: Settings) -> dict[str, Handler]:
    """Return the handlers that `points` offer. A namespace belongs to one pack."""
    handlers: dict[str, Handler] = {}
    owners = dict.fromkeys(RESERVED_NAMESPACES, "the runtime")
    packs: dict[str, str] = {}
    for point in sorted(points, key=_describe):
        if point.name in packs:
            raise HandlerRegistryError(f"{_describe(point)} is offered by {packs[point.name]} too")
        packs[point.name] = _describe(point)
        offered = _offered(point, settings.get(point.name, {}))
        for namespace in sorted({_namespace(point, name) for name in offered}):
            if owners.setdefault(namespace, _describe(point)) != _describe(point):
                raise HandlerRegistryError(f"{_describe(point)}: the namespace '{namespace}' is {owners[namespace]}'s")
        handlers |= offered
    for name in settings.keys() - packs.keys():
        raise HandlerRegistryError(f"settings for '{name}', but no such pack is installed{hint(name, packs)}")
    return handlers


def _describe(point: EntryPoint) -> str:
    return f"pack '{point.name}' of {point.dist.name if point.dist else 'an unnamed distribution'}"


def _offered(point: EntryPoint, settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return what the pack's factory makes. Its code is not ours: whatever it raises closes the door."""
    try:
        offered = dict(point.load()(settings))
    except Exception as error:
        raise HandlerRegistryError(f"{_describe(point)} is broken: {type(error).__name__}: {error}") from error
    for name, handler in offered.items():
        if not isinstance(handler, Handler):
            raise HandlerRegistryError(f"{_describe(point)}: '{name}' is not a Handler but a {type(handler).__name__}")
    return offered


def _namespace(point: EntryPoint, name: object) -> str:
    found = _NAME.fullmatch(str(name))
    if found is None:
        raise HandlerRegistryError(f"{_describe(point)}: '{name}' is not of the form namespace::operation")
    return found["namespace"]
