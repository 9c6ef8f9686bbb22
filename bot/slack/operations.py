"""The parameters of the chat's operations, read strictly."""

from typing import TypeVar

from pydantic import ValidationError

from runtime.handlers import Call, RefusedError
from runtime.model.message import Message

P = TypeVar("P", bound=Message)


def params_of(model: type[P], call: Call) -> P:
    """Return the parameters of a call; what is wrong with them is refused by name."""
    try:
        return model.model_validate(call.params)
    except ValidationError as error:
        places = "; ".join(f"params.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise RefusedError(f"{call.operation}: {places}") from None
