"""Set-up of the environment: the virtual environment from lock files, and Chromium.

The virtual environment: from the lock files, once, whole, and never over somebody else's.

A Chromium for tests: taken from the machine where it is new enough, else fetched once, and only if it is the one.
"""

import ast
import base64
import dataclasses
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from countersign.embedded.servers import platform_name
from countersign.embedded.work import SetUpError, one_at_a_time
from tools.chromium import PACKAGE, ensure, find
from tools.environment import DEVELOPMENT, NEEDS, PACKAGES, PROJECT, Environment
from tools.npm import Package

ROOT = Path(__file__).resolve().parents[2]
LAYERS = (PACKAGES, DEVELOPMENT)
HALF_WRITTEN = f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/second-1.0.dist-info"


def _wheel(folder: Path, name: str) -> str:
    """Write the smallest package there is and return its line of a lock file."""
    file = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        archive.writestr(f"{info}/RECORD", "".join(_record(*member) for member in members.items()))
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def _record(member: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{member},sha256={digest},{len(text)}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout with one package in each lock file, set up with the first, beside what pip finds.

    A first set-up was interrupted there, with the second package in its place: every environment of these tests is
    made over what that one left.
    """
    made = tmp_path_factory.mktemp("made")
    wheels, checkout = made / "wheels", made / "checkout"
    wheels.mkdir()
    checkout.mkdir()
    (checkout / PACKAGES.source).write_text(_wheel(wheels, "first"))
    (checkout / DEVELOPMENT.source).write_text(_wheel(wheels, "second"))
    (checkout / HALF_WRITTEN).mkdir(parents=True)
    (checkout / HALF_WRITTEN / "METADATA").write_text("Metadata-Version: 2.1\nName: second\nVersion: 1.0\n")
    (checkout / ".venv/set-up").mkdir()
    (checkout / ".venv/set-up" / PACKAGES.source).write_text("started")
    with pytest.MonkeyPatch.context() as patch:
        _find_in(wheels, patch)
        _ensure(checkout, PACKAGES.source)
    return made


@pytest.fixture
def root(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the checkout that nobody has set up."""
    _find_in(made / "wheels", monkeypatch)
    return shutil.copytree(made / "checkout", tmp_path / "checkout", ignore=shutil.ignore_patterns(".venv"))


@pytest.fixture
def ready(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the checkout with its environment, which finds its packages wherever it stands."""
    _find_in(made / "wheels", monkeypatch)
    return shutil.copytree(made / "checkout", tmp_path / "checkout", symlinks=True)


def _find_in(wheels: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("PIP_FIND_LINKS", str(wheels))


def _ensure(root: Path, *layers: str) -> list[str]:
    """Set up and return what was reported; no names mean both layers."""
    reports: list[str] = []
    wanted = [layer for layer in LAYERS if not layers or layer.source in layers]
    Environment(root, reports.append).ensure(wanted)
    return reports


def _modules(root: Path) -> set[str]:
    script = "from importlib.metadata import distributions\nfor each in distributions(): print(each.name)"
    listed = subprocess.check_output([root / ".venv" / "bin" / "python", "-c", script], text=True)
    return set(listed.split()) & {"first", "second"}


def test_demo_needs_no_development_package_and_tests_add_them(ready: Path) -> None:
    assert _modules(ready) == {"first"}
    assert not any(PACKAGES.name in line for line in _ensure(ready))
    assert _modules(ready) == {"first", "second"}
    assert _ensure(ready) == [], "the next time there is nothing to do"


def test_interrupted_set_up_is_done_again_from_the_start(ready: Path) -> None:
    assert not (ready / HALF_WRITTEN).exists()
    assert _modules(ready) == {"first"}
    (ready / ".venv/set-up" / DEVELOPMENT.source).write_text("started")
    assert not Environment(ready, pytest.fail)._sound(), "nor is an interrupted addition gone on with"


def test_changed_lock_file_begins_a_new_environment(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ready / ".venv/set-up" / DEVELOPMENT.source).write_text(DEVELOPMENT.wanted(ready))
    assert _ensure(ready) == []
    (ready / DEVELOPMENT.source).write_text("# the package is no longer wanted\n")
    monkeypatch.setitem(sys.modules, "ensurepip", None)  # nothing but a new environment asks for it
    with pytest.raises(SetUpError, match="comes without ensurepip, which makes virtual environments"):
        _ensure(ready)


def test_package_with_another_hash_is_refused(ready: Path) -> None:
    lock = ready / DEVELOPMENT.source
    name, _, _ = lock.read_text().partition("--hash")
    lock.write_text(f"{name}--hash=sha256:{'0' * 64}\n")
    with pytest.raises(SetUpError, match=r"not the one that requirements-dev\.lock names"):
        _ensure(ready)
    assert _modules(ready) == {"first"}


def test_package_that_cannot_be_found_is_said_with_the_remedy(ready: Path) -> None:
    (ready / DEVELOPMENT.source).write_text(f"third==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SetUpError, match=r"connect to the network or name a package index in PIP_INDEX_URL"):
        _ensure(ready)


def test_environment_of_somebody_else_is_kept(root: Path) -> None:
    theirs = root / ".venv" / "lib" / "theirs.py"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    with pytest.raises(SetUpError, match="was not made by this set-up: move it away"):
        _ensure(root)
    assert theirs.exists()


def test_link_to_an_environment_elsewhere_is_kept(root: Path) -> None:
    elsewhere = root.parent / "elsewhere"
    (elsewhere / "set-up").mkdir(parents=True)
    (elsewhere / "theirs.py").touch()
    (root / ".venv").symlink_to(elsewhere)
    with pytest.raises(SetUpError, match="was not made by this set-up"):
        _ensure(root)
    assert (elsewhere / "theirs.py").exists()


def test_python_without_ensurepip_is_told_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SetUpError, match="apt install python3-venv"):
        _ensure(root)
    assert not (root / ".venv").exists()


def test_second_set_up_finds_the_work_of_the_first_done(root: Path) -> None:
    waiting = threading.Event()
    reports: list[str] = []

    def report(line: str) -> None:
        reports.append(line)
        waiting.set()

    second = threading.Thread(target=lambda: Environment(root, report).ensure([PACKAGES]))
    with one_at_a_time(root, reports.append):
        second.start()
        assert waiting.wait(10)
        stamps = root / ".venv" / "set-up"
        stamps.mkdir(parents=True)
        (root / ".venv" / "bin").mkdir()
        (root / ".venv" / "bin" / "python").touch()
        (stamps / PACKAGES.source).write_text(PACKAGES.wanted(root))
    second.join(10)
    assert reports == [f"Another set-up is at work in {root}; waiting for it"]


def test_demo_installs_no_development_package_and_no_test_server() -> None:
    layers, servers = NEEDS["run"]
    assert layers == (PACKAGES, PROJECT)
    assert [server.name for server in servers] == ["opa"]


def test_unknown_purpose_is_answered_with_the_usage() -> None:
    command = [sys.executable, "-m", "tools.bootstrap", "everything"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stderr == "usage: python -m tools.bootstrap run|check|test\n"


def test_older_pythons_can_read_what_tells_them_to_step_aside() -> None:
    ast.parse((ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8"), feature_version=(3, 6))
    ast.parse((ROOT / "tools" / "__init__.py").read_text(encoding="utf-8"), feature_version=(3, 6))


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
