"""The page takes time in proportion to what a bundle holds, as the program does."""

import pytest
from playwright.async_api import Page

from tests.browser import verify_page
from tests.unit.evidence_sample import chained
from tests.unit.test_evidence_many import waiting

_CALLS_OF_CANONICAL = """
(leaves) => {
  const plain = canonical;
  let calls = 0;
  canonical = (...given) => {
    calls += 1;
    return plain(...given);
  };
  try {
    runAsTold(leaves);
    eachWithOpen({leaves}, () => {});
  } finally {
    canonical = plain;
  }
  return calls;
}
"""


async def test_the_page_looks_not_at_all_open_waits_for_each_leaf() -> None:
    async with verify_page() as page:
        once, twice, thrice = [await calls_for(page, times) for times in (20, 40, 60)]
    assert thrice - twice == pytest.approx(twice - once, rel=0.1)


async def calls_for(page: Page, waits: int) -> int:
    """Return how often the page makes canonical JSON, to compare or to look up, for so many open waits."""
    calls: int = await page.evaluate(_CALLS_OF_CANONICAL, chained(waiting(waits).events))
    return calls
