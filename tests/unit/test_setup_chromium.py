"""A Chromium for tests: taken from the machine where it is new enough, else fetched once, and only if it is the one."""

import base64
import dataclasses
import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from countersign.embedded.servers import platform_name
from countersign.embedded.work import SetUpError
from tools.chromium import PACKAGE, ensure, find
from tools.npm import Package

# npm lays down the archive that stands beside it; node, asked to inflate, copies.
NPM = '#!/bin/sh\ncp "${0%/*}/package.tgz" package.tgz\n'
NODE = '#!/bin/sh\ncp "$3" "$4"\n'


def _tar(members: dict[str, bytes], kind: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w{kind}") as archive:  # type: ignore[call-overload]  # a mode is text
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


ARCHIVE = _tar(
    {
        "package/bin/chromium.br": b"#!/bin/sh\n",
        "package/bin/al2023.tar.br": _tar({"lib/libnss3.so": b"nss", "../../outside.so": b"out"}, ""),
        "package/bin/fonts.tar.br": _tar({"fonts/Open_Sans/OpenSans-Regular.ttf": b"font"}, ""),
        "package/README.md": b"",
    },
    ":gz",
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Node and npm and without Chromium; gives the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "package.tgz").write_bytes(ARCHIVE)
    for name, text in {"npm": NPM, "node": NODE}.items():
        _write_program(programs / name, text)
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tools.chromium.NAMES", ("some-chromium",))
    return programs


@pytest.fixture
def package() -> Package:
    sha512 = base64.b64encode(hashlib.sha512(ARCHIVE).digest()).decode()
    return dataclasses.replace(PACKAGE, platform=platform_name(), sha512=sha512)


def _write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_what_is_missing_is_fetched_once_and_found_with_its_libraries(machine: Path, package: Package) -> None:
    said: list[str] = []
    assert find(package) is None
    program = ensure(said.append, package)
    folder = machine.parent / "cache/countersign/chromium/153.0.0"
    assert program.path == folder / "chromium"
    assert (folder / "fonts/OpenSans-Regular.ttf").read_bytes() == b"font"
    assert program.env == {"LD_LIBRARY_PATH": str(folder / "lib"), "XDG_DATA_HOME": str(folder)}
    assert said == ["Fetching @sparticuz/chromium 153.0.0 with npm, for tests alone; nothing is installed"]
    assert list((machine.parent / "cache/countersign/bin").iterdir()) == []
    (machine / "npm").unlink()
    assert ensure(said.append, package) == program
    assert len(said) == 1


def test_no_member_of_the_package_is_laid_outside_its_folder(machine: Path, package: Package) -> None:
    folder = ensure(lambda _: None, package).path.parent
    assert sorted(path.name for path in (folder / "lib").iterdir()) == ["libnss3.so", "outside.so"]
    assert [path.name for path in machine.parent.rglob("outside.so")] == ["outside.so"]


@pytest.mark.parametrize(("says", "is_taken"), [("Chromium 137.0.1", True), ("Chromium 136.9", False), ("?", False)])
def test_a_chromium_of_the_machine_is_taken_where_it_has_ed25519(machine: Path, says: str, *, is_taken: bool) -> None:
    _write_program(machine / "some-chromium", f"#!/bin/sh\necho '{says} built on something'\n")
    found = find()
    assert (found is not None and (found.path, found.env) == (machine / "some-chromium", {})) == is_taken


def test_a_package_that_is_not_the_one_is_refused(machine: Path, package: Package) -> None:
    (machine / "package.tgz").write_bytes(ARCHIVE + b"more")
    with pytest.raises(SetUpError, match="is not the one that we take, and was refused"):
        ensure(lambda _: None, package)
    assert find(package) is None


def test_a_machine_without_node_is_told_in_a_sentence(
    machine: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("npm", "node"):
        (machine / name).unlink()
    monkeypatch.setenv("PATH", str(machine))
    with pytest.raises(SetUpError, match="is missing, and so is Node with npm, which brings it: install either"):
        ensure(lambda _: None, package)


def test_a_machine_of_another_kind_is_told_in_a_sentence(machine: Path, package: Package) -> None:
    other = dataclasses.replace(package, platform="plan9-mips")
    with pytest.raises(SetUpError, match=f"there is none ready for {platform_name()}: install it"):
        ensure(lambda _: None, other)


def test_an_npm_that_fails_is_quoted(machine: Path, package: Package) -> None:
    _write_program(machine / "npm", "#!/bin/sh\necho no network\nexit 1\n")
    said: list[str] = []
    with pytest.raises(SetUpError, match="npm could not fetch @sparticuz/chromium"):
        ensure(said.append, package)
    assert said[-1] == "no network"
