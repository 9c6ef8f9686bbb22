"""The page about nodes: each of its examples loads, and runs as the page says."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.definitions.nodes import NodeKind
from runtime.handlers import RefusedError
from tests.bench import Bench, Target, open_bench
from tests.patience import MINUTE

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = dict(re.findall(r"\n## ([^\n]+)\n.*?```yaml\n(.*?)```", (DOCS / "nodes.md").read_text("utf-8"), re.DOTALL))
VERBS = re.findall(r"```yaml\n(.*?)```", (DOCS / "definitions.md").read_text("utf-8"), re.DOTALL)[0]
HEAD = """name: {name}
version: 1
title: An example
trigger:
  type: desk.{name}
  schema:
    properties: {{ lei: {{ type: string }}, case_id: {{ type: uuid }}, due: {{ type: string, format: date-time }} }}
"""
COMPANION = 'steps: [{ id: one, set: { seen: true } }]\noutput: { lei: "${trigger.lei}" }\n'
LEI, OTHER = "5299000J2N45DDNE4Y28", "529900T8BM49AURSDO55"
FOUND = {"company": {"lei": LEI, "subsidiaries": [{"lei": LEI}, {"lei": OTHER}, {"lei": LEI}]}, "complete": True}


@asynccontextmanager
async def desk(
    dsn: str, opa: OpaChild, folder: Path, example: str, register: Target, **whole: str
) -> AsyncIterator[Bench]:
    """Give a bench with an example, with a runbook beside it to start, and with `whole` files of others."""
    runbooks = {"example": example, "companion": COMPANION}
    files = {f"runbooks/{name}.yaml": HEAD.format(name=name) + text for name, text in runbooks.items()}
    files |= {f"runbooks/{name}.yaml": text for name, text in whole.items()}
    for name, text in {**files, "verbs/desk.yaml": VERBS}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    handlers = {
        "register::look_up": register.handler(writes=False),
        **{f"portal::{operation}": Target().handler() for operation in ("request_documents", "close_request")},
    }
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [folder], handlers) as found,
    ):
        yield found


RUNS: dict[str, dict[str, Any]] = {
    "call": {"state": {"why": "refused: no such company", "ended": "failed_handled"}},
    "set and reference": {"output": {"rounds": 1, "reference": f"company:{LEI}"}},
    "Held steps": {},
    "switch": {"state": {"todo": "nothing"}},
    "repeat": {},
    "wait": {"state": {"closed": False}},
    "run and continue_with": {},
    "end": {"outcome": "rejected", "output": {"why": "nobody answered"}},
}


@pytest.mark.parametrize("section", SECTIONS)
async def test_each_example_runs_as_the_page_says(dsn: str, opa: OpaChild, tmp_path: Path, section: str) -> None:
    register = Target(default=FOUND, answers=[RefusedError("no such company")] if section == "call" else [])
    async with desk(dsn, opa, tmp_path, SECTIONS[section], register) as bench:
        run_id = (await bench.start("desk.example", {"lei": LEI, "due": "2026-01-06T09:00:00Z"})).run_id
        await bench.settle()
        for _ in range(8):
            await bench.later(days=1)
        (row,) = await bench.rows("SELECT status, outcome, state, output FROM runs WHERE run_id = %s", run_id)
        assert row["status"] == "succeeded", (await bench.run(run_id))["steps"]
        assert {name: row[name] for name in RUNS[section]} == RUNS[section]


async def test_what_the_example_of_repeats_gives(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with desk(dsn, opa, tmp_path, SECTIONS["repeat"], Target(default=FOUND)) as bench:
        run_id = (await bench.start("desk.example", {"lei": LEI})).run_id
        await bench.settle()
        rows = await bench.rows("SELECT path, result FROM steps WHERE run_id = %s", run_id)
        results = {row["path"]: row["result"] for row in rows}
        assert results["each"] == {"count": 3, "results": [True, True, True]}
        assert results["rounds"] == {"count": 1, "met": True}


def test_every_kind_has_its_section() -> None:
    said = " ".join(SECTIONS)
    assert all(kind in said for kind in NodeKind if kind is not NodeKind.BRANCH)
    assert SECTIONS.keys() == RUNS.keys()
