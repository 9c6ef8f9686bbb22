"""Leaf sets: what is read of a row is what was written, to the byte, whatever a leaf says."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts import canonical
from receipts.chain import (
    GENESIS,
    PROGRAM,
    Actor,
    Correlation,
    Head,
    Leaf,
    Written,
    leaf_set,
    next_leaf,
    verify_chain,
)
from runtime.store.run_history import chain_of_rows

RUN = "run_1"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.none() | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
people = st.builds(Actor, id=texts.filter(bool), kind=st.sampled_from(["person", "agent", "schedule", "system"]))
leaves = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["step.ready", "receipt.written"]),
        "actor": st.just(PROGRAM) | people,
        "correlation": st.builds(
            Correlation, request_id=names, run_id=st.just(RUN), step=names, approval_id=names, effect_id=names
        ),
        "data": st.dictionaries(texts, values, max_size=4),
    }
)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - they get one


def written(head: Head, at: datetime, said: list[dict[str, Any]], lasts: timedelta = timedelta(0)) -> list[Written]:
    """Return leaves of which each is so much later than the one before it."""
    found: list[Written] = []
    for number, one in enumerate(said):
        found.append(next_leaf(head, run_id=RUN, at=at + number * lasts, **one))
        head = Head(found[-1].leaf.seq, found[-1].leaf.hash)
    return found


def as_read(written: list[Written], zone: timezone = UTC) -> dict[str, Any]:
    """Return the row of leaves as the database gives it."""
    stored, said = leaf_set(written)
    at, hashes = datetime.fromisoformat(stored.at).astimezone(zone), bytes.fromhex(stored.hashes)
    return {**stored._asdict(), "at": at, "hashes": hashes, "leaves": json.loads(said)}


@given(st.lists(leaves, min_size=1, max_size=4), st.lists(leaves, min_size=1, max_size=3), moments)
def test_leaves_are_read_as_they_were_written(first: list[Any], second: list[Any], at: datetime) -> None:
    one = written(GENESIS, at, first)
    later = at + timedelta(microseconds=1)
    two = written(Head(one[-1].leaf.seq, one[-1].leaf.hash), later, second, timedelta(seconds=1))
    rows = [as_read(one), as_read(two, timezone(timedelta(hours=5)))]
    found = [Leaf.model_validate(leaf) for leaf in chain_of_rows(RUN, rows)]
    assert found == [each.leaf for each in (*one, *two)]
    assert verify_chain(found).seq == len(first) + len(second)
    cut = chain_of_rows(RUN, rows, last=len(first))
    assert [leaf["hash"] for leaf in cut] == [each.leaf.hash for each in one]


@given(leaves)
def test_what_a_leaf_says_stands_in_its_row_as_it_was_hashed(said: dict[str, Any]) -> None:
    (one,) = written(GENESIS, datetime(2026, 1, 5, tzinfo=UTC), [said])
    _, stored = leaf_set([one])
    assert stored.endswith(f'"data":{canonical.dumps(said["data"]).decode()},"event":"{said["event"]}"}}]')


def test_a_usual_leaf_says_nothing_beside_its_event() -> None:
    about = Correlation(request_id="req_1", run_id=RUN)
    usual = {"event": "run.started", "actor": PROGRAM, "correlation": about, "data": {}}
    one = written(GENESIS, datetime(2026, 1, 5, tzinfo=UTC), [usual])
    stored, said = leaf_set(one)
    assert (stored.request_id, said) == ("req_1", '[{"data":{},"event":"run.started"}]')
    (leaf,) = chain_of_rows(RUN, [as_read(one)])
    assert leaf["actor"] == {"id": "countersign", "kind": "system"}, "stored leaves leave it out, so it never changes"


@pytest.mark.parametrize("leaves", [["text"], [{}], [{"data": {}}], [None]])
def test_a_row_that_somebody_wrote_otherwise_is_read_as_a_leaf_that_does_not_hold(leaves: list[Any]) -> None:
    moment = datetime(2026, 1, 5, tzinfo=UTC)
    row = {"run_id": RUN, "first_seq": 1, "at": moment, "request_id": None, "hashes": b"\0" * 32, "leaves": leaves}
    (leaf,) = chain_of_rows(RUN, [row])
    assert (leaf["seq"], leaf["hash"], leaf["event"]) == (1, "0" * 64, None)
