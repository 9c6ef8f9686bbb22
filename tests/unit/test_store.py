"""The store's values: states, schema steps, batched work, JSON columns, ids and dedupe keys.

State machines: the tables and the database's CHECK constraints say the same.

The lock file of the steps: a step may change with its line until its release is out, and never from then on.

Work in sets: whoever waits when the last set is done goes into the next, and gets what is its own.

Columns of JSON: what is written is read back the same, whoever has to write it.

Identifiers: made at about one time, they stand together in an index; and nobody can guess one.

Dedupe keys of what callers send: nothing that one caller sends under its own refs is taken for something else.
"""

import asyncio
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import CheckConstraint

from runtime.engine import new_id
from runtime.model.notification import dedupe_key_of
from runtime.model.states import (
    EFFECT,
    MACHINES,
    RUN,
    EffectStatus,
    IllegalTransitionError,
    RunStatus,
    StepStatus,
    check,
    check_run,
    is_final,
)
from runtime.store.batched_reads import Batcher
from runtime.store.database.schema_state import NEWEST, UNRELEASED
from runtime.store.database.write_buffer import json_text, read_json
from runtime.store.schema import steps
from runtime.store.schema.tables import metadata
from tools.schema import LOCK, FrozenError, Step, digests, is_frozen, lock, project_version, read_lock

TABLES = {
    "run": "runs",
    "step": "steps",
    "effect": "effects",
    "approval": "approvals",
    "wait": "waits",
    "notification": "notifications",
    "bundle": "evidence_bundles",
    "definition": "runbook_versions",
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_database_allows_exactly_the_states_of_the_table(machine: str) -> None:
    constraints = metadata.tables[TABLES[machine]].constraints
    (check_,) = [c for c in constraints if isinstance(c, CheckConstraint) and str(c.name).endswith("_status")]
    assert set(re.findall(r"'(\w+)'", str(check_.sqltext))) == {str(state) for state in MACHINES[machine]}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_can_be_reached_and_every_table_is_closed(machine: str) -> None:
    table = MACHINES[machine]
    reachable: set[StrEnum] = {next(iter(table))}
    while more := {after for state in reachable for after in table[state]} - reachable:
        reachable |= more
    assert reachable == set(table)


def test_what_is_over_stays_over() -> None:
    assert is_final(RUN, RunStatus.SUCCEEDED)
    with pytest.raises(IllegalTransitionError, match="dispatched -> pending"):
        check(EFFECT, EffectStatus.DISPATCHED, EffectStatus.PENDING)
    with pytest.raises(IllegalTransitionError):
        check_run(RunStatus.CANCELED, RunStatus.RUNNING)


def test_a_run_may_pass_through_running_from_one_wait_to_the_next() -> None:
    check_run(RunStatus.WAITING, RunStatus.WAITING_APPROVAL)
    check_run(RunStatus.QUEUED, RunStatus.SUCCEEDED)


def test_step_statuses_that_mean_work_are_not_final() -> None:
    assert not is_final(MACHINES["step"], StepStatus.PARKED)


KNOWN = {"0001": Step("0.2.0", "a" * 64)}


def test_every_step_is_the_one_in_the_lock_file() -> None:
    known = read_lock(LOCK.read_text(encoding="utf-8"))
    assert lock(known, digests(), project_version()) == known, "a step changed: run `python -m tools.schema`"


def test_a_step_may_change_before_its_release() -> None:
    assert lock(KNOWN, {"0001": "b" * 64}, "0.1.0") == {"0001": Step("0.2.0", "b" * 64)}


@pytest.mark.parametrize("version", ["0.2.0", "0.2.1", "0.10.0", "1.0.0"])
@pytest.mark.parametrize("found", [{"0001": "b" * 64}, {}])
def test_a_step_never_changes_from_its_release_on(version: str, found: dict[str, str]) -> None:
    with pytest.raises(FrozenError, match=r"step 0001 was released with 0\.2\.0 and never changes: add a new step"):
        lock(KNOWN, found, version)


def test_a_new_step_is_frozen_by_the_next_release() -> None:
    found = {"0001": "a" * 64, "0003": "c" * 64}
    assert lock(KNOWN, found, "0.2.0") == {**KNOWN, "0003": Step("0.3.0", "c" * 64)}
    assert not is_frozen(Step("0.3.0", "c" * 64), "0.2.9")


def test_the_digest_is_of_names_order_and_texts_of_all_sql_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "VERSIONS", tmp_path)
    seen: set[str] = set()
    for files in (
        {"1.sql": "ab"},
        {"1.sql": "abc"},
        {"2.sql": "ab"},
        {"1.sql": "a", "2.sql": "b"},
        {"1.sql": "b", "2.sql": "a"},
    ):
        folder = tmp_path / str(len(seen))
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "README").write_text("no part of it", encoding="utf-8")
        seen.add(digests()[folder.name])
    assert len(seen) == 5


def test_steps_follow_each_other_and_the_last_is_what_the_program_needs() -> None:
    config = Config()
    config.set_main_option("script_location", str(steps.VERSIONS.parent))
    config.set_main_option("path_separator", "os")
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert found[::-1] == [*digests()]
    assert found[0] == NEWEST


def test_no_step_has_a_number_that_an_unreleased_version_used() -> None:
    assert not UNRELEASED & digests().keys()


