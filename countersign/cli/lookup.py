"""How commands look into the database of the running system: what is named and is not there is a sentence."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from countersign.cli.command import run, shared_settings
from countersign.connection import connected
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from runtime.model.search import UnknownError

T = TypeVar("T")


@contextmanager
def naming() -> Iterator[None]:
    """Turn it into an OperateError where something that is named, such as a person, is not there."""
    try:
        yield
    except UnknownError as error:
        raise OperateError(str(error)) from error


async def looked_up(settings: Settings, look: Callable[..., Awaitable[T]], *what: Any) -> T:
    """Return what a look into the tenant's rows finds; raise OperateError where what it names is not there."""
    async with connected(settings) as conn:
        with naming():
            return await look(conn, settings.tenant, *what)


def find(look: Callable[..., Awaitable[T]], *what: Any) -> T:
    """Return the same of the running system."""
    return run(looked_up(shared_settings("database_url"), look, *what))


def find_one(named: str, look: Callable[..., Awaitable[T | None]], *what: Any) -> T:
    """Return the one thing that is named, or raise OperateError."""
    return expected(find(look, *what), named)


def expected(found: T | None, named: str) -> T:
    """Return what was found, or raise OperateError."""
    if found is None:
        raise OperateError(f"there is no {named}")
    return found
