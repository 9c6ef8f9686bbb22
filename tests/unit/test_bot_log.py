"""What the log of our talk with Slack may hold."""

import logging

import pytest

from bot.slack.client import Tally, slack_logger

ADDRESS = "wss://wss-primary.slack.com/link/?ticket=0b1c-CANARY&app_id=A0COUNTERSIGN"


def test_a_ticket_that_opens_a_connection_never_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = slack_logger()
    try:
        raise ConnectionError(ADDRESS)
    except ConnectionError as error:
        log.exception(f"Failed to connect (error: {error}); Retrying...")  # noqa: G004, TRY401 - as Slack's client does
        log.warning("connecting to %s", ADDRESS)
    assert "CANARY" not in caplog.text
    assert [record.getMessage().count("ticket=…&app_id=") for record in caplog.records] == [1, 1]


def test_what_comes_again_and_again_is_counted_and_gets_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    refused = Tally("payloads refused")
    for _ in range(1000):
        refused.add()
    assert [record.getMessage() for record in caplog.records][:3] == [
        f"payloads refused: {n} so far" for n in (1, 2, 4)
    ]
    assert len(caplog.records) == 10
