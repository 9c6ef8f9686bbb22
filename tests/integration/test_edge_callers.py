"""What strangers cost: nothing is read that could not be authentic, and no caller asks for more than its share."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from countersign.embedded.opa import OpaChild
from edge.signing import WINDOW
from runtime.clock import utc_now
from tests.integration.program_stage import composed, edge_of, is_problem, settings_of, signed_now
from tests.patience import MINUTE

TRIGGER = "/v1/triggers/kyc.onboarding"


async def test_a_caller_that_asks_for_too_much_is_told_when_to_come_back_and_others_are_not_affected(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, caller_rate=0.01, caller_burst=2)
    async with composed(settings) as system, edge_of(system) as edge:
        answers = [await edge.run("nobody") for _ in range(3)]
        assert [answer.status for answer in answers] == [404, 404, 429]
        assert is_problem(answers[-1], 429, "onboarding-portal sends too many requests")
        assert 90 <= int(answers[-1].headers["Retry-After"]) <= 100
        assert (await edge.run("nobody", by="servicenow")).status == 404


async def test_nobody_uses_up_what_another_may_ask_for_without_its_secret(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, caller_rate=0.01, caller_burst=1)
    async with composed(settings) as system, edge_of(system) as edge:
        forged = {**signed_now("GET", "/v1/runs/nobody", b""), "Countersign-Signature": f"v1={'0' * 64}"}
        assert {(await edge.send("GET", "/v1/runs/nobody", signed=forged)).status for _ in range(5)} == {401}
        assert (await edge.run("nobody")).status == 404


@pytest.mark.parametrize("path", [TRIGGER, "/v1/notifications", "/slack/events"])
@pytest.mark.parametrize("age", [None, WINDOW + 5], ids=["unsigned", "old"])
async def test_what_no_body_could_make_authentic_is_refused_before_its_body_comes(
    dsn: str, opa: OpaChild, tmp_path: Path, path: str, age: int | None
) -> None:
    signed = {} if age is None else signed_now("POST", path, b"{}", age)
    stamp = "" if age is None else f"X-Slack-Request-Timestamp: {int(utc_now().timestamp()) - age}\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed.items()) + stamp
    head = f"POST {path} HTTP/1.1\r\nHost: edge\r\nContent-Length: 2\r\n{lines}\r\n"
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        parts = urlsplit(edge.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(head.encode())
            async with asyncio.timeout(MINUTE / 2):  # the stage's own limit is a minute
                assert (await reader.readline()).startswith(b"HTTP/1.1 401")
        finally:
            writer.close()
            await writer.wait_closed()
