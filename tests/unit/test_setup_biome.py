"""The checks of JavaScript: their program is fetched once, by npm, and only if it is the one."""

import base64
import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from countersign.embedded.servers import platform_name
from countersign.embedded.work import SetUpError
from tools.biome import PACKAGES, VERSION, ensure
from tools.npm import Package

# npm lays down the archive that stands beside it.
NPM = '#!/bin/sh\ncp "${0%/*}/package.tgz" package.tgz\n'


def archive(*members: str) -> bytes:
    """Return an archive of these files, each of which has its name in it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        for name in members:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            opened.addfile(info, io.BytesIO(name.encode()))
    return buffer.getvalue()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with npm; gives the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(NPM, encoding="utf-8")
    (programs / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


def offered(machine: Path, *members: str) -> dict[str, Package]:
    """Put a package of these files where npm finds it; return the packages that we take then."""
    data = archive(*members)
    (machine / "package.tgz").write_bytes(data)
    sha512 = base64.b64encode(hashlib.sha512(data).digest()).decode()
    return {platform_name(): Package("@biomejs/cli-x", VERSION, platform_name(), sha512)}


def test_the_program_is_fetched_once_and_can_be_run(machine: Path) -> None:
    said: list[str] = []
    packages = offered(machine, "package/README.md", "package/biome", "../../outside")
    program = ensure(said.append, packages)
    assert program == machine.parent / "cache/countersign/biome" / VERSION / "biome"
    assert program.read_text(encoding="utf-8") == "package/biome"
    assert os.access(program, os.X_OK)
    assert [path.name for path in program.parent.iterdir()] == ["biome"]
    assert said == [f"Fetching @biomejs/cli-x {VERSION} with npm, for checks alone; nothing is installed"]
    (machine / "npm").unlink()
    assert ensure(said.append, packages) == program
    assert len(said) == 1


def test_a_package_that_is_not_the_one_is_refused(machine: Path) -> None:
    packages = offered(machine, "package/biome")
    (machine / "package.tgz").write_bytes(archive("package/biome", "package/more"))
    with pytest.raises(SetUpError, match="is not the one that we take, and was refused"):
        ensure(lambda _: None, packages)
    assert not list((machine.parent / "cache").rglob("biome/*/biome"))


def test_a_package_without_the_program_is_refused(machine: Path) -> None:
    with pytest.raises(SetUpError, match="has no program"):
        ensure(lambda _: None, offered(machine, "package/README.md"))


def test_an_npm_that_fails_is_quoted(machine: Path) -> None:
    packages, said = offered(machine, "package/biome"), list[str]()
    (machine / "npm").write_text("#!/bin/sh\necho no network\nexit 1\n", encoding="utf-8")
    with pytest.raises(SetUpError, match="npm could not fetch @biomejs/cli-x: fix what it says above, or run"):
        ensure(said.append, packages)
    assert said[-1] == "no network"


def test_a_machine_without_npm_is_told_in_a_sentence(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = offered(machine, "package/biome")
    (machine / "npm").unlink()
    monkeypatch.setenv("PATH", str(machine))
    with pytest.raises(SetUpError, match="is missing, and so is npm, which brings it: install Node with npm"):
        ensure(lambda _: None, packages)


def test_a_machine_of_another_kind_is_told_in_a_sentence(machine: Path) -> None:
    with pytest.raises(SetUpError, match=f"there is none for {platform_name()}: run the checks on another machine"):
        ensure(lambda _: None, {})


def test_each_platform_has_a_package_of_its_own() -> None:
    assert {platform: package.platform for platform, package in PACKAGES.items()} == {each: each for each in PACKAGES}
    assert len({package.sha512 for package in PACKAGES.values()}) == len(PACKAGES)
