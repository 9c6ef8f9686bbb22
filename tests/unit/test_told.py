"""What a handler tells beside its result is read strictly; nonsense is noted, and nothing of it is kept."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

import pytest

from receipts.usage import CallReport
from runtime.handlers import Answer, HandlerError, Metadata, TransientError, Usage
from runtime.outbox.attempts import told_by

TOKENS = Usage("openai", "gpt-5", {"input_tokens": 812, "output_tokens": 90}, Decimal("0.001230"), "USD")


def told(metadata: Any = None, usage: Any = ()) -> CallReport:
    said = Answer({}, cast("Metadata | None", metadata), cast("Sequence[Usage]", usage))
    return told_by(said, lambda text: text.replace("s3cret", "[redacted]"))


def test_what_a_handler_tells_is_put_on_record_exactly() -> None:
    found = told(Metadata(200, "req-1", 2), [TOKENS])
    assert found.model_dump() == {
        "metadata": {"status": 200, "request_id": "req-1", "requests": 2},
        "usage": [
            {
                "provider": "openai",
                "model": "gpt-5",
                "units": {"input_tokens": "812", "output_tokens": "90"},
                "cost": "0.00123",
                "currency": "USD",
            }
        ],
        "not_recorded": None,
    }


def test_what_is_not_known_is_null() -> None:
    found = told(Metadata(), [Usage("gleif", units={"requests": 3})])
    assert found.metadata is not None
    assert found.metadata.model_dump() == {"status": None, "request_id": None, "requests": None}
    assert found.usage[0].model_dump(exclude={"units"}) == {
        "provider": "gleif",
        "model": None,
        "cost": None,
        "currency": None,
    }


def test_texts_are_cleaned_of_secrets() -> None:
    found = told(Metadata(request_id="id-s3cret"), [Usage("s3cret", "m-s3cret")])
    assert "s3cret" not in found.model_dump_json()
    assert (found.usage[0].provider, found.usage[0].model) == ("[redacted]", "m-[redacted]")


@pytest.mark.parametrize(
    ("metadata", "usage", "why"),
    [
        ({"status": 200}, (), "AttributeError: 'dict' object has no attribute 'status'"),
        (Metadata(status=20), (), "status: Input should be greater than or equal to 100"),
        (None, 7, "TypeError: 'int' object is not iterable"),
        (None, [{"provider": "x"}], "AttributeError: 'dict' object has no attribute 'provider'"),
        (None, [Usage("")], "provider: String should have at least 1 character"),
        (None, [Usage("x", units={"Input Tokens": 1})], "units.Input Tokens.[key]: String should match pattern"),
        (None, [Usage("x", units={"tokens": cast("int", 0.5)})], "TypeError: an amount is a whole number or a Decimal"),
        (None, [Usage("x", cost=-1, currency="USD")], "ValueError: an amount is from 0 to below"),
        (None, [Usage("x", cost=1)], "usage: Value error, cost and currency go together"),
        (None, [Usage("x", cost=1, currency="dollars")], "currency: String should match pattern"),
        (None, [Usage("x")] * 65, "usage: List should have at most 64 items"),
        (None, [Usage("x", units={"s3cret": 1, "S3": 1})], "units.S3.[key]: String should match pattern"),
        (None, [Usage("x", units={"A s3cret": 1})], "units.A [redacted].[key]: String should match pattern"),
    ],
)
def test_nonsense_is_noted_in_the_place_of_all_that_was_told(metadata: Any, usage: Any, why: str) -> None:
    found = told(metadata, usage)
    assert (found.metadata, found.usage) == (None, [])
    assert found.not_recorded is not None
    assert found.not_recorded.startswith(why)


def test_an_error_tells_as_an_answer_does() -> None:
    error: HandlerError = TransientError("the model said nonsense")
    error.usage = [TOKENS]
    assert told_by(error, str) == told(None, [TOKENS])
