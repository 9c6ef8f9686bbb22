"""`runs show`: steps as the runbook reads, and few lines for what is as it should be."""

from typing import Any

from countersign.cli.run_view import in_few_lines


def _step(path: str, status: str = "succeeded", version: int = 0) -> dict[str, Any]:
    return {"path": path, "status": status, "verb": "note", "version": version, "error": ""}


def _shown(*steps: dict[str, Any]) -> list[str]:
    return [row["path"] for row in in_few_lines(steps)]


def _rounds(count: int, **last: Any) -> list[dict[str, Any]]:
    """Return a repeat of two steps as the store orders them: by their node, then by iteration."""
    return [
        _step("each"),
        *(_step(f"each[{number}]") for number in range(count)),
        *(_step(f"each[{number}].look") for number in range(count)),
        *(_step(f"each[{number}].write", **(last if number == count - 1 else {})) for number in range(count)),
        _step("after"),
    ]


def test_a_step_stands_behind_the_one_that_it_stands_in() -> None:
    nodes = [_step("route"), _step("last"), _step("route.second"), _step("route.first"), _step("route.second.failure")]
    assert _shown(*nodes) == ["route", "route.second", "route.second.failure", "route.first", "last"]


def test_iterations_that_ended_well_are_one_line() -> None:
    rows = in_few_lines(_rounds(100))
    assert [row["path"] for row in rows] == ["each", "each[0] to [99]", "after"]
    assert (rows[1]["status"], rows[1]["verb"]) == ("succeeded", "300 steps")


def test_an_iteration_that_did_not_end_well_is_shown_in_full_and_with_it_what_a_person_let_go_on() -> None:
    assert _shown(*_rounds(12, status="needs_attention"))[1:-1] == [
        "each[0] to [10]",
        "each[11]",
        "each[11].look",
        "each[11].write",
    ]
    assert _shown(*_rounds(1, status="skipped", version=1)) == [
        "each",
        "each[0]",
        "each[0].look",
        "each[0].write",
        "after",
    ]
    assert _shown(*_rounds(2, status="skipped")) == ["each", "each[0] to [1]", "after"]


def test_an_iteration_inside_one_that_goes_on_is_one_line_of_its_own() -> None:
    steps = [
        _step("out", "parked"),
        _step("out[0]", "parked"),
        _step("out[0].in", "parked"),
        *(_step(f"out[0].in[{number}]") for number in (0, 1)),
        _step("out[0].in[2]", "parked"),
        *(_step(f"out[0].in[{number}].look") for number in (0, 1)),
        _step("out[0].in[2].look", "running"),
    ]
    assert _shown(*steps)[3:] == ["out[0].in[0] to [1]", "out[0].in[2]", "out[0].in[2].look"]
