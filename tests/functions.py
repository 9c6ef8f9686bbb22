"""Functions of packs for tests: expressions know them for the length of a block, and then none."""

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.definitions.cel.expressions import install
from runtime.functions import Function


@contextmanager
def installed(*functions: Function) -> Iterator[None]:
    """Have expressions know these functions alone."""
    install(functions)
    try:
        yield
    finally:
        install(())
