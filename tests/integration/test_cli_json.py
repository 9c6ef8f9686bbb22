"""What programs get of commands that look: one JSON object, whose moments are in UTC, and nothing beside it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.program_stage import command, environment, settings_of
from tests.unit.test_cli_rules import LEAVES

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_DAYS = ("--since", "2026-01-01", "--until", "2026-12-31")
_WORDS: dict[str, tuple[str, ...]] = {
    **{path: () for path in LEAVES if path.endswith(" list")},
    **dict.fromkeys(("definitions check", "metrics", "config", "case", "log key", "log verify", "keys export"), ()),
    **dict.fromkeys(("evidence holds", "evidence page", "slack new-key", "doctor"), ()),
    "evidence approvals": _DAYS,
    "evidence exceptions": _DAYS,
    "definitions show": ("bench-file",),
    "definitions diff": ("bench-file",),
    "people show": ("ann",),
    "runs show": ("RUN",),
    "runs replay": ("RUN",),
    "runs undo": ("RUN", "--as", "omar", "--reason", "x"),
    "runs cancel": ("--definition", "bench-file", "--as", "omar", "--reason", "x"),
}


@dataclass
class Looked:
    """A bench with what every list tells of, and the settings of who looks."""

    env: dict[str, str]
    run_id: str


@pytest.fixture
async def looked(bench: Bench, targets: Targets, dsn: str, opa: OpaChild, tmp_path: Path) -> Looked:
    await bench.start("bench.wait", {"case": "C1"}, ref="waits")
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"}, ref="files")).run_id
    await bench.settle()
    await bench.click("ann", await bench.approval_id())
    await bench.complete("acme:await_answer:C9", {"answer": "yes"}, "dead", token="wait_0.tok_0")
    return Looked(environment(settings_of(dsn, opa.url, tmp_path)), run_id)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _texts(one)
    if isinstance(value, str):
        yield value


async def test_each_command_that_looks_prints_one_object_whose_moments_are_in_utc(
    looked: Looked, tmp_path: Path
) -> None:
    told = {}
    for path, words in _WORDS.items():
        given = [looked.run_id if word == "RUN" else word for word in words]
        to = ("-o", str(tmp_path / path)) if path in ("keys export", "evidence page") else ()
        done = await command(*path.split(), *given, *to, "--json", env=looked.env)
        assert (done.code in (0, 1), done.err) == (True, ""), path
        told[path] = json.loads(done.out)
        assert isinstance(told[path], dict), path
        local = [one for one in _texts(told[path]) if _MOMENT.match(one) and not one.endswith("Z")]
        assert local == [], path
    full = {path: found for path, found in told.items() if path.endswith(" list")}
    assert {path for path, found in full.items() if not any(map(bool, found.values()))} == {
        *("keys list", "people passkeys list", "policy list", "slack list", "steps list", "subscriptions list"),
        "tasks list",
    }
    assert all(found["next"] is None for found in full.values())
