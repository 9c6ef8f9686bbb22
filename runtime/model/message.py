"""The base of what is said in the chat, and what much of it names."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RunName(Message):
    """A run as people know it: the title of its runbook, and the reference under which it was triggered."""

    title: str
    reference: str
