"""What the settings hold in secret is taken out of every text, and out of the log; what they hold openly is not."""

import base64
import io
import json
import logging
from typing import Any

import pytest

from countersign.logs import log_to_stderr
from countersign.setting_secrets import make_privacy
from countersign.settings import Settings

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
