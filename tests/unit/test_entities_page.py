"""The page about entities: its examples load together, and it names every operation and every reserved word."""

import re
from pathlib import Path
from typing import Any

from runtime.definitions.entities import RESERVED, Operation
from runtime.definitions.loading.catalog import load_catalog
from runtime.outbox.entities import entity_handlers
from tests.unit.test_definitions_catalog import pack

PAGE = (Path(__file__).parents[2] / "docs" / "entities.md").read_text(encoding="utf-8")
ENTITIES, VERBS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_have_no_problems_and_no_warnings(tmp_path: Path) -> None:
    nobody: Any = None
    catalog = load_catalog([pack(tmp_path, entities_x=ENTITIES, verbs_x=VERBS)], entity_handlers(nobody, {}))
    assert (catalog.problems, catalog.warnings) == ((), ())
    assert list(catalog.entities) == ["desk_case"]


def test_the_page_names_every_operation_and_every_word_that_is_no_field() -> None:
    assert re.findall(r"^\| `(\w+)` \| the id", PAGE, re.MULTILINE) == [*Operation]
    said = next(line for line in PAGE.splitlines() if line.startswith("| `schema` "))
    assert set(re.findall(r"`(\w+)`", said)) - {"schema"} == RESERVED
