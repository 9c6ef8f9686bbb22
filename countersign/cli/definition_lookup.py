"""How the commands look a version up: what is not there is a sentence."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from countersign.cli import operate
from countersign.settings import Settings
from runtime.services.definition_views import UnknownVersionError

T = TypeVar("T")


async def looked_up(settings: Settings, look: Callable[..., Awaitable[T]], *what: Any) -> T:
    """Return what a look finds; raise OperateError where there is no such version."""
    try:
        return await operate.looked_up(settings, look, *what)
    except UnknownVersionError as error:
        raise operate.OperateError(str(error)) from error
