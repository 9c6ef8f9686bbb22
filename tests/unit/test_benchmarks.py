"""The benchmark's pure parts: percentiles, the table with its ratios, what is written, and copies of rows."""

from collections import Counter

import pytest

from benchmarks import measures
from benchmarks.killed_worker import dip_of
from benchmarks.measures import (
    BEGIN,
    END,
    REPORTED,
    Figures,
    PageError,
    Party,
    less,
    page_with_figures,
    percentile,
    ratio,
    shown,
)
from benchmarks.parked_runs import Identity, expression, random_identity
from benchmarks.postgres import Reader
from benchmarks.stage import PARKED, parse


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (50.0, 99.0, 100.0)
    assert percentile([7.0], 0.5) == 7.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_of_two_runs_of_a_peer_the_better_one_counts() -> None:
    figures = Figures()
    for rate, wait in ((700.0, 40.0), (650.0, 36.0)):
        figures.put(measures.STEPS_OPA, Party.DBOS, rate)
        figures.put(measures.SEQUENTIAL, Party.DBOS, wait)
    assert figures.get(measures.STEPS_OPA, Party.DBOS) == 700.0
    assert figures.get(measures.SEQUENTIAL, Party.DBOS) == 36.0


def test_the_report_has_each_measure_and_each_party_and_null_where_nothing_was_measured() -> None:
    figures = Figures()
    figures.put(measures.STEPS_OPA, Party.OURS, 145.678)
    figures.put(less("other", "something else", "ms"), Party.OURS, 1.0)
    report = figures.report()
    assert list(report) == [measure.name for measure in REPORTED]
    assert report["governed_steps_opa"] == {
        "ours": 145.7,
        "dbos": None,
        "restate": None,
        "limit": None,
        "unit": "steps/s",
    }


def test_the_table_shows_ratios_and_a_dash_where_there_is_none() -> None:
    figures = Figures()
    figures.put(measures.STEPS_OPA, Party.OURS, 145.0)
    figures.put(measures.STEPS_OPA, Party.DBOS, 748.0)
    figures.put(less("other", "something else", "ms"), Party.OURS, 1.0)
    head, _, *rows = figures.table().splitlines()
    assert len({len(line) for line in (head, *rows)}) == 1
    assert len(rows) == len(REPORTED) + 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells == ["governed steps, real OPA", "steps/s", "145", "748", "-", "-", "0.194", "-", "-"]


def test_a_ratio_needs_both_figures() -> None:
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(None, 4.0) is ratio(1.0, None) is ratio(1.0, 0.0) is None


def test_a_rate_is_back_with_the_first_good_second_after_the_worst_one() -> None:
    at_ten = [number / 10 + 0.05 for number in range(-50, 0)]
    worse = [number / 5 + 0.05 for number in range(20)]  # five a second for four seconds
    again = [4.05 + number / 10 for number in range(50)]
    dip = dip_of([*at_ten, *worse, *again], before=5.0, within=3.0, share=0.9)
    assert (dip.before, dip.lowest) == (10.0, 5)
    assert dip.back == pytest.approx(4.9, abs=0.11)
    assert dip_of([*at_ten, *worse], before=5.0, within=3.0, share=0.9).back is None


def test_figures_are_shown_with_about_three_digits() -> None:
    assert [shown(figure) for figure in (None, 26_113.4, 145.6, 18.24, 3.66, 0.2134)] == [
        *("-", "26,113", "146", "18.2", "3.66", "0.213"),
    ]


def test_only_what_stands_between_the_marks_is_written() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert page_with_figures(page, "new\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert page_with_figures(page_with_figures(page, "new"), "new") == page_with_figures(page, "new")
    with pytest.raises(PageError, match="end of figures"):
        page_with_figures(f"{BEGIN} and no end", "new")


def test_a_copy_differs_in_its_identities_and_in_nothing_else() -> None:
    run = random_identity("run_0123456789abcdef01234567", 0)
    sql = expression('{"run": "run_0123456789abcdef01234567", "who": "it\'s me"}', [run])
    assert sql.startswith("'{{\"run\": \"' || 'run_' || left(md5('0:' || n)")
    assert sql.endswith('24) || \'", "who": "it\'\'s me"}}\'')
    assert expression(None, [run]) == "NULL"
    assert expression("", [run]) == "''"


def test_an_identity_within_another_does_not_break_it() -> None:
    long, short = Identity("case-17:ask", "A"), Identity("case-17", "B")
    assert expression("x:case-17:ask and case-17", [short, long]) == "'x:' || A || ' and ' || B"


def test_sizes_are_options_and_a_quick_run_is_small() -> None:
    assert parse([]).parked == PARKED
    assert parse(["--parked", "500", "10"]).parked == (10, 500)
    assert max(parse(["--quick"]).parked) < max(PARKED)
    only = parse(["--only", "steps"])
    assert (only.wants("steps"), only.wants("parked"), parse([]).wants("parked")) == (True, False, True)


def test_statements_are_counted_on_the_wire_and_transaction_control_is_not() -> None:
    said = b"\0\0\0\x08\0\x03\0\0"  # the first message, which has no letter
    said += _message(b"Q", b"BEGIN\0") + _message(b"Q", b"SELECT now()\0")
    said += _message(b"P", b"s1\0UPDATE runs SET x = $1\0\0\0") + _message(b"B", b"\0s1\0\0\0") + _message(b"E", b"\0")
    said += _message(b"B", b"\0s1\0\0\0") + _message(b"E", b"\0") + _message(b"S", b"") + _message(b"Q", b"COMMIT\0")
    whole, drip = Reader(Counter()), Reader(Counter())
    whole.feed(said)
    for byte in said:
        drip.feed(bytes([byte]))
    assert whole.counts == drip.counts == {"SELECT now()": 1, "UPDATE runs SET": 2}


def _message(letter: bytes, body: bytes) -> bytes:
    return letter + (len(body) + 4).to_bytes(4, "big") + body


def test_the_measures_are_those_that_the_table_promises() -> None:

    assert {measure.name for measure in REPORTED} == {
        *("governed_steps_opa", "governed_steps_instant", "sequential_ten_p50_ms", "resume_p50_ms", "resume_p99_ms"),
        *("bulk_resume_per_s", "parked_slowdown", "parked_bytes", "restart_s", "clicks_per_s"),
        *("statements_per_step", "commits_per_step", "cpu_us_per_step"),
    }
