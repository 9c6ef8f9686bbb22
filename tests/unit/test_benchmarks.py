"""The benchmark's parts: which there are, whose packages the peers are, what intake counts, and what a card carries."""

import asyncio

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from benchmarks import peers
from benchmarks.__main__ import MEASURED
from benchmarks.cli import cpu_of
from benchmarks.edge import Edge, EdgeRefusedError
from benchmarks.intake import rate
from benchmarks.plant import BenchError
from benchmarks.slack import Slack
from benchmarks.stage import PARTS, parse


def test_each_part_can_be_measured_alone_and_stands_in_a_whole_run() -> None:
    assert tuple(MEASURED) == PARTS
    for part in PARTS:
        alone = parse(["--only", part])
        assert [one for one in PARTS if alone.wants(one)] == [part]
        assert parse([]).wants(part)


def test_the_peers_packages_are_those_of_the_peers_lock_file() -> None:
    locked = peers.LOCK.read_text(encoding="utf-8")
    assert "\ndbos==" in locked
    assert "\nrestate-sdk==" in locked


async def test_a_rate_counts_what_acts_say_came_of_them_until_the_last_client_has_ended() -> None:
    acts = 0

    async def act() -> int:
        nonlocal acts
        acts += 1
        await asyncio.sleep(0)
        return 500

    began = asyncio.get_running_loop().time()
    per_s = await rate(act, 2, 0.05)
    took = asyncio.get_running_loop().time() - began
    assert 500 * acts / took <= per_s <= 500 * acts / 0.05


@pytest.mark.parametrize("outcome", ["known", "refused", "failed", "signaled"])
async def test_a_batch_counts_only_where_each_of_its_triggers_started_a_run(outcome: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        sent = (await request.json())["triggers"]
        told = [{"outcome": outcome if one["ref"] == "bad" else "started", "ref": one["ref"]} for one in sent]
        return web.json_response({"outcomes": told}, status=202)

    app = web.Application()
    app.router.add_post("/v1/triggers:batch", answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as http:
        edge = Edge(str(server.make_url("")).rstrip("/"), http)
        await edge.trigger_batch("bench.chain", ["a", "b"])
        with pytest.raises(EdgeRefusedError, match=f"1 of 2 triggers .*{outcome}"):
            await edge.trigger_batch("bench.chain", ["a", "bad"])


async def test_the_stand_in_slack_tells_when_the_message_about_a_case_was_posted() -> None:
    slack = Slack()
    app = web.Application()
    app.router.add_route("*", "/api/{method}", slack.answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as http:
        waiting = asyncio.create_task(slack.until_posted("case-2"))
        for method, text in (("chat.postMessage", "case-1"), ("chat.update", "case-2"), ("chat.postMessage", "case-2")):
            assert not waiting.done()
            async with http.post(server.make_url(f"/api/{method}"), json={"channel": "C1", "text": text}) as response:
                assert response.ok
        assert await waiting == slack.posted[-1][1] >= slack.posted[0][1]


def test_the_cpu_of_a_command_that_fails_is_no_figure() -> None:
    assert cpu_of({}, "--version") > 0
    with pytest.raises(BenchError, match="countersign no-such-command ended with 2"):
        cpu_of({}, "no-such-command")
