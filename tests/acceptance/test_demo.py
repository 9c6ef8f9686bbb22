"""The demo, as a newcomer runs it: installed from a wheel, in an empty folder, from nothing to verified evidence."""

import hashlib
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.acceptance.conftest import ROOT, Installed
from tests.browser import chromium

DATA = (".css", ".html", ".ini", ".js", ".json", ".mako", ".py", ".rego", ".sql", ".svg", ".yaml")


@pytest.fixture(scope="module")
def played(installed: Installed) -> tuple[subprocess.CompletedProcess[str], Path]:
    return installed.run("demo"), installed.folder / ".countersign"


@pytest.fixture(scope="module")
def verified(
    installed: Installed, played: tuple[subprocess.CompletedProcess[str], Path]
) -> subprocess.CompletedProcess[str]:
    """Verify what the demo left, from the command line."""
    told = _last_lines(played)
    return installed.run("evidence", "verify", told["bundle"], "--key", told["key"])


def test_the_wheel_holds_everything_that_runs(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        inside = set(wheel.namelist())
    folders = ("bot", "countersign", "edge", "evidence", "policy", "receipts", "rego", "runtime", "sandbox", "witness")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in DATA]
    expected = {file.relative_to(ROOT).as_posix() for file in files}
    packs = [file for file in (ROOT / "packs").glob("*/**/*") if file.suffix in DATA]
    # a pack's code is a package of its own; its verbs, runbooks and rules stay in its folder
    expected |= {
        file.relative_to(ROOT / "packs").as_posix().partition("/")[2] for file in packs if file.suffix == ".py"
    }
    expected |= {file.relative_to(ROOT).as_posix() for file in packs if file.suffix != ".py"}
    assert expected - inside == set()
    assert not [name for name in inside if name.startswith(("tests/", "tools/", "benchmarks/"))]


def test_what_is_installed_knows_nothing_of_the_checkout(installed: Installed) -> None:
    told = installed.run("config").stdout
    assert f"COUNTERSIGN_POLICIES = {installed.python.parents[1]}" in told
    assert str(ROOT) not in told


def test_lint_finds_nothing_in_the_policies_that_are_installed(installed: Installed) -> None:
    told = installed.run("policy", "lint")
    assert (told.returncode, told.stdout.splitlines()[0]) == (0, "nothing was found"), told.stderr


def _last_lines(played: tuple[subprocess.CompletedProcess[str], Path]) -> dict[str, str]:
    lines = played[0].stdout.splitlines()[-3:]
    return dict(line.split(": ", 1) for line in lines)


def test_the_demo_plays_to_its_end(played: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    assert played[0].returncode == 0, played[0].stdout + played[0].stderr


@pytest.mark.parametrize(
    "told",
    [
        "rejects: The share register is from 2019",
        "is of another company",
        "is a guest",
        "asked for it herself",
        "the worker is gone while the run is parked",
        "the report was filed, once",
        "verifies it offline",
        "changes one byte",
    ],
)
def test_the_timeline_tells(played: tuple[subprocess.CompletedProcess[str], Path], told: str) -> None:
    assert told in played[0].stdout


def test_it_ends_with_digest_bundle_and_key_and_leaves_both_files(
    played: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    told = _last_lines(played)
    assert list(told) == ["sha256", "bundle", "key"]
    assert hashlib.sha256(Path(told["bundle"]).read_bytes()).hexdigest() == told["sha256"]
    assert Path(told["key"]).read_text().startswith("-----BEGIN PUBLIC KEY-----")


def test_what_it_leaves_verifies_from_the_command_line(
    installed: Installed,
    played: tuple[subprocess.CompletedProcess[str], Path],
    verified: subprocess.CompletedProcess[str],
) -> None:
    told = _last_lines(played)
    replayed = installed.run("evidence", "verify", told["bundle"], "--key", told["key"], "--replay")
    for done in (verified, replayed):
        assert done.returncode == 0, done.stderr
        assert told["sha256"] in done.stdout
    assert "asked again of OPA" in replayed.stdout


async def test_what_it_leaves_verifies_in_a_browser_by_the_page_that_the_wheel_brings(
    installed: Installed, played: tuple[subprocess.CompletedProcess[str], Path]
) -> None:
    told, page = _last_lines(played), installed.folder / "verify.html"
    assert installed.run("evidence", "page").returncode == 0
    async with chromium() as browser:
        opened = await browser.new_page()
        await opened.goto(page.as_uri())
        await opened.get_by_label("Evidence bundle").set_input_files(told["bundle"])
        await opened.get_by_label("Public key").set_input_files(told["key"])
        await expect(opened.locator("#verdict")).to_contain_text("Everything checked here holds")
        await expect(opened.locator("#summary")).to_contain_text(told["sha256"])
        await expect(opened.locator("#summary")).to_contain_text("“Checked against the register extract.”")


def test_the_auditors_page_shows_the_steps_that_the_program_takes(
    verified: subprocess.CompletedProcess[str],
) -> None:
    page = (ROOT / "docs/auditor.md").read_text(encoding="utf-8")
    shown = page.partition("```\nSigned by the key ")[2].partition("```")[0]
    done = verified.stdout
    assert _without_figures(f"Signed by the key {shown}") == _without_figures(done)
    last = [line for line in done.splitlines() if line[:2].strip().isdigit()][-1].partition(".")[0].strip()
    assert set(re.findall(r"steps 5 to (\d+)", page)) == {last}


def _without_figures(text: str) -> list[str]:
    return [re.sub(r"run_\w+|[0-9a-f]{64}|(?<!^)\b\d+", "#", line) for line in text.splitlines()]


def test_it_leaves_no_process_behind(played: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    home = str(played[1])
    lines = [
        path.read_bytes().decode(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)
    ]
    assert [line for line in lines if home in line] == []


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
