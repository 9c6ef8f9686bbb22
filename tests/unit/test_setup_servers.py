"""Set-up of servers: pinned servers, Debian packages and Tessera's checker.

Where the pinned servers come from: PATH, cache, Go, the vendor's release, in this order and no other.

Programs of Debian packages for tests: found where they are, fetched apart where they are not, never installed.

The checker of logs for tests: built once from the pinned module, and done without where that cannot be.
"""

import dataclasses
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from countersign.embedded import servers
from countersign.embedded.servers import MINIO, OPA, Server, cache_folder, ensure, find, fits
from countersign.embedded.work import SetUpError
from tests.unit.setup_release_server import Releases, release_server
from tools import tessera
from tools.debian import Package, bring_if_offered
from tools.debian import ensure as ensure_debian
from tools.debian import find as find_debian

ASSET = OPA.assets["linux-amd64"]
PROGRAM = b"#!/bin/sh\necho downloaded\n"
SAYS = "#!/bin/sh\necho 'Version: {}'\n"


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Releases]:
    with release_server(tmp_path_factory.mktemp("tls")) as releases:
        yield releases


@pytest.fixture
def releases(_server: Releases) -> Releases:
    """Serve OPA's program for every platform, as its vendor would."""
    _server.files.clear()
    _server.redirects.clear()
    _server.cut.clear()
    _server.publish(ASSET, PROGRAM, OPA.checksum)
    return _server


@pytest.fixture
def opa(releases: Releases) -> Server:
    """Return OPA as that server has it."""
    return dataclasses.replace(OPA, base_url=releases.url, assets={servers.platform_name(): ASSET})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the one folder on PATH; nothing is in it or in the cache."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def _silent(_line: str) -> None:
    """Report to nobody."""


def _script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def _kept() -> list[str]:
    return sorted(file.name for file in servers.cache_folder().iterdir())


def _download(server: Server, releases: Releases) -> Path:
    return ensure(server, _silent, context=releases.trust)


def _refusal(server: Server, releases: Releases) -> str:
    """Return why the server cannot be had; nothing may be left in the cache."""
    with pytest.raises(SetUpError) as refused:
        _download(server, releases)
    assert _kept() == []
    return str(refused.value)


def test_program_on_path_is_taken_if_its_version_fits(path: Path) -> None:
    program = _script(path / "opa", SAYS.format(OPA.release))
    _script(servers.cache_folder() / OPA.cache_names[0], "")
    assert find(OPA) == program


@pytest.mark.parametrize("version", ["1.21.0", "1.22.01", "11.22.0", ""])
def test_program_of_another_version_on_path_is_passed_over(path: Path, version: str) -> None:
    _script(path / "opa", SAYS.format(version))
    assert find(OPA) is None


def test_program_that_go_built_from_our_version_fits_without_knowing_it(path: Path) -> None:
    mark = f"mod\t{MINIO.module}\t{MINIO.version}\th1:sum"
    assert fits(MINIO, _script(path / "minio", f"#!/bin/sh\necho 'minio version DEVELOPMENT.GOGET'\nexit # {mark}\n"))
    other = mark.replace("2026", "2025")
    assert not fits(
        MINIO, _script(path / "minio", f"#!/bin/sh\necho 'minio version DEVELOPMENT.GOGET'\nexit # {other}\n")
    )


def test_file_that_is_no_program_does_not_fit(path: Path) -> None:
    assert not fits(OPA, _script(path / "opa", ""))
    assert not fits(OPA, path / "absent")


@pytest.mark.parametrize("server", [OPA, MINIO])
@pytest.mark.parametrize("built_by", [0, 1])
@pytest.mark.usefixtures("path")
def test_cached_program_is_found_whoever_built_it(server: Server, built_by: int) -> None:
    program = _script(servers.cache_folder() / server.cache_names[built_by], "")
    assert find(server) == program
    assert ensure(server, pytest.fail) == program


@pytest.mark.usefixtures("path")
def test_cached_file_that_cannot_run_is_passed_over() -> None:
    _script(servers.cache_folder() / OPA.cache_names[0], "").chmod(0o644)
    assert find(OPA) is None


def test_go_builds_the_pinned_version_before_anything_is_downloaded(path: Path, opa: Server) -> None:
    _script(path / "go", '#!/bin/sh\necho "$@ cgo=$CGO_ENABLED" > "$GOBIN/opa"\n/bin/chmod +x "$GOBIN/opa"\n')
    reports: list[str] = []
    program = ensure(opa, reports.append)
    assert program == servers.cache_folder() / "opa-1.22.0"
    assert program.read_text() == "install -v -trimpath github.com/open-policy-agent/opa@v1.22.0 cgo=0\n"
    assert _kept() == ["opa-1.22.0"]
    assert reports == ["Building opa v1.22.0 with Go; this takes about a minute and a half, once per machine"]


