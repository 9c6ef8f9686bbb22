"""Logs: one form for each line, and no secret of the settings in any.

A line says what happened and to what, in one form whoever logs it, and nothing of what requests and records hold.

What the settings hold in secret is taken out of every text, and out of the log; what they hold openly is not.
"""

import base64
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from countersign.logs import PERIOD, SamplingHandler, formatter, log_to_stderr
from countersign.setting_secrets import make_privacy
from countersign.settings import Settings

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


GIVEN: dict[str, Any] = {
    "database_url": "postgresql://program:pass%20word%2F1234@db.internal.example:5432/countersign?password=an+other",
    "slack_bot_token": "xoxb-2718281828-AbCdEfGhIj",
    "slack_app_token": "xapp-1-KlMnOpQrStUv",
    "slack_signing_secrets": ["0a1b2c3d4e5f60718293", "f0e1d2c3b4a596877869"],
    "s3_access_key": "AKIA1234567890",
    "s3_secret_key": "wJalrXUtnFEMI/K7MDENG",
    "callers": {"portal": "caller-secret-0123456789-0123456789"},
    "webhook_secrets": {"pager": "whsec_" + "Q2FuYXJ5" * 4},
    "pack": {
        "kyc": {
            "portal_url": "https://portal.example.com/api",
            "portal_token": "tok12345",
            "bloomberg_token_url": "https://bsso.blpprofessional.com/ext/api/as/token.oauth2",
            "bloomberg_client_id": "client-of-meridian",
            "bloomberg_client_secret": "0f1e2d3c4b5a",
        },
        "incident-triage": {
            "servicenow_url": "https://meridian.service-now.com",
            "servicenow_user": "integration.user",
            "servicenow_password": "correct horse",
        },
    },
    "witnesses": {"witness.example+0a1b2c3d+key": "https://user:hunter22@witness.example"},
}
SECRET = [
    *(
        "an other",
        "pass word/1234",
        "pass%20word%2F1234",
        "xoxb-2718281828-AbCdEfGhIj",
        "xapp-1-KlMnOpQrStUv",
        "0a1b2c3d4e5f60718293",
        "f0e1d2c3b4a596877869",
    ),
    *("AKIA1234567890", "wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI%2FK7MDENG", "caller-secret-0123456789-0123456789"),
    *("tok12345", "0f1e2d3c4b5a", "hunter22", "correct horse", "correct%20horse", "whsec_" + "Q2FuYXJ5" * 4),
    "Q2FuYXJ5" * 4,
]
OPEN = [
    "db.internal.example:5432",
    "countersign",
    "https://portal.example.com/api",
    *("https://", "Bloomberg", "bsso.blpprofessional.com", "client-of-meridian", "integration.user", "token.oauth2"),
    *(
        "https://bsso.blpprofessional.com/ext/api/as/token.oauth2",
        "https://meridian.service-now.com",
        "corrects horses",
    ),
    "witness.example",
    "program",
    "xoxb-",
    "portal",
]


@pytest.fixture
def settings() -> Settings:
    return Settings(**GIVEN)


@pytest.mark.parametrize("text", SECRET)
def test_secret_of_the_settings_is_taken_out(settings: Settings, text: str) -> None:
    assert make_privacy(settings).text(f"401: {text} is not known") == "401: [redacted] is not known"


@pytest.mark.parametrize("text", OPEN)
def test_what_is_no_secret_is_left(settings: Settings, text: str) -> None:
    assert make_privacy(settings).text(f"401: {text} is not known") == f"401: {text} is not known"


def test_authorization_header_is_taken_out_of_texts(settings: Settings) -> None:
    header = base64.b64encode(b"integration.user:correct horse").decode()
    cleaned = make_privacy(settings).text(f"401: Basic {header} is not known")
    assert cleaned.startswith("401: Basic ")
    assert "[redacted]" in cleaned
    assert b"correct" not in base64.b64decode(cleaned[11:].split("[")[0] + "==")


@pytest.mark.parametrize("given", [{"nonesuch": "0f1e2d3c4b5a"}, {"portal_token": "0f1e2d3c4b5a", "timeout": "soon"}])
def test_settings_that_a_start_refuses_are_secret_but_addresses(given: dict[str, str]) -> None:
    privacy = make_privacy(Settings(pack={"kyc": {**given, "portal_url": "https://portal.example.com/api"}}))
    assert (
        privacy.text("0f1e2d3c4b5a at https://portal.example.com/api") == "[redacted] at https://portal.example.com/api"
    )


def test_settings_without_secrets_take_nothing_out() -> None:
    assert make_privacy(Settings()).text("anything at all") == "anything at all"
    assert make_privacy(Settings(database_url="postgresql://127.0.0.1:1/x")).text("127.0.0.1:1") == "127.0.0.1:1"


@pytest.mark.parametrize("style", ["json", "text"])
def test_the_log_holds_no_secret_of_the_settings(
    settings: Settings, style: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        log_to_stderr("info", style, make_privacy(settings))
        log = logging.getLogger("tests.privacy")
        try:
            raise ValueError("refused by https://portal.example.com/api: xoxb-2718281828-AbCdEfGhIj")
        except ValueError:
            log.exception("with %s", "pass word/1234")
        log.info("plainly")
    finally:
        root.handlers[:] = before
        root.setLevel(level)  # the assignment alone leaves loggers with what they know of the other level
    assert "plainly" in said.getvalue()
    assert "refused by https://portal.example.com/api: [redacted]" in said.getvalue()
    assert said.getvalue().count("[redacted]") == 2
    for text in SECRET:
        assert text not in said.getvalue()
    if style == "json":
        assert [json.loads(line)["level"] for line in said.getvalue().splitlines()] == ["error", "info"]
