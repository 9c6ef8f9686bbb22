"""A line says what happened and to what, in one form whoever logs it, and nothing of what requests and records hold."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from countersign.logs import PERIOD, SamplingHandler, formatter

CANARY = "canary-5e1d"


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def handler(out: io.StringIO) -> Iterator[SamplingHandler]:
    handler = SamplingHandler(out)
    handler.setFormatter(formatter("json"))
    yield handler
    handler.close()


def a_record(message: str, *values: object, at: float = 0.0, name: str = "edge", **extra: object) -> logging.LogRecord:
    level = extra.pop("levelname", "WARNING")
    record = {"name": name, "msg": message, "args": values, "levelname": level, "created": at, **extra}
    return logging.makeLogRecord({**record, "levelno": getattr(logging, str(level))})


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def failed() -> logging.LogRecord:
    try:
        raise ValueError(f"first line\n{CANARY}")
    except ValueError as error:
        return a_record("it failed", exc_info=(type(error), error, error.__traceback__))


def test_a_line_has_its_time_its_origin_and_the_ids_that_are_known() -> None:
    record = a_record("effect.%s", "dispatched", run_id="run_1", effect_id="eff_1", actor="anna", payload=CANARY)
    assert json.loads(formatter("json").format(record)) == {
        "at": "1970-01-01T00:00:00.000+00:00",
        "level": "warning",
        "logger": "edge",
        "message": "effect.dispatched",
        "run_id": "run_1",
        "effect_id": "eff_1",
        "actor": "anna",
    }


@pytest.mark.parametrize("style", ["json", "text"])
def test_of_an_error_there_is_its_kind_its_first_line_and_its_place(style: str) -> None:
    said = formatter("json" if style == "json" else "text").format(failed())
    assert "ValueError: first line" in said
    assert "test_logs.py:" in said
    assert CANARY not in said
    assert "\n" not in said


def test_text_for_people_has_the_same_facts() -> None:
    said = formatter("text").format(a_record("effect.dispatched", run_id="run_1", actor="anna"))
    assert "effect.dispatched" in said
    assert "run_id=run_1 actor=anna" in said


def test_what_strangers_cause_is_written_once_a_minute_with_how_often_it_came(
    out: io.StringIO, handler: SamplingHandler
) -> None:
    for number in range(1000):
        handler.handle(a_record("refused with %s", 401, at=number / 100, sampled=True))
        handler.handle(a_record("Invalid HTTP request received.", at=number / 100, name="uvicorn.error"))
    assert [line["message"] for line in lines(out)] == ["refused with 401", "Invalid HTTP request received."]
    handler.handle(a_record("something else", at=PERIOD))
    assert [(line["message"], line.get("more")) for line in lines(out)[2:]] == [
        ("refused with 401", 999),
        ("Invalid HTTP request received.", 999),
        ("something else", None),
    ]


def test_kinds_are_told_apart_by_their_words_and_not_by_values(out: io.StringIO, handler: SamplingHandler) -> None:
    for value in range(3):
        handler.handle(a_record("refused with %s", value, sampled=True))
        handler.handle(a_record("cut off: %s", value, sampled=True))
    assert [line["message"] for line in lines(out)] == ["refused with 0", "cut off: 0"]


def test_counts_that_are_open_at_the_end_are_written(out: io.StringIO, handler: SamplingHandler) -> None:
    for _ in range(3):
        handler.handle(a_record("refused", sampled=True))
    handler.close()
    assert [line.get("more") for line in lines(out)] == [None, 2]


def test_nothing_else_is_left_out_and_no_error_ever(out: io.StringIO, handler: SamplingHandler) -> None:
    for _ in range(3):
        handler.handle(a_record("taken back"))
        handler.handle(a_record("broken", name="uvicorn.error", levelname="ERROR"))
    assert len(lines(out)) == 6
