"""Figures in the console by week: as pictures, as tables beside them, and printed."""

from typing import Any

import pytest

from tests.browser import chromium
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage
from tests.integration.policies_stage import filing

PERIOD = "since=2026-01-01&until=2026-03-31"
HOSTILE = "<script>alert(1)</script>\u202e"


async def two_weeks(console: ConsoleStage) -> None:
    """Have requests decided in 3 hours in one week, and open in another."""
    _, approval = await filing(console.bench, "1")
    console.bench.clock.move(hours=3)
    for person in ("ann", "ben"):
        assert (await console.bench.click(person, approval)).counted
    await console.bench.settle()
    console.bench.clock.move(hours=24 * 14)
    await filing(console.bench, "2")
    await filing(console.bench, "3")


async def test_figures_by_week_stand_in_tables_and_in_a_file(console: ConsoleStage) -> None:
    await two_weeks(console)
    ann = await console.signed_in("ann")
    shown = (await ann.get(f"/figures?{PERIOD}")).text
    for said in (
        'data-label="Week of">2026-01-05<',
        'data-label="Week of">2026-01-19<',
        "3 h (nine in ten within 3 h)",
    ):
        assert said in shown, said
    assert f'href="/console/figures/weeks.csv?{PERIOD.replace("&", "&amp;")}"' in shown
    csv = await ann.get(f"/figures/weeks.csv?{PERIOD}")
    assert csv.headers["Content-Disposition"] == 'attachment; filename="weeks-2026-01-01.csv"'
    head, *rows = [line.split(",") for line in csv.text.splitlines()]
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(row["week"], row["group"], row["tier"], row["asked"]) for row in found] == [
        ("2026-01-05", "compliance", "high", "1"),
        ("2026-01-19", "compliance", "high", "2"),
    ]
    assert [row["decision_p50"].partition(".")[0] for row in found] == ["10800", ""]


async def test_figures_by_week_have_pictures_of_groups_events_and_people(console: ConsoleStage) -> None:
    await two_weeks(console)
    shown = (await (await console.signed_in("ann")).get(f"/figures?{PERIOD}")).text
    for said in ("high tier of compliance by week", "Reminders by week", "The load of people", 'class="line decision"'):
        assert said in shown, said
    asked = shown.partition("Asked by week")[2].partition("</svg>")[0]
    assert (asked.count("M 4"), 'class="column"' in asked) == (asked.count("M 46"), True)
    glass = shown.partition("Break-glass by week")[2].partition("</svg>")[0]
    assert "none in this time" in glass


async def test_a_request_that_asks_two_groups_counts_once_in_all(console: ConsoleStage, dsn: str) -> None:
    await filing(console.bench)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        two = """jsonb_set(requirement::jsonb, '{groups}', '["compliance", "security"]')::json"""
        conn.execute(f"UPDATE approvals SET requirement = {two}".encode())
    csv = (await (await console.signed_in("ann")).get(f"/figures/weeks.csv?{PERIOD}")).text
    assert [line.split(",")[1] for line in csv.splitlines()[1:]] == ["compliance", "security"]
    shown = (await (await console.signed_in("ben")).get(f"/figures?{PERIOD}")).text
    assert 'data-label="Week of">2026-01-05</td><td data-label="Asked">1</td><td data-label="Reminders">' in shown


async def test_figures_of_another_tenant_are_not_counted(console: ConsoleStage, dsn: str) -> None:
    await filing(console.bench)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE approvals SET tenant = 'other'")
    ann = await console.signed_in("ann")
    assert len((await ann.get(f"/figures/weeks.csv?{PERIOD}")).text.splitlines()) == 1
    shown = (await ann.get(f"/figures?{PERIOD}")).text
    assert ("Nobody was asked" in shown, "How fast groups answer" in shown) == (True, False)


async def test_the_table_of_weeks_is_bounded_and_says_so(
    console: ConsoleStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.app.WEEK_ROWS", 1)
    await two_weeks(console)
    shown = (await (await console.signed_in("ann")).get(f"/figures?{PERIOD}")).text
    assert "The last 1 of 2 rows are shown" in shown


async def test_hostile_names_of_groups_and_people_are_data(console: ConsoleStage, dsn: str) -> None:
    await two_weeks(console)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE actors SET name = %s WHERE actor_id = 'ben'", (HOSTILE,))
        named = "jsonb_set(requirement::jsonb, '{groups,0}', to_jsonb(%s::text))::json"
        conn.execute(f"UPDATE approvals SET requirement = {named}".encode(), (HOSTILE,))
    shown = (await (await console.signed_in("ann")).get(f"/figures?{PERIOD}")).text
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown.partition("The load of people")[2].partition("</svg>")[0]
    assert "\u202e" not in shown.partition("The load of people")[2].partition("</svg>")[0]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_figures_fit_in_a_browser_and_print_without_what_is_to_click(
    console: ConsoleStage, width: int, scheme: Any
) -> None:
    await two_weeks(console)
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text))
        cookies: Any = (await console.signed_in("ann")).cookies
        await page.context.add_cookies(cookies)
        await page.goto(f"{console.url}/console/figures?{PERIOD}")
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        line = page.locator(".charts .line.decision").first
        assert "#decision" in await line.evaluate("line => getComputedStyle(line).markerStart")
        table = page.get_by_role("cell", name="2026-01-19").first
        assert not await table.is_visible()
        await page.emulate_media(media="print")
        assert await page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert await table.is_visible()
        for name in ("banner", "form", "button"):
            assert await page.get_by_role(name).count() == 0
    assert wrong == []
