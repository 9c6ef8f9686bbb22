"""The picture of a run's time: to scale, waits apart from work, and nothing that happened is left out."""

from datetime import UTC, datetime, timedelta
from typing import Any

from console.run_timeline import LEFT, MOST, WIDTH, Timeline, timeline_of

START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def after(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def step(path: str, since: float | None, until: float | None = None) -> dict[str, Any]:
    finished = None if until is None else after(until)
    return {"path": path, "started_at": None if since is None else after(since), "finished_at": finished}


def wait(of: str, since: float, until: float | None, kind: str = "approval") -> dict[str, Any]:
    resolved = None if until is None else after(until)
    return {"step": of, "type": kind, "created_at": after(since), "resolved_at": resolved}


def receipt(of: str, at: float, outcome: str) -> dict[str, Any]:
    return {"step": of, "at": after(at), "outcome": outcome}


def line(
    steps: list[dict[str, Any]], waits: tuple[dict[str, Any], ...] = (), receipts: tuple[dict[str, Any], ...] = ()
) -> Timeline:
    run = {"created_at": START, "finished_at": after(100), "steps": steps, "waits": list(waits)}
    return timeline_of(run, [], receipts, after(500))


def bars(found: Timeline) -> list[tuple[str, float, float]]:
    """Return kind, begin and length of the first row's bars, in shares of the run."""
    whole = WIDTH - 16 - LEFT
    return [(bar.kind, round((bar.x - LEFT) / whole, 2), round(bar.width / whole, 2)) for bar in found.rows[0].bars]


def test_bars_are_to_scale() -> None:
    assert bars(line([step("a", 25, 75)])) == [("work", 0.25, 0.5)]


def test_what_takes_a_moment_can_be_seen() -> None:
    (bar,) = line([step("a", 10, 10.001)]).rows[0].bars
    assert bar.width == 3.0


def test_waiting_is_told_apart_from_work() -> None:
    found = line([step("a", 0, 100)], (wait("a", 10, 30), wait("a", 40, 90, "timer")))
    assert bars(found) == [
        ("work", 0.0, 0.1),
        ("work", 0.3, 0.1),
        ("work", 0.9, 0.1),
        ("people", 0.1, 0.2),
        ("others", 0.4, 0.5),
    ]


def test_a_wait_that_goes_on_lasts_until_now() -> None:
    run = {"created_at": START, "finished_at": None, "steps": [step("a", 0)], "waits": [wait("a", 50, None)]}
    found = timeline_of(run, [], [], after(100))
    assert bars(found) == [("work", 0.0, 0.5), ("people", 0.5, 0.5)]
    assert found.rows[0].bars[1].says == "waited for people 50 min so far"


def test_people_who_are_waited_for_side_by_side_count_once() -> None:
    waits = (wait("a", 0, 30), wait("b", 20, 50, "human_task"), wait("c", 60, 70), wait("d", 0, 99, "external"))
    assert line([step("a", 0, 100)], waits).waited == timedelta(minutes=60)


def test_a_step_that_only_decides_has_no_bar_and_one_that_only_waits_has() -> None:
    found = line([step("set", None, 5), step("signal", None, 50)], (wait("signal", 5, 50, "signal"),))
    assert [row.step for row in found.rows] == ["signal"]
    assert found.more == 0


def test_of_many_steps_the_longest_have_bars_and_the_others_are_counted() -> None:
    short = [step(f"s{number}", number, number + 0.5) for number in range(MOST)]
    found = line([*short, step("long", 1, 90)])
    assert len(found.rows) == MOST
    assert found.more == 1
    assert "long" in {row.step for row in found.rows}


def test_what_happened_is_marked_in_its_row_and_listed_in_order() -> None:
    receipts = (receipt("a", 50, "failure"), receipt("a", 20, "success"), receipt("elsewhere", 10, "in_doubt"))
    found = line([step("a", 0, 100)], (), receipts)
    assert [(mark.kind, mark.says) for _, mark in found.rows[0].marks] == [
        ("act", "the action was done"),
        ("failed", "the action failed"),
    ]
    assert [one.step for one in found.moments] == ["elsewhere", "a", "a"]


def test_ticks_are_few_and_begin_with_the_run() -> None:
    for minutes in (0.0, 0.02, 1, 59, 60 * 24 * 400):
        run = {"created_at": START, "finished_at": after(minutes), "steps": [], "waits": []}
        ticks = timeline_of(run, [], [], START).ticks
        assert ticks[0] == (LEFT, "0")
        assert len(ticks) <= 10


def test_a_long_name_is_cut_at_its_beginning() -> None:
    (row,) = line([step("outer[12].inner[3].a_step_with_a_name", 0, 1)]).rows
    assert (row.label[0], row.label[-11:], row.step[:5]) == ("…", "with_a_name", "outer")
