"""What the contract's models share: texts that can be put on record, and a base that is closed to unknown members."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_TEXT = 2_000
MOST_ITEMS = 100


def printable(text: str) -> str:
    """Return a text that can be put on record; raise ValueError of another."""
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("control characters cannot be put on record")
    return text


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(printable)]
Texts = Annotated[list[Text], Field(max_length=MOST_ITEMS)]


class Exact(BaseModel):
    """Frozen, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
