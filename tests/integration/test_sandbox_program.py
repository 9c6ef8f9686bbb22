"""The sandbox as a program of its own: it says where it is, refuses bad files, and survives being killed."""

import subprocess
import sys
from pathlib import Path

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.harness import EXAMPLE
from sandbox.workspace import load_workspace
from tests.patience import MINUTE

WORKSPACE = load_workspace(EXAMPLE)


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sandbox", "--port", "0", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address(process: subprocess.Popen[str]) -> str:
    """Return where it listens, as it says itself."""
    assert process.stdout
    return process.stdout.readline().removeprefix("sandbox workspace on ").strip()


async def test_what_was_answered_is_there_after_kill_9(tmp_path: Path) -> None:
    options = ("--workspace", str(EXAMPLE), "--state", str(tmp_path / "state.json"))
    for expected in ([], ["kept"]):
        with start(*options) as process:
            client = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{address(process)}/api/")
            history = await client.conversations_history(channel="C0APPROVALS")
            assert [message["text"] for message in history["messages"]] == expected
            await client.chat_postMessage(channel="C0APPROVALS", text="kept")
            process.kill()


def test_the_program_ends_cleanly_when_asked_to() -> None:
    with start("--workspace", str(EXAMPLE)) as process:
        assert address(process).startswith("http://127.0.0.1:")
        process.terminate()
        assert process.wait(timeout=MINUTE) == 0


@pytest.mark.parametrize("text", ["team: [", "team: {}"])
def test_a_bad_workspace_file_is_named_without_a_traceback(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with start("--workspace", str(path)) as process:
        _, errors = process.communicate(timeout=MINUTE)
    assert process.returncode == 1
    assert errors.startswith(str(path))
    assert "Traceback" not in errors
