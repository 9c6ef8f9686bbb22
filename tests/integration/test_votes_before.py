"""A card says of a vote that its person reviewed or signed before in the same run, and that it came at once."""

import json

from bot.views.card import card
from bot.views.wording import QUICK
from evidence.reading import exceptions
from runtime.model.person import Person
from runtime.services.home import HomeQueries
from tests.bench import TENANT
from tests.integration.kyc_stage import Case


async def _shown(case: Case, approval: str) -> str:
    view = await case.bench.desk.approval(approval)
    assert view is not None
    return json.dumps(card(view, now=case.bench.clock()).blocks, ensure_ascii=False)


async def test_a_card_says_that_the_signer_reviewed_the_run_and_signed_soon_after_opening(case: Case) -> None:
    _, approval = await case.to_filing()
    case.bench.clock.move(seconds=2)
    await case.bench.desk.metrics.looked(approval, Person("ben", "Ben", ()))
    case.bench.clock.move(seconds=4)
    assert (await case.bench.click("ben", approval)).counted
    said = "Ben approved (4 s after opening it, reviewed this run 6 s before)"
    assert said in await _shown(case, approval)
    (entry,) = await HomeQueries(case.bench.engine, TENANT).requests([approval])
    view = await case.bench.desk.approval(approval)
    assert view is not None
    assert entry.view.votes == view.votes
    assert (await case.bench.click("cat", approval)).counted
    shown = await _shown(case, approval)
    assert "⚠ 4 s after opening it, reviewed this run 6 s before" in shown
    assert shown.count("⚠") == 1, "Cat opened nothing, and reviewed nothing"


async def test_a_card_says_nothing_of_a_vote_that_was_thought_over_by_another_person(case: Case) -> None:
    _, approval = await case.to_filing()
    await case.bench.desk.metrics.looked(approval, Person("ann", "Ann", ()))
    case.bench.clock.move(seconds=11)
    assert (await case.bench.click("ann", approval)).counted
    shown = await _shown(case, approval)
    assert "Ann approved" in shown
    assert "after opening" not in shown
    assert "reviewed this run" not in shown


def test_cards_and_reports_call_the_same_votes_quick() -> None:
    assert QUICK == exceptions.QUICK
