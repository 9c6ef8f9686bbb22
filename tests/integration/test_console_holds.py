"""Auditors set and lift legal holds in the console, on record; others see them."""

import pytest

from tests.integration.console_stage import ConsoleStage
from tests.integration.evidence_stage import FILE

HOLDS = """
    SELECT leaf ->> 'event' AS event, leaf #>> '{actor,id}' AS by FROM tenant_leaves
     WHERE leaf ->> 'event' LIKE 'hold.%%'
"""
HOLD = {"act": "set", "kind": "reference", "subject": "case 7", "reason": "<b>court</b>"}


async def _run(console: ConsoleStage) -> str:
    run = (await console.bench.start("bench.file", FILE, "case 7")).run_id
    await console.bench.settle()
    console.folder.mkdir(exist_ok=True)
    return run


async def test_an_auditor_holds_what_a_reference_names_and_lifts_that(console: ConsoleStage) -> None:
    await _run(console)
    omar = await console.signed_in("omar")
    assert (await omar.post("/holds", **HOLD)).status == 303
    shown = await omar.get("/holds")
    assert "&lt;b&gt;court&lt;/b&gt;" in shown.text
    assert "0 of 1 held" in shown.text
    twice = await omar.post("/holds", **HOLD)
    assert (twice.status, "is held already" in twice.text) == (409, True)
    assert (await omar.post("/holds", **{**HOLD, "act": "lift", "reason": "settled"})).status == 303
    assert "Nothing is held." in (await omar.get("/holds")).text
    assert await console.bench.rows(f"{HOLDS} ORDER BY seq") == [
        {"event": "hold.set", "by": "omar"},
        {"event": "hold.lifted", "by": "omar"},
    ]


async def test_others_see_holds_and_change_none(console: ConsoleStage) -> None:
    await _run(console)
    omar, ann = await console.signed_in("omar"), await console.signed_in("ann")
    await omar.post("/holds", **HOLD)
    shown = await ann.get("/holds")
    assert ("case 7" in shown.text, '<form method="post" action="/console/holds">' in shown.text) == (True, False)
    assert (await ann.post("/holds", **{**HOLD, "act": "lift"})).status == 403
    omar.origin = "https://evil.example"
    assert (await omar.post("/holds", **{**HOLD, "act": "lift"})).status == 403
    assert len(await console.bench.rows(HOLDS)) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"act": "burn"}, 422),
        ({"kind": "all"}, 422),
        ({"reason": ""}, 422),
        ({"more": "x"}, 422),
        ({"subject": "nothing like that"}, 409),
        ({"kind": "run", "subject": "run_0"}, 409),
        ({"act": "lift"}, 409),
    ],
)
async def test_a_hold_that_cannot_be_leaves_nothing(console: ConsoleStage, change: dict[str, str], status: int) -> None:
    await _run(console)
    omar = await console.signed_in("omar")
    assert (await omar.post("/holds", **{**HOLD, **change})).status == status
    assert await console.bench.rows(HOLDS) == []
