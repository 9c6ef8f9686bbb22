"""Writes the JSON Schemas of policy: of questions, for Rego's compiler, and of a tenant's configuration, for editors.

`python -m tools.policy_schemas` writes them again after a change of the contract or of `shape.rego`; a test compares.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from countersign.embedded.programs import opa_program
from countersign.settings import ROOT, Settings
from policy.contract import Question
from policy.operator_contract import OperatorQuestion

FOLDER = ROOT / "rego/schemas"
_DRAFT = {"$schema": "http://json-schema.org/draft-07/schema#"}
_SHAPE = "data.countersign.effect.shape.tenant"


def schemas(opa: Path) -> dict[str, dict[str, Any]]:
    """Return each schema by the name of its file."""
    return {
        "input.json": _of_model(Question),
        "operator.json": _of_model(OperatorQuestion),
        "tenant.json": {**_DRAFT, "title": "Configuration of a tenant", **_tenant(opa)},
    }


def _of_model(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    return {**_DRAFT, **_flat(schema, schema["$defs"])}


def _flat(schema: Any, definitions: dict[str, Any]) -> Any:
    """Put each definition where it is referred to, and leave out titles, which only pydantic writes."""
    if isinstance(schema, list):
        return [_flat(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _flat(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        name: _flat(value, definitions)
        for name, value in schema.items()
        if name != "$defs" and not (name == "title" and isinstance(value, str))
    }


def _tenant(opa: Path) -> dict[str, Any]:
    """Return the shape by which policy itself checks a configuration."""
    command: list[str | Path] = [opa, "eval", "--format", "raw", "--data", ROOT / "rego/countersign/shape.rego", _SHAPE]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    shape: dict[str, Any] = json.loads(found.stdout)
    return shape


def text(schema: dict[str, Any]) -> str:
    """Return a schema as its file has it."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in schemas(opa_program(Settings())).items():
        (FOLDER / name).write_text(text(schema), encoding="utf-8")
