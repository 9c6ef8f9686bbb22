"""The checker of logs for tests: built once from the pinned module, and done without where that cannot be."""

import os
from pathlib import Path

import pytest

from countersign.embedded.servers import cache_folder
from tools import tessera

GO = """#!/bin/sh
printf 'mod\\t%s\\t%s\\t{sum}\\n' github.com/transparency-dev/tessera v1.0.4 > "$GOBIN/fsck"
chmod 755 "$GOBIN/fsck"
echo "$@" >> "$0.calls"
exit {status}
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Go would be; nothing is in the cache."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin" / "go"


def install(go: Path, sum_: str = tessera.SUM, status: int = 0) -> None:
    go.write_text(GO.format(sum=sum_, status=status), encoding="utf-8")
    go.chmod(0o755)


def built() -> list[str]:
    """Say what is built, and return all that was reported."""
    said: list[str] = []
    tessera.build_if_possible(said.append)
    return said


def test_program_is_built_once_from_the_pinned_module(go: Path) -> None:
    install(go)
    assert built() == ["Building fsck v1.0.4 with Go; this takes about half a minute, once per machine"]
    assert tessera.find() == cache_folder() / "tessera-fsck-1.0.4"
    assert built() == []
    calls = go.with_name("go.calls").read_text(encoding="utf-8")
    assert calls == "install -v -trimpath github.com/transparency-dev/tessera/cmd/fsck@v1.0.4\n"


def test_program_of_another_sum_is_not_kept(go: Path) -> None:
    install(go, sum_="h1:another=")
    assert built()[-1].startswith("Tests do without Tessera's fsck: what Go built is not of")
    assert tessera.find() is None


def test_tests_do_without_it_where_it_cannot_be_built(go: Path) -> None:
    assert built() == ["Tests do without Tessera's fsck: Go is not installed"]
    install(go, status=1)
    assert built()[-1] == "Tests do without Tessera's fsck: go install failed with exit status 1"
    assert tessera.find() is None
