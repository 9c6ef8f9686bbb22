"""The virtual environment: from the lock files, once, whole, and never over somebody else's."""

import ast
import base64
import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from countersign.embedded.setup.work import SetUpError, one_at_a_time
from tools.environment import DEVELOPMENT, NEEDS, PACKAGES, PROJECT, Environment

ROOT = Path(__file__).resolve().parents[2]
LAYERS = (PACKAGES, DEVELOPMENT)


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


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with one package in each lock file, which pip finds in a folder."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / PACKAGES.source).write_text(_wheel(wheels, "first"))
    (checkout / DEVELOPMENT.source).write_text(_wheel(wheels, "second"))
    return checkout


def _ensure(root: Path, *layers: str) -> list[str]:
    """Set up and return what was reported; no names mean both layers."""
    reports: list[str] = []
    wanted = [layer for layer in LAYERS if not layers or layer.source in layers]
    Environment(root, reports.append).ensure(wanted)
    return reports


def _modules(root: Path) -> set[str]:
    listed = subprocess.check_output(
        [root / ".venv" / "bin" / "python", "-m", "pip", "list", "--format=freeze"], text=True
    )
    return {line.partition("==")[0] for line in listed.splitlines()} & {"first", "second"}


def test_demo_needs_no_development_package_and_tests_add_them(root: Path) -> None:
    _ensure(root, PACKAGES.source)
    assert _modules(root) == {"first"}
    assert not any(PACKAGES.name in line for line in _ensure(root))
    assert _modules(root) == {"first", "second"}
    assert _ensure(root) == [], "the next time there is nothing to do"


def test_interrupted_set_up_is_done_again_from_the_start(root: Path) -> None:
    _ensure(root, PACKAGES.source)
    half_written = root / ".venv" / "half-written"
    half_written.mkdir()
    (root / ".venv" / "set-up" / DEVELOPMENT.source).write_text("started")
    _ensure(root)
    assert not half_written.exists()
    assert _modules(root) == {"first", "second"}


def test_changed_lock_file_makes_a_new_environment(root: Path) -> None:
    _ensure(root)
    (root / DEVELOPMENT.source).write_text("# the package is no longer wanted\n")
    _ensure(root)
    assert _modules(root) == {"first"}


def test_package_with_another_hash_is_refused(root: Path) -> None:
    lock = root / PACKAGES.source
    name, _, _ = lock.read_text().partition("--hash")
    lock.write_text(f"{name}--hash=sha256:{'0' * 64}\n")
    with pytest.raises(SetUpError, match=r"not the one that requirements\.lock names"):
        _ensure(root)
    assert _modules(root) == set()


def test_package_that_cannot_be_found_is_said_with_the_remedy(root: Path) -> None:
    (root / PACKAGES.source).write_text(f"third==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SetUpError, match=r"connect to the network or name a package index in PIP_INDEX_URL"):
        _ensure(root)


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
