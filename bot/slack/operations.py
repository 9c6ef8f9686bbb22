"""The parameters of the chat's operations, read strictly."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.handlers import Call, RefusedError

Text = Annotated[str, Field(min_length=1)]


class Params(BaseModel):
    """Closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PostCard(Params):
    """slack::post_card."""

    approval_id: Text
    channel: Text


class PostTask(PostCard):
    """slack::post_task: the verb's other params made the request; its card is read from there."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class UpdateCard(Params):
    """slack::update_card: `revision` is the least that must be shown; the newest is."""

    approval_id: Text
    revision: int


class PostMessage(Params):
    """slack::post_message: into the thread of an approval's card, or into the channel."""

    channel: Text
    text: Text
    thread_of: Text | None = None


class DirectMessage(Params):
    """slack::direct_message."""

    user: Text
    text: Text


P = TypeVar("P", bound=Params)


def params_of(model: type[P], call: Call) -> P:
    """Return the parameters of a call; what is wrong with them is refused by name."""
    try:
        return model.model_validate(call.params)
    except ValidationError as error:
        places = "; ".join(f"params.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise RefusedError(f"{call.operation}: {places}") from None
