"""The gallery of the console: which of the application's routes it says that nobody opened."""

from console.pages import ROOT
from tests.gallery.pages import DOOR, missing, routes


def test_a_route_that_was_not_opened_is_named() -> None:
    opened = {f"{ROOT}{one.path}" for one in routes() if one.path not in DOOR}
    assert missing(opened, door=False) == []
    assert missing(opened - {f"{ROOT}/holds"}, door=False) == ["/holds"]


def test_a_path_counts_for_the_route_that_answers_it() -> None:
    assert "/runs/{run_id}" not in missing({f"{ROOT}/runs/run_1"}, door=False)
    assert "/runs/{run_id}/trail" in missing({f"{ROOT}/runs/run_1"}, door=False)


def test_the_door_is_opened_by_who_has_no_role_yet() -> None:
    assert set(missing([], door=True)) == DOOR
    assert DOOR.isdisjoint(missing([], door=False))