def test_release_is_downloaded_where_the_build_fails(path: Path, opa: Server, releases: Releases) -> None:
    _script(path / "go", "#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
    reports: list[str] = []
    program = ensure(opa, reports.append, context=releases.trust)
    assert subprocess.check_output([program]) == b"downloaded\n"
    assert "no space left" in reports
    assert _kept() == ["opa-1.22.0"]


@pytest.mark.usefixtures("path")
def test_release_is_downloaded_where_there_is_no_go(opa: Server, releases: Releases) -> None:
    assert _download(opa, releases).read_bytes() == PROGRAM
    releases.files.clear()
    assert _download(opa, releases).read_bytes() == PROGRAM, "the second time it comes from the cache"


@pytest.mark.usefixtures("path")
def test_redirect_within_https_is_followed(opa: Server, releases: Releases) -> None:
    releases.files["/elsewhere"] = releases.files.pop(f"/{ASSET}")
    releases.redirects[f"/{ASSET}"] = f"{releases.url}/elsewhere"
    assert _download(opa, releases).read_bytes() == PROGRAM


@pytest.mark.usefixtures("path")
def test_leftover_of_a_killed_download_does_no_harm(opa: Server, releases: Releases) -> None:
    _script(servers.cache_folder() / ".opa-1.22.0.part", "half of an older program, longer than the new one")
    assert _download(opa, releases).read_bytes() == PROGRAM
    assert _kept() == ["opa-1.22.0"]


@pytest.mark.usefixtures("path")
def test_wrong_checksum_is_refused_and_nothing_is_kept(opa: Server, releases: Releases) -> None:
    releases.files[f"/{ASSET}"] += b"# one line more\n"
    assert "publishes" in _refusal(opa, releases)


@pytest.mark.usefixtures("path")
def test_download_that_breaks_off_is_refused(opa: Server, releases: Releases) -> None:
    releases.cut.add(f"/{ASSET}")
    assert f"ended after {len(PROGRAM) // 2} of {len(PROGRAM)} bytes" in _refusal(opa, releases)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("text", [b"", b"<html>busy</html>", b"ab" * 20, b"g" * 64])
def test_checksum_that_is_none_is_refused(opa: Server, releases: Releases, text: bytes) -> None:
    releases.files[f"/{ASSET}{OPA.checksum}"] = text
    assert "holds no SHA-256" in _refusal(opa, releases)


@pytest.mark.usefixtures("path")
def test_redirect_out_of_https_is_refused(opa: Server, releases: Releases) -> None:
    releases.redirects[f"/{ASSET}"] = releases.url.replace("https", "http") + "/elsewhere"
    assert "unknown url type: http" in _refusal(opa, releases)


@pytest.mark.usefixtures("path")
def test_server_with_an_untrusted_certificate_is_refused(opa: Server) -> None:
    with pytest.raises(SetUpError, match="certificate verify failed"):
        ensure(opa, _silent)


@pytest.mark.usefixtures("path")
def test_what_is_missing_is_said_in_one_sentence_with_the_remedy(opa: Server, releases: Releases) -> None:
    releases.files.clear()
    url = f"{releases.url}/{ASSET}{OPA.checksum}"
    assert _refusal(opa, releases) == (
        f"opa 1.22.0 is missing and could not be made (Go is not installed; {url} answered 404 Not Found): "
        "install Go, or put that opa on the PATH, then run the same command again."
    )


@pytest.mark.usefixtures("path")
def test_platform_without_a_release_is_named(opa: Server, releases: Releases) -> None:
    nowhere = dataclasses.replace(opa, assets={})
    assert f"its vendor has no program for {servers.platform_name()}" in _refusal(nowhere, releases)


@pytest.mark.parametrize("server", [OPA, MINIO])
def test_vendor_release_is_known_for_each_platform(server: Server) -> None:
    assert set(server.assets) == {"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}
    assert len(set(server.assets.values())) == 4
    assert server.base_url.startswith("https://")


def test_servers_of_this_machine_are_the_pinned_ones() -> None:
    for server in (OPA, MINIO):
        program = find(server)
        assert program is not None
        assert os.access(program, os.X_OK)
        assert fits(server, program)


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
    assert find_debian(PACKAGE) is None
    program = ensure_debian(PACKAGE, said.append)
    assert program.path.is_relative_to(machine.parent / "cache")
    assert program.env["LD_LIBRARY_PATH"].endswith("usr/lib/x86_64-linux-gnu")
    assert said == ["Fetching some-package with apt, for tests alone; nothing is installed"]
    (machine / "apt-get").unlink()
    assert ensure_debian(PACKAGE, said.append) == program
    assert len(said) == 1


def test_what_the_machine_has_is_taken(machine: Path) -> None:
    own = machine / "some-program"
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o755)
    found = find_debian(PACKAGE)
    assert found is not None
    assert (found.path, found.env) == (own, {})


def test_a_machine_without_apt_is_told_what_to_install(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("apt-get", "dpkg-deb"):
        (machine / name).unlink()
    monkeypatch.setenv("PATH", str(machine))
    with pytest.raises(SetUpError, match="some-program is missing: install some-package"):
        ensure_debian(PACKAGE, lambda _: None)


def test_what_tests_can_do_without_is_left_out_aloud(machine: Path) -> None:
    said: list[str] = []
    bring_if_offered(Package("absent", "none", "usr/bin", on_path=False), said.append)
    assert said[-1].startswith("Tests do without absent: apt could not fetch absent")
    assert list((machine.parent / "cache/countersign/bin").iterdir()) == []


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
