"""Governed reads in definitions: said only where it is given, and what an author may say of one."""

from pathlib import Path

import pytest

from receipts.canonical import loads
from runtime.definitions.canonical import CanonicalDefinitionError, from_canonical
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.model import Definition
from tests.unit.test_definitions_catalog import HANDLERS, pack, runbook

READ = "{ class: read }"
GOVERNED = '{ class: read, governed: true, tier: medium, target: "company:${params.id}" }'


def definition(folder: Path, effect: str, more: str = "") -> Definition:
    folder.mkdir(exist_ok=True)
    verb = f"""verbs:
  - name: ask
    domain: desk
    description: Ask somebody outside
    execution: {{ kind: sync, handler: "register::look_up" }}
    effect: {effect}
    input_schema: {{ required: [id], properties: {{ id: {{ type: string }} }} }}
{more}"""
    text = runbook(verb="ask").replace("lei: LEI40000000000000000", "id: x")
    catalog = load_catalog([pack(folder, verbs_v=verb, runbooks_r=text)], HANDLERS)
    assert catalog.problems == ()
    return catalog.definitions["probe", 1]


def test_a_definition_says_that_a_read_is_governed_only_where_it_is(tmp_path: Path) -> None:
    plain, governed = (definition(tmp_path / name, effect) for name, effect in (("a", READ), ("b", GOVERNED)))
    assert "governed" not in loads(plain.canonical)["verbs"]["ask"]["effect"]
    assert loads(governed.canonical)["verbs"]["ask"]["effect"] == {
        "class": "read",
        "governed": True,
        "tier": "medium",
        "target": "company:${params.id}",
        "idempotency_key": "read-${run.id}-${step}",
        "in_doubt": "repeat",
        "reversible_by": None,
    }
    assert from_canonical(governed.canonical) == governed
    assert [one.verbs["ask"].passes_gate for one in (plain, governed)] == [False, True]


def test_a_governed_read_may_have_a_card(tmp_path: Path) -> None:
    found = definition(tmp_path, GOVERNED, '    card: { title: "Ask about ${params.id}" }\n')
    assert found.verbs["ask"].card is not None


def test_a_definition_that_says_that_a_read_is_not_governed_is_not_canonical(tmp_path: Path) -> None:
    text = definition(tmp_path, READ).canonical.replace(b'"class":"read",', b'"class":"read","governed":false,')
    with pytest.raises(CanonicalDefinitionError):
        from_canonical(text)