def test_the_first_step_makes_everything_directly() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in steps.files("0001"))
    statements = set(re.findall(r"^([A-Z]+)\b", text, re.MULTILINE)) - {"DECLARE", "BEGIN", "END"}
    # where a function looks for tables and who may call it is said behind CREATE
    assert statements == {"CREATE", "DO", "REVOKE"}


class Doubling:
    """Doubles numbers, and refuses what is not one; keeps the sets that it was given."""

    def __init__(self) -> None:
        self.sets: list[list[int]] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, pieces: Sequence[int]) -> Sequence[int | Exception]:
        self.sets.append(list(pieces))
        await self.go_on.wait()
        return [ValueError("negative") if piece < 0 else 2 * piece for piece in pieces]


async def test_what_comes_at_one_moment_goes_together_and_in_order() -> None:
    work = Doubling()
    doubled = Batcher(work, most=3, at_once=1)
    assert await asyncio.gather(*map(doubled, range(7))) == [0, 2, 4, 6, 8, 10, 12]
    assert work.sets == [[0, 1, 2], [3, 4, 5], [6]]


async def test_whoever_comes_while_a_set_is_under_way_goes_into_the_next() -> None:
    work = Doubling()
    doubled = Batcher(work, most=10, at_once=1)
    work.go_on.clear()
    first = asyncio.create_task(doubled(1))
    while not work.sets:
        await asyncio.sleep(0)
    later = [asyncio.create_task(doubled(piece)) for piece in (2, 3)]
    await asyncio.sleep(0)
    assert work.sets == [[1]]
    work.go_on.set()
    assert [await one for one in (first, *later)] == [2, 4, 6]
    assert work.sets == [[1], [2, 3]]


async def test_as_many_sets_are_under_way_as_may_be() -> None:
    work = Doubling()
    doubled = Batcher(work, most=1, at_once=2)
    work.go_on.clear()
    tasks = [asyncio.create_task(doubled(piece)) for piece in (1, 2, 3)]
    while len(work.sets) < 2:
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)
    assert work.sets == [[1], [2]]
    work.go_on.set()
    assert [await task for task in tasks] == [2, 4, 6]


async def test_what_one_piece_ends_with_is_its_own() -> None:
    doubled = Batcher(Doubling(), most=3, at_once=1)
    found = await asyncio.gather(*map(doubled, (1, -1, 2)), return_exceptions=True)
    assert [one for one in found if not isinstance(one, ValueError)] == [2, 4]
    assert isinstance(found[1], ValueError)


async def test_what_the_work_raises_is_everybodys_and_the_next_set_is_done() -> None:
    asked: list[int] = []

    async def fails_once(pieces: Sequence[int]) -> Sequence[int]:
        asked.append(len(pieces))
        if len(asked) == 1:
            raise OSError("away")
        return pieces

    work = Batcher(fails_once, most=2, at_once=1)
    found = await asyncio.gather(*map(work, (1, 2)), return_exceptions=True)
    assert [type(one) for one in found] == [OSError, OSError]
    assert await work(3) == 3


async def test_somebody_who_has_gone_holds_up_nobody() -> None:
    work = Doubling()
    doubled = Batcher(work, most=2, at_once=1)
    work.go_on.clear()
    gone, stays = asyncio.create_task(doubled(1)), asyncio.create_task(doubled(2))
    while not work.sets:
        await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    work.go_on.set()
    assert await stays == 4


_TEXTS = st.text(st.characters(codec=None, exclude_characters="\0"))  # halves of characters among them
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=20,
)


@given(_VALUES)
def test_a_document_is_read_back_as_it_was_written(value: Any) -> None:
    assert read_json(json_text(value)) == value


def test_half_a_character_is_kept() -> None:
    assert read_json(json_text({"name": "\ud800"})) == {"name": "\ud800"}


def test_a_number_beyond_64_bits_is_kept() -> None:
    assert read_json(json_text([2**70])) == [2**70]


def test_an_identifier_has_24_digits_behind_what_it_names() -> None:
    assert re.fullmatch("run_[0-9a-f]{24}", new_id("run"))


def test_what_is_made_at_about_one_time_begins_alike_and_ends_apart() -> None:
    made = [new_id("run")[4:] for _ in range(100)]
    first = int(made[0][:6], 16)
    assert {(int(one[:6], 16) - first) % (1 << 24) for one in made} <= set(range(60))  # seconds
    assert len({one[6:] for one in made}) == 100


_TENANTS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True)
_SENDERS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True)
_REFS = st.text(st.sampled_from("ab:_-."), min_size=1, max_size=8)
_WORDS = st.tuples(st.sampled_from(["signal", "task", "repair_step", "cancel", "undo"]), _TENANTS, _SENDERS, _REFS)


@given(_WORDS, _WORDS)
def test_two_words_share_a_key_only_where_they_are_of_one_kind_tenant_sender_and_ref(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert (dedupe_key_of(*one) == dedupe_key_of(*other)) == (one == other)


@given(_WORDS, _TENANTS, _SENDERS, _REFS)
@example(("signal", "acme", "portal", "1"), "acme", "portal", "signal:1")
def test_no_word_has_the_key_of_an_answer(
    word: tuple[str, str, str, str], tenant: str, sender: str, answer_id: str
) -> None:
    assert dedupe_key_of(*word) != f"{tenant}:{sender}:{answer_id}"
