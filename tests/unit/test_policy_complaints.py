"""What goes wrong again and again is said once a minute, with its count."""

import logging

import pytest

from policy.client import OpaEngine, ThrottledLog
from policy.contract import PolicyUnavailableError
from tests.opa_server import question
from tests.patience import POLICY


def test_trouble_is_said_at_once_and_then_once_a_minute_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    complaints = ThrottledLog(logging.getLogger("policy"), lambda: now[0])
    for seconds in (0.0, 0.1, 30.0, 59.9, 60.0, 61.0, 300.0):
        now[0] = seconds
        complaints.say(f"away at {seconds}")
    assert caplog.messages == [
        "away at 0.0",
        "away at 60.0 (4 times since this was last said)",
        "away at 300.0 (2 times since this was last said)",
    ]


async def test_policy_that_is_unavailable_is_not_met_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    async with OpaEngine("http://127.0.0.1:9", timeout=POLICY) as engine:
        for _ in range(3):
            with pytest.raises(PolicyUnavailableError):
                await engine.ask(question())
    (said,) = [record for record in caplog.records if record.name == "policy.client"]
    assert said.levelname == "WARNING"
    assert said.getMessage().startswith("policy unavailable: OPA at http://127.0.0.1:9: ")
