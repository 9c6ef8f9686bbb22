"""What is said in the chat, as data: the parameters of the chat's operations, for those who send and who post."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]


class Message(BaseModel):
    """Closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PostCard(Message):
    """slack::post_card."""

    approval_id: Text
    channel: Text


class PostTask(PostCard):
    """slack::post_task: the verb's other params made the request; its card is read from there."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class UpdateCard(Message):
    """slack::update_card: `revision` is the least that must be shown; the newest is."""

    approval_id: Text
    revision: int


class PostMessage(Message):
    """slack::post_message: into the thread of an approval's card, or into the channel."""

    channel: Text
    text: Text
    thread_of: Text | None = None


class DirectMessage(Message):
    """slack::direct_message."""

    user: Text
    text: Text
