"""A leaf that is kept in little memory is the one that was read."""

from datetime import UTC, datetime

import pytest

from evidence.verify.kept_leaves import Keeper
from receipts import canonical
from receipts.chain import GENESIS, PROGRAM, Correlation, Leaf, is_sound, next_leaf

AT = datetime(2026, 1, 5, tzinfo=UTC)
TRICK = ',"data":{"a":1},"event":"x.y"'


def line_of(step: str | None, **data: object) -> bytes:
    about = Correlation(request_id=None, run_id="run-1", step=step, approval_id=None, effect_id=None)
    made = next_leaf(GENESIS, run_id="run-1", at=AT, event="x.y", actor=PROGRAM, correlation=about, data=data)
    return canonical.dumps(made.leaf.model_dump())


@pytest.mark.parametrize("step", [None, "file", TRICK])
@pytest.mark.parametrize("data", [{}, {"data": {"event": "x"}}, {TRICK: TRICK, "event": [{"event": TRICK}]}])
def test_a_leaf_is_kept_as_it_was_read_whatever_it_says(step: str | None, data: dict[str, object]) -> None:
    line, before = line_of(step, **data), b"what stands before it\n"
    read = canonical.loads(line)
    kept = Keeper(before + line).keep(Leaf.model_validate(read), len(before), line)
    assert (kept.data, kept.model_dump()) == (data, read)
    assert kept.model_fields_set == Leaf.model_fields.keys()
    assert is_sound(kept, line)


@pytest.mark.parametrize(
    ("data", "is_built_once"),
    [
        ({}, True),
        ({"digest": "d1", "count": 2, "until": None, "is_last": True}, True),
        ({"a": {}}, False),
        ({"a": []}, False),
        ({"a": "x" * 512}, False),
        ({f"a{number}": 1 for number in range(11)}, False),
    ],
)
def test_what_a_leaf_says_is_built_once_only_where_it_is_short(data: dict[str, object], *, is_built_once: bool) -> None:
    line = line_of(None, **data)
    kept = Keeper(line).keep(Leaf.model_validate(canonical.loads(line)), 0, line)
    assert (kept.data, kept.data is kept.data) == (data, is_built_once)


def test_a_correlation_that_leaves_members_out_is_kept_like_that() -> None:
    line = line_of(None)
    leaf = Leaf.model_validate(canonical.loads(line))
    short = leaf.model_copy(update={"correlation": Correlation(run_id="run-1")})
    short_line = line.replace(canonical.dumps(leaf.correlation.model_dump()), b'{"run_id":"run-1"}')
    keeper = Keeper(line + short_line)
    assert keeper.keep(leaf, 0, line).correlation.model_fields_set == Correlation.model_fields.keys()
    assert keeper.keep(short, len(line), short_line).correlation.model_fields_set == {"run_id"}
