"""Functions of packs, known to expressions for the length of a block; handlers, called as the runtime calls them."""

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.definitions.cel.expressions import install
from runtime.functions import Function
from runtime.handlers import Answer, Call, Handler, JsonObject


@contextmanager
def installed(*functions: Function) -> Iterator[None]:
    """Have expressions know these functions alone."""
    install(functions)
    try:
        yield
    finally:
        install(())


async def result_of(handler: Handler, call: Call) -> JsonObject:
    """Return the result alone, whether or not more was told."""
    return Answer.of(await handler.run(call)).result
