"""What of a trigger's schema is which field of a form, and what can be none."""

from typing import Any

import pytest

from bot.listeners.forms import payload_of
from bot.payloads import Input, Option
from bot.views.forms import FieldKind, fields_of, form_modal
from runtime.definitions.schemas import for_people, violations
from runtime.services.requests import Form
from sandbox.block_kit import check_view


def schema(spec: Any, name: str = "one", **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: spec}, **more}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "maxLength": 200}, FieldKind.TEXT),
        ({"type": "string", "maxLength": 201}, FieldKind.LONG_TEXT),
        ({"type": "string", "format": "uuid"}, FieldKind.TEXT),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "string", "format": "date-time"}, FieldKind.MOMENT),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": "number"}, FieldKind.NUMBER),
        ({"type": "boolean"}, FieldKind.CHOICE),
        ({"enum": ["a", 1, None]}, FieldKind.CHOICE),
        ({"const": 3}, FieldKind.CHOICE),
        ({"type": "array", "items": {"type": "string"}}, FieldKind.LIST),
    ],
)
def test_what_is_which_field(spec: dict[str, Any], kind: FieldKind) -> None:
    ((one,), unfit) = fields_of(schema(spec))
    assert (one.kind, unfit) == (kind, [])


@pytest.mark.parametrize(
    "spec",
    [
        True,
        {},
        {"type": "object"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "array"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "string", "anyOf": [{"minLength": 2}]},
        {"$ref": "#/$defs/x"},
        {"enum": list(range(101))},
    ],
)
def test_what_can_be_no_field_is_named(spec: Any) -> None:
    assert fields_of(schema(spec)) == ([], ["one"])


def test_what_is_required_and_not_described_or_composed_cannot_be_filled_in() -> None:
    assert fields_of({"type": "object", "required": ["x"]})[1] == ["x"]
    assert fields_of({"type": "object", "oneOf": [{}]})[1] == ["oneOf"]
    assert fields_of(schema({"type": "string"}, "n" * 201))[1] == ["n" * 201]
    many = {f"f{number:03}": {"type": "string"} for number in range(92)}
    assert fields_of({"type": "object", "properties": many})[1] == ["f090", "f091"]


def test_required_fields_come_first_in_their_order() -> None:
    properties = {name: {"type": "string"} for name in "abcd"}
    fields, _ = fields_of({"type": "object", "required": ["d", "b"], "properties": properties})
    assert [one.name for one in fields] == ["d", "b", "a", "c"]


@pytest.mark.parametrize("index", ["2", "-1", "x", "", "²"])
def test_an_option_that_was_not_offered_is_refused(index: str) -> None:
    fields, _ = fields_of(schema({"type": "boolean"}))
    entered = {"one": {"one": Input(selected_option=Option(value=index))}}
    assert payload_of(fields, entered) == ({}, {"one": "Please choose one of the options."})


@pytest.mark.parametrize("text", ["<!channel> *x* \u202e", "x" * 5000, "\U0001d54f" * 80, "&" * 80, ""])
def test_words_of_a_runbook_are_data_and_fit_what_slack_takes(text: str) -> None:
    spec = {"title": text, "description": text, "enum": [text, text + "2"]}
    form = Form("n", 1, text or "t", text, "t", schema(spec))
    modal = check_view(form_modal(form, fields_of(form.schema)[0], None), "modal")
    assert "\u202e" not in str(modal)
    assert "<!channel>" not in str(modal)


def _inputs(spec: dict[str, Any], quoted: str = "") -> list[dict[str, Any]]:
    trigger = schema(spec, required=["one"])
    form = Form("r", 1, "R", "", "r.r", trigger)
    view = form_modal(form, fields_of(trigger)[0], None, quoted)
    check_view(view, "modal")
    return [block for block in view["blocks"] if block["type"] == "input"]


def test_a_text_takes_as_many_characters_as_its_schema_says() -> None:
    (limited,) = _inputs({"type": "string", "minLength": 2, "maxLength": 1000})
    (free,) = _inputs({"type": "string"})
    assert (limited["element"]["min_length"], limited["element"]["max_length"]) == (2, 1000)
    assert (free["element"].get("min_length"), free["element"]["max_length"]) == (None, 3000)


def test_a_message_is_cut_to_what_its_field_takes_and_the_form_says_so() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 1000}, "x" * 2700)
    assert one["element"]["initial_value"] == "x" * 1000
    assert one["hint"]["text"] == "The message was cut: the first 1,000 of 2,700 characters."


def test_a_cut_parts_no_character() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 3}, "a\U0001f600\U0001f600")
    assert one["element"]["initial_value"] == "a\U0001f600"


def test_a_message_that_fits_is_not_cut() -> None:
    (one,) = _inputs({"type": "string", "maxLength": 1000}, "as it was")
    assert (one["element"]["initial_value"], "hint" in one) == ("as it was", False)


def test_no_regular_expression_is_shown_to_people() -> None:
    (fault,) = violations(schema({"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"}), {"one": "Ivan P."})
    assert for_people(fault) == "is not in the expected format"
    (other,) = violations(schema({"type": "integer", "maximum": 50}), {"one": 51})
    assert for_people(other) == "51 is greater than the maximum of 50"
