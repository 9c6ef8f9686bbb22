"""What ``card`` of a verb or a step may say. Texts but labels hold ``${...}``; what is not said is shown as always."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from runtime.definitions.nodes import Spec, Text

Label = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\n$]+$")]


class Format(StrEnum):
    """How a value is written."""

    TEXT = "text"
    DATE = "date"
    NUMBER = "number"
    PERCENT = "percent"
    CODE = "code"


class FieldSpec(Spec):
    """A labelled value; of a table, a column, whose value is that of a `row`."""

    label: Label
    value: Text
    format: Annotated[Format, Field(strict=False)] = Format.TEXT


class TableSpec(Spec):
    """A list, a line for each of its items."""

    title: Label
    rows: Text
    columns: list[FieldSpec] = Field(min_length=1, max_length=6)


class LinkSpec(Spec):
    """A way to something on the web."""

    label: Label
    url: Text


class CardSpec(Spec):
    """``card``. `approve` and `reject` say what each leads to; `hide` are the params behind "Show all" alone."""

    title: Text | None = None
    summary: Text | None = None
    approve: Text | None = None
    reject: Text | None = None
    fields: list[FieldSpec] = Field(default_factory=list, max_length=8)
    tables: list[TableSpec] = Field(default_factory=list, max_length=3)
    links: list[LinkSpec] = Field(default_factory=list, max_length=3)
    hide: list[Text] = Field(default_factory=list, max_length=50)


def card_document(card: CardSpec) -> dict[str, Any]:
    """Return the JSON of what a card says; what is as always is left out."""
    return card.model_dump(mode="json", exclude_defaults=True)


def read_card(document: Any) -> CardSpec:
    """Return what a card says, or raise ValidationError."""
    return CardSpec.model_validate(document)
