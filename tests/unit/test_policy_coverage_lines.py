"""Coverage by lines: what OPA tells by rows and columns, as numbers of questions by the line."""

from typing import Any

from policy.coverage import FileCounts, SeenFile, add_all


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {"start": {"row": start[0], "col": start[1]}, "end": {"row": end[0], "col": end[1]}}


def test_a_line_is_evaluated_if_anything_that_begins_on_it_is() -> None:
    told = {"covered": [span((3, 20), (3, 30))], "not_covered": [span((3, 1), (3, 10)), span((4, 2), (4, 9))]}
    seen = SeenFile.of(told)
    assert (sorted(seen.counting), sorted(seen.evaluated), sorted(seen.held)) == ([3, 4], [3], [(3, 20)])


def test_a_line_that_only_goes_on_is_as_what_it_continues_and_what_begins_inside_is_itself() -> None:
    told = {"covered": [span((1, 1), (4, 2))], "not_covered": [span((3, 5), (3, 9)), span((6, 1), (7, 2))]}
    seen = SeenFile.of(told)
    assert (sorted(seen.counting), sorted(seen.evaluated)) == ([1, 2, 3, 4, 6, 7], [1, 2, 4])


def test_questions_are_counted_by_line_and_those_that_failed_are_not() -> None:
    one = SeenFile(frozenset({1, 2}), frozenset({1}), frozenset({(1, 1)}))
    other = SeenFile(frozenset({1, 2}), frozenset({1, 2}), frozenset({(1, 1), (2, 1)}))
    counts: dict[str, FileCounts] = {}
    add_all(counts, [{"a.rego": one}, None, {"a.rego": other}, {"b.rego": one}])
    assert (dict(counts["a.rego"].lines), counts["a.rego"].covered) == ({1: 2, 2: 1}, 2)
    assert (dict(counts["b.rego"].lines), counts["b.rego"].covered) == ({1: 1, 2: 0}, 1)
    assert dict(counts["a.rego"].held) == {(1, 1): 2, (2, 1): 1}
