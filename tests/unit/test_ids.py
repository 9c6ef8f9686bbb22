"""Identifiers: made at about one time, they stand together in an index; and nobody can guess one."""

import re

from runtime.engine import new_id


def test_an_identifier_has_24_digits_behind_what_it_names() -> None:
    assert re.fullmatch("run_[0-9a-f]{24}", new_id("run"))


def test_what_is_made_at_about_one_time_begins_alike_and_ends_apart() -> None:
    made = [new_id("run")[4:] for _ in range(100)]
    first = int(made[0][:6], 16)
    assert {(int(one[:6], 16) - first) % (1 << 24) for one in made} <= set(range(60))  # seconds
    assert len({one[6:] for one in made}) == 100
