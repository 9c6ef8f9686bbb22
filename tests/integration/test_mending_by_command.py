"""Held steps by command: found, shown and let go on, in sentences that people can read."""

import json
from pathlib import Path

import pytest

from runtime.handlers import RefusedError
from tests.integration.conftest import Targets
from tests.integration.program_stage import command
from tests.integration.test_cli import is_one_sentence
from tests.integration.test_mending import LOOK, NOTE, VALUE, Opener, started

__all__ = ["started"]


async def test_held_steps_are_listed_shown_and_let_go_on_by_command(
    started: Opener, targets: Targets, tmp_path: Path
) -> None:
    targets.look.answers = [RefusedError("closed")]
    (tmp_path / "result.json").write_text('{"value": 9}')
    async with started(LOOK + VALUE) as stage:
        (row,) = json.loads((await command("steps", "list", "--json", env=stage.env)).out)
        assert (row["run_id"], row["path"], row["error"]) == (stage.run_id, "look", "closed")
        shown = await command("steps", "show", stage.run_id, "look", env=stage.env)
        assert "closed" in shown.out
        wrong = await command("steps", "show", stage.run_id, "other", env=stage.env)
        assert is_one_sentence(wrong, f"there is no step other of a run {stage.run_id}")
        named = ("--as", "omar", "--reason", "asked by telephone", "--version", str(row["version"]))
        (tmp_path / "odd.json").write_text('{"value": "\\u0000"}')
        odd = await command("steps", "supply", stage.run_id, "look", str(tmp_path / "odd.json"), *named, env=stage.env)
        assert is_one_sentence(odd, f"{tmp_path / 'odd.json'}: it holds a NUL character")
        done = await stage.command("steps", "supply", stage.run_id, "look", str(tmp_path / "result.json"), *named)
        assert (done.code, done.out) == (0, f"look of {stage.run_id} has its result\n")
        assert (await stage.status())["run"] == "succeeded"
        late = await stage.command("steps", "skip", stage.run_id, "look", *named)
        assert is_one_sentence(late, "nothing was done: look of it needs no attention: succeeded")


async def test_runs_show_tells_each_step_with_its_status_and_error(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("the register is closed")]
    async with started(LOOK + VALUE) as stage:
        shown = (await command("runs", "show", stage.run_id, env=stage.env)).out
        (look,) = [line for line in shown.splitlines() if line.startswith("look ")]
        assert look.split()[:2] == ["look", "needs_attention"]
        assert "the register is closed" in look
        assert "messages in the chat" in shown
        assert "post_message" not in shown


async def test_a_command_is_told_nothing_of_clicks(started: Opener) -> None:
    async with started(LOOK) as stage:
        done = await stage.command("tasks", "claim", "apr_none", "--as", "ann")
        assert is_one_sentence(done, "nothing was done: Countersign no longer knows this request.")
        assert "click" not in done.err


@pytest.mark.parametrize("reason", ["", "  ", "\u200b"])
async def test_an_act_without_a_reason_is_a_wrong_use(started: Opener, targets: Targets, reason: str) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK + VALUE) as stage:
        done = await command("steps", "skip", stage.run_id, "look", "--as", "omar", "--reason", reason, env=stage.env)
        assert (done.code, "--reason" in done.err) == (2, True)
        assert await stage.leaves("repair.decided") == []
        assert (await stage.status())["look"] == "needs_attention"


@pytest.mark.parametrize("act", ["retry", "skip", "end"])
async def test_each_other_act_has_its_command(started: Opener, targets: Targets, act: str) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE) as stage:
        done = await stage.command("steps", act, stage.run_id, "note", "--as", "omar", "--reason", "seen", "--json")
        assert json.loads(done.out)["act"] == act
        assert (await stage.bench.run(stage.run_id))["finished_at"] is not None
