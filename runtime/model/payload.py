"""What all payloads of notifications share."""

from pydantic import BaseModel, ConfigDict


class PayloadError(Exception):
    """What was recorded is no notification of its kind; the message says where."""


class PayloadModel(BaseModel):
    """The base of all payloads: strict, and never changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
