"""A guard, as it is taken away from a copy of the tree."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """A piece of `code` in the function, method or constant called `name`, wherever that stands in the source.

    `without` is what takes the place of the code, so that the guard is gone. Of `tests` at least one fails then.
    """

    rule: str
    name: str
    code: str
    without: str
    tests: tuple[str, ...]
