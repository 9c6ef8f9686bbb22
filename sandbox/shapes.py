"""Small rules that check a JSON value and say, in Slack's words and with a JSON pointer, what is wrong with it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Rule = Callable[[Any, str], Iterator[str]]


def _at(message: str, path: str) -> str:
    return f"{message} [json-pointer:{path or '/'}]"


def string(longest: int, shortest: int = 1) -> Rule:
    """Return a rule for a string of limited length."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield _at("must be a string", path)
        elif len(value) > longest:
            yield _at(f"must be less than {longest + 1} characters", path)
        elif len(value) < shortest:
            yield _at(f"must be more than {shortest - 1} characters", path)

    return check


def boolean(value: Any, path: str) -> Iterator[str]:
    """Check a boolean."""
    if not isinstance(value, bool):
        yield _at("must be a boolean", path)


def integer(lowest: int, highest: int) -> Rule:
    """Return a rule for a whole number within bounds."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            yield _at(f"must be an integer between {lowest} and {highest}", path)

    return check


def one_of(*allowed: str) -> Rule:
    """Return a rule for one of a few words."""

    def check(value: Any, path: str) -> Iterator[str]:
        if value not in allowed:
            yield _at(f"value must be one of: {', '.join(allowed)}", path)

    return check


def url(value: Any, path: str) -> Iterator[str]:
    """Check a link."""
    yield from string(3000)(value, path)
    if isinstance(value, str) and not value.startswith(("http://", "https://")):
        yield _at("invalid url", path)


def array(item: Rule, most: int, fewest: int = 1) -> Rule:
    """Return a rule for a list of limited length."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield _at("must be an array", path)
            return
        if len(value) > most:
            yield _at(f"no more than {most} items allowed", path)
        if len(value) < fewest:
            yield _at(f"must provide at least {fewest} items", path)
        for position, one in enumerate(value):
            yield from item(one, f"{path}/{position}")

    return check


def obj(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """Return a rule for an object with these members and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield _at("must be an object", path)
            return
        for name in required:
            if name not in value:
                yield _at(f"missing required field: {name}", path)
        for name, member in value.items():
            if name in known:
                yield from known[name](member, f"{path}/{name}")
            else:
                yield _at(f"invalid additional property: {name}", path)

    return check


def by_type(rules: Mapping[str, Rule]) -> Rule:
    """Return a rule that goes by the object's ``type``."""

    def check(value: Any, path: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            yield _at("missing required field: type", path)
        elif kind not in rules:
            yield _at(f"unsupported type: {kind}", f"{path}/type")
        else:
            yield from rules[kind](value, path)

    return check


def both(*rules: Rule) -> Rule:
    """Return a rule that holds when all of these do."""

    def check(value: Any, path: str) -> Iterator[str]:
        for rule in rules:
            yield from rule(value, path)

    return check
