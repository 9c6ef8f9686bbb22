"""Budgets: what effects take of them by the day or the month, and what follows where too little is left."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path

import pytest

from bot.views.command_replies import run_reply
from evidence.local import LocalArchive
from runtime.handlers import OutcomeUnknownError, RefusedError, TransientError
from runtime.model.person import Person
from runtime.services.requests import RequestService
from tests.bench import TENANT, Bench, Target
from tests.integration.budgets_stage import limit, refund, refunds_bench, status, told, totals, uses
from tests.sealing import sealer_of
from tests.unit.evidence_bends import members_of

Open = Callable[..., AbstractAsyncContextManager[Bench]]
TODAY, TOMORROW = "2026-01-05", "2026-01-06"


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def opened(dsn: str, tmp_path: Path, target: Target) -> Open:
    """Return what opens a bench with limits on refunds."""
    return lambda limits, **more: refunds_bench(dsn, tmp_path, limits, target, **more)


async def test_what_is_done_takes_of_its_budget_and_is_on_record(opened: Open) -> None:
    async with opened({"refunds": limit(count=2, at_most="500.00")}) as bench:
        run_id = await refund(bench, "1", "12.50")
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal("12.50"))}
        assert await uses(bench) == ["used"]
        (reserved,) = await told(bench, run_id, "budget.reserved")
        assert reserved["budgets"] == [{"name": "refunds", "period": TODAY, "count": 1, "sum": "12.50"}]
        assert reserved["kept"] == []
        assert await told(bench, run_id, "budget.used") == [{"budgets": ["refunds"]}]


async def test_nothing_begins_beyond_a_count(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(count=1)}) as bench:
        assert (await status(bench, await refund(bench, "1")))[0] == "succeeded"
        second = await refund(bench, "2")
        assert await status(bench, second) == ("failed_terminal", "budget")
        assert len(target.calls) == 1
        error = (await bench.run(second))["error"]
        assert "budget refunds (Refunds are watched): agent portal-bot has 0 of 1 left until 2026-01-05T23:00" in error
        (spent,) = await told(bench, second, "budget.spent")
        assert spent["budgets"] == [{"name": "refunds", "period": TODAY, "count": 1}]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal(0))}


async def test_sums_are_exact_and_may_be_used_up(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(at_most="0.3")}) as bench:
        await refund(bench, "1", "0.1")
        await refund(bench, "2", 0.2)  # in floats they come to more than 0.3
        assert len(target.calls) == 2
        over = await refund(bench, "3", "0.000000000000000000000000000001")
        assert await status(bench, over) == ("failed_terminal", "budget")
        assert "0.0 of 0.3 EUR left" in (await bench.run(over))["error"]


async def test_another_currency_is_denied(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(at_most="500.00")}) as bench:
        assert await status(bench, await refund(bench, "1", currency="USD")) == ("failed_terminal", "denied")
        assert await status(bench, await refund(bench, "2", "ten")) == ("failed_terminal", "denied")
        assert not target.calls
        assert not await totals(bench)


async def test_what_failed_gives_back_what_it_took(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(count=1, at_most="10.00")}) as bench:
        target.answers = [RefusedError("closed")]
        first = await refund(bench, "1")
        assert await told(bench, first, "budget.released") == [{"budgets": ["refunds"]}]
        assert (await status(bench, await refund(bench, "2")))[0] == "succeeded"
        assert await uses(bench) == ["released", "used"]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal("10.00"))}


async def test_what_is_tried_again_takes_once(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(count=1)}) as bench:
        target.answers = [TransientError("busy"), TransientError("busy")]
        run_id = await refund(bench, "1")
        for _ in range(3):
            await bench.later(minutes=1)
        assert (await status(bench, run_id))[0] == "succeeded"
        assert await uses(bench) == ["released", "released", "used"]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal(0))}


async def test_what_is_in_doubt_keeps_what_it_took_until_it_is_known_what_became_of_it(
    opened: Open, target: Target
) -> None:
    async with opened({"refunds": limit(count=1)}) as bench:
        target.answers = [OutcomeUnknownError("no reply")]
        run_id = await refund(bench, "1")
        assert await uses(bench) == ["reserved"]
        other = await refund(bench, "2")
        assert await status(bench, other) == ("failed_terminal", "budget")
        await bench.later(minutes=2)  # nothing is found, and it is begun again
        assert (await status(bench, run_id))[0] == "succeeded"
        assert await uses(bench) == ["released", "used"]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal(0))}


async def test_what_is_tried_again_while_in_doubt_keeps_what_it_took_and_takes_nothing_more(
    opened: Open, target: Target
) -> None:
    async with opened({"refunds": limit(count=1, at_most="10.00")}) as bench:
        target.answers = [OutcomeUnknownError("no reply"), OutcomeUnknownError("no reply")]
        run_id = await refund(bench, "1", kind="refund_by_key")
        for _ in range(2):
            await bench.later(minutes=1)
        assert (await status(bench, run_id))[0] == "succeeded"
        assert len(target.calls) == 3
        reserved = await told(bench, run_id, "budget.reserved")
        assert [(len(one["budgets"]), one["kept"]) for one in reserved] == [(1, []), (0, ["refunds"]), (0, ["refunds"])]
        assert await uses(bench) == ["used"]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal("10.00"))}


async def test_what_was_taken_is_given_back_though_policy_counts_no_more(
    dsn: str, tmp_path: Path, target: Target
) -> None:
    target.answers = [OutcomeUnknownError("no reply")]
    async with refunds_bench(dsn, tmp_path / "first", {"refunds": limit(count=1)}, target) as bench:
        run_id = await refund(bench, "1")
        assert await uses(bench) == ["reserved"]
        clock = bench.clock
    async with refunds_bench(dsn, tmp_path / "second", {}, target, clock) as bench:
        await bench.later(minutes=2)
        assert (await status(bench, run_id))[0] == "succeeded"
        assert await uses(bench) == ["released"]
        assert await told(bench, run_id, "budget.released") == [{"budgets": ["refunds"]}]


async def test_what_is_found_to_have_happened_has_used_what_it_took(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(count=1)}) as bench:
        target.answers = [OutcomeUnknownError("no reply")]
        run_id = await refund(bench, "1")
        target.done[f"refund:{run_id}"] = {"ok": True}
        await bench.later(minutes=2)
        assert (await status(bench, run_id))[0] == "succeeded"
        assert (await uses(bench), len(target.calls)) == (["used"], 1)


@pytest.mark.parametrize(("verdict", "after"), [("approve", ["used"]), ("reject", ["released", "used"])])
async def test_what_a_person_says_of_a_doubt_decides_what_becomes_of_what_it_took(
    opened: Open, target: Target, verdict: str, after: list[str]
) -> None:
    async with opened({"refunds": limit(count=1)}) as bench:
        target.answers = [OutcomeUnknownError("no reply")]
        run_id = await refund(bench, "1", kind="refund_by_hand")
        await bench.later(minutes=2)
        assert await uses(bench) == ["reserved"]
        asked = await bench.approval_id("in_doubt")
        assert (await bench.click("omar", asked, verdict)).counted
        await bench.settle()
        assert await uses(bench) == after
        assert (await status(bench, run_id))[0] == "succeeded"
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal(0))}


async def test_what_waits_begins_with_the_next_day_of_the_zone(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit("wait", count=1)}) as bench:
        await refund(bench, "1")
        waiting = await refund(bench, "2")
        (effect,) = await bench.rows("SELECT * FROM effects WHERE run_id = %s AND purpose = 'step'", waiting)
        assert (effect["status"], effect["next_try_at"].isoformat()) == ("pending", "2026-01-05T23:00:00+00:00")
        assert effect["error"].startswith(
            "waits until 2026-01-05T23:00:00.000000Z: budget refunds (Refunds are watched)"
        )
        (spent,) = await told(bench, waiting, "budget.spent")
        assert spent["opens_at"] == "2026-01-05T23:00:00.000000Z"
        await bench.later(hours=13, minutes=59)
        assert len(target.calls) == 1
        await bench.later(minutes=1)
        assert (await status(bench, waiting))[0] == "succeeded"
        assert [key[2] for key in await totals(bench)] == [TODAY, TOMORROW]


async def test_what_would_never_fit_does_not_wait(opened: Open) -> None:
    async with opened({"refunds": limit("wait", at_most="5.00")}) as bench:
        run_id = await refund(bench, "1", "5.01")
        assert await status(bench, run_id) == ("failed_terminal", "budget")
        assert "it cannot wait until" in (await bench.run(run_id))["error"]


async def test_what_may_not_begin_as_late_as_that_fails(opened: Open) -> None:
    async with opened(
        {"refunds": limit("wait", count=1)}, execute={"not_before": "2026-01-01T00:00:00Z", "within": "PT2H"}
    ) as bench:
        await refund(bench, "1")
        assert await status(bench, await refund(bench, "2")) == ("failed_terminal", "budget")


async def test_a_month_lasts_until_the_next(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit("wait", count=1, per="month")}) as bench:
        await refund(bench, "1")
        waiting = await refund(bench, "2")
        await bench.later(days=20)
        assert len(target.calls) == 1
        await bench.later(days=6, hours=14)
        assert (await status(bench, waiting))[0] == "succeeded"
        assert [key[2] for key in await totals(bench)] == ["2026-01", "2026-02"]


async def test_people_let_it_go_beyond_what_is_left(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit("approve", count=1, requirement="high")}) as bench:
        assert (await status(bench, await refund(bench, "1")))[0] == "succeeded"
        over = await refund(bench, "2")
        assert (await status(bench, over))[0] == "waiting_approval"
        asked = (await bench.rows("SELECT document FROM policy_decisions WHERE run_id = %s ORDER BY seq", over))[0]
        assert asked["document"]["input"]["counters"] == {"writes": 0, "over": ["refunds"]}
        for person in ("ann", "ben"):
            assert (await bench.click(person, await bench.approval_id())).counted
        await bench.settle()
        assert (await status(bench, over))[0] == "succeeded"
        assert len(target.calls) == 2
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (2, Decimal(0))}
        (reserved,) = await told(bench, over, "budget.reserved")
        assert reserved["budgets"][0]["count"] == 2


async def test_what_people_signed_needs_no_signature_once_the_budget_begins_again(opened: Open) -> None:
    async with opened({"refunds": limit("approve", count=1, requirement="high")}) as bench:
        await refund(bench, "1")
        over = await refund(bench, "2")
        bench.clock.move(hours=2)
        for person in ("ann", "ben"):
            assert (await bench.click(person, await bench.approval_id())).counted
        await bench.settle()
        assert (await status(bench, over))[0] == "succeeded"


async def test_whoever_asked_reads_until_when_it_waits_for_which_budget(opened: Open) -> None:
    async with opened({"refunds": limit("wait", count=1)}) as bench:
        await refund(bench, "1")
        waiting = await refund(bench, "2")
        view = await RequestService(bench.engine, TENANT, bench.catalog).run(Person("rita", "Rita", ()), waiting)
        assert view
        assert view.steps[0].error.startswith("waits until 2026-01-05T23:00:00.000000Z: budget refunds (")
        assert "waits until" in str(run_reply(view).blocks)


async def test_nothing_that_takes_of_a_budget_begins_in_the_commit_of_what_it_follows(opened: Open) -> None:
    async with opened({"refunds": limit(count=5)}) as bench:
        run_id = await refund(bench, "1", kind="refund_twice")
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert await uses(bench) == ["used", "used"]
        sets = await bench.rows("SELECT leaves::text AS said FROM leaf_sets WHERE run_id = %s", run_id)
        begun = [row["said"] for row in sets if "budget.reserved" in row["said"]]
        assert len(begun) == 2
        assert not any("receipt.written" in said for said in begun)


async def test_a_policy_that_lets_it_go_beyond_a_budget_without_signatures_is_not_followed(
    opened: Open, target: Target
) -> None:
    deaf = {"lets_ask(name, _) if name in _over": "lets_ask(name, _) if name in {1 | false}"}
    async with opened({"refunds": limit("approve", count=1, requirement="high")}, rego=deaf) as bench:
        await refund(bench, "1")
        over = await refund(bench, "2")
        assert len(target.calls) == 1
        (effect,) = await bench.rows("SELECT status, error FROM effects WHERE run_id = %s AND purpose = 'step'", over)
        assert effect["status"] == "pending"
        assert "it allows more than is left without signatures" in effect["error"]
        assert await totals(bench) == {("refunds", "portal-bot", TODAY): (1, Decimal(0))}


async def test_word_in_the_chat_that_policy_counts_is_not_sent(opened: Open) -> None:
    counting = {
        'input.step == ""': 'input.step == "none"',
        "[input.effect.connector].chat == true": ".none.chat == true",
    }
    limits = {
        "asks": {"comment": "c", "when": {"connector": ["payments"]}, "requirement": "high"},
        "all": {**limit(count=5), "when": {"requester": ["rita"]}},
    }
    async with opened(limits, rego=counting) as bench:
        await refund(bench, "1")
        errors = {row["error"] for row in await bench.rows("SELECT error FROM effects WHERE purpose = 'message'")}
        assert errors == {"word in the chat, and a read, take of no budget"}
        assert not bench.chat.calls


async def test_each_has_a_budget_of_their_own(opened: Open, target: Target) -> None:
    async with opened({"refunds": limit(count=1, by="requester")}) as bench:
        await refund(bench, "1")
        assert (await status(bench, await refund(bench, "2", by="ann")))[0] == "succeeded"
        assert await status(bench, await refund(bench, "3")) == ("failed_terminal", "budget")
        assert {key[1] for key in await totals(bench)} == {"rita", "ann"}


async def test_an_effect_takes_of_all_budgets_or_of_none(opened: Open) -> None:
    limits = {"by-all": limit(count=5), "by-one": limit(count=1, by="requester")}
    async with opened(limits) as bench:
        await refund(bench, "1")
        await refund(bench, "2")
        assert {key[0]: total[0] for key, total in (await totals(bench)).items()} == {"by-all": 1, "by-one": 1}


async def test_a_card_says_that_what_was_approved_waits_for_its_budget(opened: Open) -> None:
    limits = {"asks": {"comment": "c", "when": {"connector": ["payments"]}, "requirement": "high"}}
    async with opened({**limits, "refunds": limit("wait", count=1)}) as bench:
        for ref in ("1", "2"):
            await refund(bench, ref)
            asked = await bench.approval_id()
            for person in ("ann", "ben"):
                assert (await bench.click(person, asked)).counted
            await bench.settle()
        view = await bench.desk.approval(asked)
        assert view
        assert view.result
        assert (view.result.code, view.result.about) == ("budget", ("2026-01-05T23:00:00.000000Z", "refunds"))
        said = [str(one["text"]) for one in bench.chat.said("post_message")]
        assert any(
            "from 2026-01-05 23:00 UTC on, since its budget refunds is used up until then" in text for text in said
        )


async def test_the_timeline_of_the_evidence_says_what_became_of_budgets(
    opened: Open, target: Target, tmp_path: Path
) -> None:
    async with opened({"refunds": limit("wait", count=1, at_most="50.00")}) as bench:
        target.answers = [RefusedError("closed")]
        for ref in "123":
            await refund(bench, ref, "12.50")
        await bench.later(hours=14)
        sealer = sealer_of(bench.engine, LocalArchive(tmp_path / "evidence"), tmp_path / "evidence.pem")
        while await sealer():
            pass
    files = (tmp_path / "evidence").rglob("*.zip")
    said = "".join(members_of(file)["timeline.md"].decode() for file in files)
    taken = "the budget “refunds” of “portal-bot”, 2026-01-05: 1 of 1 effect and 12.50 of 50.00 EUR taken"
    for words in (
        f"| Reserved of {taken} |",
        "| What was reserved of the budget “refunds” is used |",
        "| What was reserved of the budget “refunds” is released, since it did not happen |",
        f"| Too little is left of {taken}; waits until 5 Jan 2026, 23:00:00 UTC |",
    ):
        assert words in said, words
