"""The second verifier finds each lie that the first one finds, about genuine runs of every ending, and takes these."""

from collections.abc import AsyncIterator, Mapping

import pytest
from playwright.async_api import Page

from evidence.verify.verify import VerificationError, verify
from runtime.services.sealing import Story
from tests.browser import failure_of, verify_page
from tests.integration.evidence_stage import genuine, office, stories
from tests.integration.forger import Forged
from tests.integration.lies import LIES, RUNS, judged
from tests.integration.lies_passkeys import signed_before
from tests.integration.lies_requests import posted_for
from tests.integration.test_evidence_page import PROGRAMS_OWN
from tests.unit.evidence_sample import Office

__all__ = ["genuine", "office", "stories"]


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.mark.parametrize("name", RUNS)
async def test_a_genuine_run_holds(page: Page, office: Office, stories: Mapping[str, Story], name: str) -> None:
    data = Forged.of(stories[name]).seal(office.key)
    assert await failure_of(page, data, office.public.read_text()) is None


async def test_a_vote_that_was_signed_anew_holds(page: Page, office: Office, stories: Mapping[str, Story]) -> None:
    forged = Forged.of(stories["signed"])
    signed_before(0)(forged)
    assert await failure_of(page, forged.seal(office.key), office.public.read_text()) is None


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_is_found_at_its_step_and_member(
    page: Page, office: Office, stories: Mapping[str, Story], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    data, fault = await judged(tmp_path_factory, office, stories, name)
    assert fault is not None
    found = await failure_of(page, data, office.public.read_text())
    if LIES[name][0] in PROGRAMS_OWN:
        assert found is None
    else:
        assert found is not None, fault
        assert found[:2] == (fault.step, fault.member), (found, fault)


async def test_a_card_that_was_posted_for_its_own_request_holds(
    page: Page, office: Office, stories: Mapping[str, Story]
) -> None:
    forged = Forged.of(stories["filed"])
    posted_for(forged, forged.approval()["id"])
    data = forged.seal(office.key)
    report = verify(office.write(data), office.public)
    assert {rule.found for rule in report.rules if rule.rule == "cards.receipted"} == {"1 receipt"}
    assert await failure_of(page, data, office.public.read_text()) is None


_NO_REQUEST = """
() => {
  const shown = {event: "card.shown", seq: 1, data: {digest: "d"}};
  const record = {connector: "slack", operation: "post_card", request: {}, response: {card: "d"}};
  const receipts = () => [{name: "r", record, leaf: {seq: 2}}];
  try {
    demandReceipted({bundle: {about: new Map([["null", [shown]]])}, receipts});
  } catch (error) {
    return error instanceof Broken;
  }
  return false;
}
"""


async def test_a_card_that_was_posted_for_no_request_is_about_none_of_any_name(page: Page) -> None:
    assert await page.evaluate(_NO_REQUEST)


async def test_an_act_that_does_not_name_all_that_it_could_be_about_is_no_leaf_to_either(
    page: Page, office: Office, stories: Mapping[str, Story]
) -> None:
    forged = Forged.of(stories["delegated"])
    (vote,) = (one for one in forged.approval()["votes"] if "delegation" in one)
    del vote["delegation"]["acts"][0]["correlation"]["request_id"]  # null, and the hash is the one with that
    data = forged.seal(office.key)
    with pytest.raises(VerificationError) as refused:
        verify(office.write(data), office.public)
    found = await failure_of(page, data, office.public.read_text())
    assert found is not None
    assert found[:2] == (refused.value.step, refused.value.member)
