"""Help comes at once: to show it, no command imports what only its work needs."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from countersign.cli.app import GROUPS
from countersign.settings import ROOT

_LARGE = (
    *("aiohttp", "alembic", "boto3", "botocore", "cryptography", "fastapi", "jinja2", "psycopg"),
    *("slack_bolt", "slack_sdk", "sqlalchemy", "structlog", "uvicorn", "yaml"),
    *("countersign.settings", "countersign.connection", "runtime.engine"),
)
"""Pydantic is not among them: the library of commands reads options by it."""
_LARGE_FOR_LISTS = (
    *("aiohttp", "alembic", "boto3", "cryptography", "fastapi", "slack_sdk", "sqlalchemy", "yaml"),
    *("policy.contract", "receipts.tenant_acts", "runtime.engine", "runtime.services.operator"),
    *("runtime.handlers", "runtime.model.commands", "runtime.store.metrics"),
)
_LARGE_FOR_READERS = (
    *("aiohttp", "alembic", "boto3", "fastapi", "jinja2", "jsonschema", "slack_bolt", "slack_sdk", "sqlalchemy"),
    *("webauthn", "bot.app", "evidence.sealer", "runtime.engine", "runtime.inbox.inbox", "runtime.model.commands"),
    *("policy.contract", "runtime.handlers", "runtime.services.operator", "runtime.worker"),
)
"""Other lists, and a run in full, read records as they are on record, which takes the forms of these."""
_AWAY = "postgresql://nobody@127.0.0.1:1/nothing"
_READERS = {
    "runs show run_x": "runtime.services.run_in_full",
    "tasks list": "runtime.services.approval_rows",
    "tasks show task_x": "runtime.services.approval_rows",
    "people list": "runtime.services.people",
    "people show alice": "runtime.services.people",
    "people passkeys list": "runtime.services.people",
    "keys list": "runtime.services.keys",
    "definitions list": "runtime.services.definition_views",
    "slack list": "runtime.services.installations",
    "subscriptions list": "countersign.subscriptions",
    "evidence list": "runtime.services.bundles",
    "evidence holds": "runtime.services.listings",
    "metrics": "runtime.services.metrics",
}
"""What each command reads by."""


def _imported(names: Sequence[str], words: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Run a command; return what it says, and which of the modules it has imported."""
    script = f"""
import sys
from countersign.cli.app import main
try:
    main()
finally:
    print("imported:", *(name for name in {list(names)!r} if name in sys.modules))
"""
    arguments = [sys.executable, "-c", script, *words]
    told = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    said, _, found = told.stdout.rpartition("imported:")
    return said + told.stderr, found.strip()


@pytest.mark.parametrize("words", [(), *((name,) for name in GROUPS)], ids=" ".join)
def test_help_imports_nothing_large(words: tuple[str, ...]) -> None:
    said, found = _imported(_LARGE, [*words, "--help"])
    assert ("Commands" in said, found) == (True, "")


def test_a_group_is_imported_when_it_is_asked_for_and_no_other() -> None:
    apart = [f"countersign.cli.{module}" for module, _ in GROUPS.values() if module not in ("log", "run_commands")]
    assert _imported(apart, ["keys", "--help"])[1] == "countersign.cli.keys"


@pytest.mark.parametrize("noun", ["runs", "waits", "effects", "steps", "dead-letters"])
def test_lists_of_operators_import_what_reads_rows_and_nothing_that_acts(noun: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "COUNTERSIGN_HOME": str(tmp_path)}
    said, found = _imported(["runtime.store.operator_lists", *_LARGE_FOR_LISTS], [noun, "list"], env)
    assert ("nothing runs here" in said, found) == (True, "runtime.store.operator_lists")


@pytest.mark.parametrize(("words", "reader"), _READERS.items())
def test_what_only_reads_imports_nothing_that_acts_or_serves(words: str, reader: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "COUNTERSIGN_HOME": str(tmp_path), "COUNTERSIGN_DATABASE_URL": _AWAY}
    said, found = _imported([reader, *_LARGE_FOR_READERS], words.split(), env)
    assert ("the database cannot be used" in said, found) == (True, reader)


def test_as_a_command_ends_python_looks_for_no_garbage_in_what_was_imported() -> None:
    script = """
import atexit, gc
atexit.register(lambda: print("frozen:", gc.get_freeze_count() > 0))
from countersign.cli.app import main
main()
"""
    told = subprocess.run(
        [sys.executable, "-c", script, "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.stdout.splitlines()[1:] == ["frozen: True"]
