"""The console's pages in a browser, looked at by axe-core for people with a screen reader or with low vision."""

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe

from tests.browser import chromium
from tests.integration.console_stage import ConsoleStage
from tests.integration.policies_stage import filing


async def _pages(console: ConsoleStage) -> list[str]:
    """Have something on each page; return their paths."""
    bench = console.bench
    run_id, approval = await filing(bench, "case 1")
    await bench.show(approval)
    bench.clock.move(hours=3)
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    open_run, _ = await filing(bench, "case 2")
    saved = await (await console.signed_in("omar")).post("/lists", name="sample", text="case")
    await filing(bench, "case 3")
    return [
        *("/", "/runs", "/lists", saved.headers["Location"].removeprefix("/console"), "/rules", "/people"),
        *("/figures?since=2026-01-01&until=2026-03-31", f"/runs/{run_id}", f"/runs/{run_id}/trail"),
        *(f"/runs/{run_id}/cards/{approval}", f"/runs/{open_run}", f"/requests/{approval}", "/runs/run_1"),
    ]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_axe_finds_nothing_wrong_with_any_page(console: ConsoleStage, width: int, scheme: Any) -> None:
    paths = await _pages(console)
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
        cookies: Any = (await console.signed_in("ann")).cookies
        await page.context.add_cookies(cookies)
        for path in paths:
            await page.goto(f"{console.url}/console{path}")
            for summary in await page.locator("summary").all():
                await summary.click()
            found = await Axe().run(page)
            assert [(one["id"], one["nodes"][0]["html"]) for one in found.response["violations"]] == [], path
