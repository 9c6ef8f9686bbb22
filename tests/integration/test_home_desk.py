"""A person's desk: what stands on it, page by page, whatever else is open."""

from datetime import timedelta

import pytest

from runtime.model.search import COUNTED, ListFilter, PageEdge
from runtime.model.votes import RefusalCode, VoteVerdict
from runtime.services.home import Entry, HomeQueries, Look
from tests.bench import TENANT, Bench
from tests.integration.home_stage import copies

FILING = {"company": "Halvorsen Seefracht", "text": "the owners"}


@pytest.fixture
def homes(bench: Bench) -> HomeQueries:
    return HomeQueries(bench.engine, TENANT)


async def asked(bench: Bench, ref: str = "first") -> str:
    """Ask two of compliance to sign a filing of Rita's; return the request."""
    run_id = (await bench.start("bench.file", FILING, ref)).run_id
    await bench.settle()
    (row,) = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
    return str(row["approval_id"])


def ids(entries: object) -> list[str]:
    assert isinstance(entries, list)
    return [entry.view.approval_id for entry in entries if isinstance(entry, Entry)]


async def test_pages_go_forth_and_back_and_hold_everything_once(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), 24)
    seen: list[list[str]] = []
    edge: PageEdge | None = None
    for _ in range(4):
        page = (await homes.waiting("ann", Look(7, edge=edge))).page
        seen.append(ids(page.entries))
        assert page.has_before == (len(seen) > 1)
        assert page.has_after == (len(seen) < 4)
        edge = page.last
    assert [len(one) for one in seen] == [7, 7, 7, 4]
    assert len({one for page in seen for one in page}) == 25
    back = (await homes.waiting("ann", Look(7, edge=page.first))).page
    assert (ids(back.entries), back.has_before, back.has_after) == (seen[2], True, True)
    before = (await homes.waiting("ann", Look(7, edge=back.first))).page
    first = (await homes.waiting("ann", Look(7, edge=before.first))).page
    assert (ids(first.entries), first.has_before, first.has_after) == (seen[0], False, True)


async def test_what_is_decided_meanwhile_moves_no_page(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), 9)
    first = (await homes.waiting("ann", Look(5))).page
    second = ids((await homes.waiting("ann", Look(5, edge=first.last))).page.entries)
    assert (await bench.click("ann", ids(first.entries)[0])).counted
    assert ids((await homes.waiting("ann", Look(5, edge=first.last))).page.entries) == second


async def test_requests_are_counted_as_far_as_that_and_no_further(bench: Bench, homes: HomeQueries) -> None:
    await copies(bench, await asked(bench), COUNTED + 20)
    assert (await homes.waiting("ann", Look(3))).total == COUNTED + 1
    assert (await homes.waiting("ann", Look(3, ListFilter(text="REF-00010")))).total == 10


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        (ListFilter(runbook="bench-file"), 3),
        (ListFilter(runbook="bench-fil"), 0),
        (ListFilter(tier="high"), 3),
        (ListFilter(tier="low"), 0),
        (ListFilter(group="compliance"), 3),
        (ListFilter(group="operators"), 0),
        (ListFilter(text="ref-000002"), 1),
        (ListFilter(text="BENCH-file"), 3),
        (ListFilter(text="%"), 0),
        (ListFilter(text="_"), 3),  # in ids
        (ListFilter(text="the owners"), 0),  # what is written may be secret, and is not looked through
        (ListFilter(runbook="bench-file", tier="high", group="compliance", text="REF-000001"), 1),
        (ListFilter(ids=[]), 0),
    ],
)
async def test_a_list_is_narrowed_by_runbook_tier_group_and_text(
    bench: Bench, homes: HomeQueries, narrowed: ListFilter, found: int
) -> None:
    await copies(bench, await asked(bench), 2)
    assert (await homes.waiting("ann", Look(10, narrowed))).total == found


async def test_what_has_less_than_a_quarter_of_its_time_left_is_due_soon(bench: Bench, homes: HomeQueries) -> None:
    approval_id = await asked(bench)
    due = Look(10, ListFilter(is_due_soon=True))
    view = (await homes.waiting("ann", Look(1))).page.entries[0].view
    lasts = view.expires_at - view.requested_at
    bench.clock.now = view.requested_at + lasts * 3 / 4
    assert (await homes.waiting("ann", due)).total == 0
    bench.clock.now += timedelta(seconds=1)
    assert ids((await homes.waiting("ann", due)).page.entries) == [approval_id]


async def test_nobody_finds_what_they_may_not_decide(bench: Bench, homes: HomeQueries) -> None:
    await asked(bench)
    for person in ("rita", "olga", "sam", "nobody", "portal-bot"):
        assert (await homes.waiting(person, Look(10))).total == 0, person


async def test_a_person_finds_what_they_asked_for_with_how_it_stands(bench: Bench, homes: HomeQueries) -> None:
    approval_id = await asked(bench, "REF-7")
    (one,) = (await homes.asked_for("rita", Look(10))).entries
    assert (one.reference, one.ending, one.error, one.more) == ("REF-7", "waiting_approval", "", 0)
    assert one.waits_for
    assert one.waits_for.view.approval_id == approval_id
    for person in ("ann", "ben"):
        await bench.click(person, approval_id)
    await bench.settle()
    (one,) = (await homes.asked_for("rita", Look(10))).entries
    assert (one.ending, one.waits_for) == ("succeeded", None)
    assert (await homes.asked_for("ann", Look(10))).entries == []
    assert (await homes.asked_for("rita", Look(10, ListFilter(text="ref-8")))).entries == []
    assert len((await homes.asked_for("rita", Look(10, ListFilter(text="ref-7", tier="low", group="x")))).entries) == 1


async def test_a_person_finds_what_they_decided_the_latest_first(bench: Bench, homes: HomeQueries) -> None:
    first, second = await asked(bench, "1"), await asked(bench, "2")
    await bench.click("ann", first)
    await bench.later(seconds=1)
    await bench.click("ann", second, "reject")
    page = await homes.decided("ann", Look(1))
    assert (ids(page.entries), page.has_after, page.entries[0].own) == ([second], True, VoteVerdict.REJECT)
    page = await homes.decided("ann", Look(1, edge=page.last))
    assert (ids(page.entries), page.has_after, page.entries[0].own) == ([first], False, VoteVerdict.APPROVE)
    assert (await homes.decided("ben", Look(10))).entries == []
    assert ids((await homes.decided("ann", Look(10, ListFilter(text=second)))).entries) == [second]


async def test_how_requests_stand_for_a_person_is_said_of_each(bench: Bench, homes: HomeQueries) -> None:
    first, second, third = await asked(bench, "1"), await asked(bench, "2"), await asked(bench, "3")
    await bench.click("ann", first)
    await bench.click("ben", third, "reject")
    found = await homes.may_decide_all("ann", [third, "apr_none", second, first])
    assert [one.approval_id for one in found] == [third, "apr_none", second, first]
    codes = [one.refusal and one.refusal.code for one in found]
    assert codes == [RefusalCode.CLOSED, RefusalCode.UNKNOWN, None, RefusalCode.REPEATED]
    (one,) = await homes.may_decide_all("rita", [second])
    assert one.refusal
    assert one.refusal.code is RefusalCode.REQUESTER


async def test_a_person_narrows_by_their_own_groups(bench: Bench, homes: HomeQueries) -> None:
    choices = await homes.choices("ann")
    assert list(choices.groups) == ["compliance"]
    assert "bench-file" in choices.runbooks
