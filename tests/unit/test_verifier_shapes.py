"""Shapes for the browser's verifier follow from the program's models; what has no shape is refused, not left out."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, field_validator

from evidence.records import Extensible, OmittedIfNone
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex, Texts, Timestamp
from receipts.usage import Usage
from tools.verifier_shapes import ROOTS, ShapeError, Shapes, name_of, rules_module

OMITTED: Any = OmittedIfNone  # mypy knows no generic alias of Annotated as a value


class Inner(Extensible):
    """What stands inside."""

    said: str


class Outer(Exact):
    """What stands around."""

    since: Timestamp = Field(alias="from")
    inner: Inner
    reason: OmittedIfNone[NonEmpty] = None
    until: Timestamp | None = None
    is_late: bool = False


class Checked(Exact):
    """A record with a check of its own."""

    said: str

    @field_validator("said")
    @classmethod
    def _is_said(cls, said: str) -> str:
        return said


class Ignoring(BaseModel):
    """A record of which more members would be dropped."""

    model_config = ConfigDict(extra="ignore")


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (str, "text"),
        (NonEmpty, "someText"),
        (Identifier, "identifier"),
        (Sha256Hex, "hex64"),
        (Timestamp, "moment"),
        (bool, "truth"),
        (int, "whole"),
        (Any, "anything"),
        (JsonValue, "anything"),
        (Annotated[int, Field(ge=0)], "natural"),
        (Annotated[int, Field(ge=1)], "counted"),
        (Annotated[int, Field(ge=2)], "within(2, Infinity)"),
        (Annotated[int, Field(le=2)], "within(-Infinity, 2)"),
        (Annotated[int, Field(ge=0, le=9)], "within(0, 9)"),
        (Annotated[str, StringConstraints(pattern="^a/b$")], r"like(/^a\/b$/u)"),
        (Annotated[str, StringConstraints(pattern="^a+$", max_length=3)], "all(like(/^a+$/u), long(0, 3))"),
        (Annotated[str, Field(min_length=2)], "long(2, Infinity)"),
        (Literal["a", "b"], 'oneOf("a", "b")'),
        (Literal[-7, -8], "oneOf(-7, -8)"),
        (str | None, "orNull(text)"),
        (str | list[str] | None, "orNull(either(text, list(text)))"),
        (Annotated[int | None, Field(ge=1)], "orNull(counted)"),
        (OMITTED[NonEmpty], "someText"),
        (list[NonEmpty], "list(someText)"),
        (Annotated[list[str], Field(min_length=1)], "list(text, 1)"),
        (Annotated[list[str], Field(max_length=4)], "list(text, 0, 4)"),
        (Texts, "list(text)"),
        (dict[str, Any], "mapping(anything)"),
        (
            Annotated[dict[Annotated[str, StringConstraints(pattern="^a$")], int], Field(max_length=2)],
            "namedLike(/^a$/u, 2, whole)",
        ),
    ],
)
def test_a_type_has_the_shape_of_what_fits_it(kind: Any, shape: str) -> None:
    assert Shapes().of(kind) == shape


@pytest.mark.parametrize(
    "kind",
    [
        float,
        bytes,
        Annotated[int, Field(gt=0)],
        Annotated[int, Field(multiple_of=2)],
        Annotated[str, StringConstraints(to_lower=True)],
        Annotated[str, AfterValidator(str.strip)],
        Annotated[Literal["a"], AfterValidator(str.strip)],
        Annotated[Any, AfterValidator(str)],
        dict[Annotated[str, Field(min_length=1)], int],
        Checked,
        Ignoring,
    ],
)
def test_what_has_no_shape_is_refused(kind: Any) -> None:
    with pytest.raises(ShapeError):
        Shapes().of(kind)


def test_a_model_is_closed_where_it_forbids_more_and_names_what_may_be_missing() -> None:
    shapes = Shapes()
    assert shapes.add(Outer) == "OUTER_SHAPE"
    assert list(shapes.made) == [Inner, Outer]
    assert shapes.made[Inner] == "open({said: text})"
    assert shapes.made[Outer] == (
        "closed({\n"
        '  from: moment, inner: INNER_SHAPE, "reason?": someText, "until?": orNull(moment), "is_late?": truth,\n'
        "})"
    )


def test_a_check_of_a_whole_record_stands_beside_its_shape() -> None:
    shapes = Shapes()
    shapes.add(Usage)
    assert shapes.made[Usage].startswith("all(closed({")
    assert shapes.made[Usage].endswith("}), costsAgree)")


def test_two_models_of_one_name_are_refused() -> None:
    shapes = Shapes()
    shapes.add(Inner)
    with pytest.raises(ShapeError, match="two models are called Inner"):
        shapes.add(type("Inner", (Extensible,), {}))


def test_each_model_that_the_page_reads_by_has_a_name_of_its_own() -> None:
    assert len({name_of(model) for model in ROOTS}) == len(ROOTS)


def test_a_rule_says_in_the_page_what_it_says_in_the_program() -> None:
    said = '  ["chain.ended", "The last leaf is `evidence.begun`."],\n'
    assert said in rules_module()
