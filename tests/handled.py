"""What a handler's operation gives, called as the runtime calls it."""

from runtime.handlers import Answer, Call, Handler, JsonObject


async def result_of(handler: Handler, call: Call) -> JsonObject:
    """Return the result alone, whether or not more was told."""
    return Answer.of(await handler.run(call)).result
