"""Programs of Debian packages for tests: found where they are, fetched apart where they are not, never installed."""

import os
from pathlib import Path

import pytest

from countersign.embedded.work import SetUpError
from tools.debian import Package, bring_if_offered, ensure, find

PACKAGE = Package("some-package", "some-program", "usr/sbin", on_path=True)

# What of apt's answers matters: an archive in the folder that it was told to use, or a failure.
APT = """#!/bin/sh
for word in "$@"; do
  case "$word" in Dir::Cache=*) cache=${word#Dir::Cache=};; update) exit 0;; absent) exit 100;; esac
done
touch "$cache/archives/some-package_1_all.deb"
"""
DPKG = """#!/bin/sh
mkdir -p "$3/usr/sbin" "$3/usr/lib/x86_64-linux-gnu" && printf '#!/bin/sh\\n' > "$3/usr/sbin/some-program"
chmod 755 "$3/usr/sbin/some-program"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an apt that has the package, and nothing of it; gives the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"apt-get": APT, "dpkg-deb": DPKG}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


def test_what_is_missing_is_fetched_once_and_found_with_its_libraries(machine: Path) -> None:
    said: list[str] = []
    assert find(PACKAGE) is None
    program = ensure(PACKAGE, said.append)
    assert program.path.is_relative_to(machine.parent / "cache")
    assert program.env["LD_LIBRARY_PATH"].endswith("usr/lib/x86_64-linux-gnu")
    assert said == ["Fetching some-package with apt, for tests alone; nothing is installed"]
    (machine / "apt-get").unlink()
    assert ensure(PACKAGE, said.append) == program
    assert len(said) == 1


def test_what_the_machine_has_is_taken(machine: Path) -> None:
    own = machine / "some-program"
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o755)
    found = find(PACKAGE)
    assert found is not None
    assert (found.path, found.env) == (own, {})


def test_a_machine_without_apt_is_told_what_to_install(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("apt-get", "dpkg-deb"):
        (machine / name).unlink()
    monkeypatch.setenv("PATH", str(machine))
    with pytest.raises(SetUpError, match="some-program is missing: install some-package"):
        ensure(PACKAGE, lambda _: None)


def test_what_tests_can_do_without_is_left_out_aloud(machine: Path) -> None:
    said: list[str] = []
    bring_if_offered(Package("absent", "none", "usr/bin", on_path=False), said.append)
    assert said[-1].startswith("Tests do without absent: apt could not fetch absent")
    assert list((machine.parent / "cache/countersign/bin").iterdir()) == []
