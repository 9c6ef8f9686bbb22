"""The exact text of a policy: read from its folder, or from OPA, and named by its digest."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rfc8785

from policy.model import PolicyText

# What is served. Tests, schemas and the meta-policy stay at home.
ROOTS = ("countersign", "system")
CONFIG = "countersign_config"
CONFIG_FILE = f"{CONFIG}/data.json"


class PolicyError(Exception):
    """A policy folder that cannot be served; the message says what is wrong and where."""


def strict_json(text: str | bytes) -> Any:
    """Parse JSON; refuse members that are named twice and numbers that are none."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"member {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return members


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def policy_text(modules: Mapping[str, str], config: Mapping[str, Any]) -> PolicyText:
    """Return the text of these modules and this configuration, with its digest."""
    files = {**modules, CONFIG_FILE: rfc8785.dumps(dict(config)).decode()}
    return PolicyText(digest=hashlib.sha256(rfc8785.dumps(dict(files))).hexdigest(), files=files)


def read_policy(folder: Path) -> PolicyText:
    """Read what a policy folder serves, or raise PolicyError."""
    modules = {file.relative_to(folder).as_posix(): _read(file) for root in ROOTS for file in _modules(folder / root)}
    if not modules:
        raise PolicyError(f"{folder}: no policies under {' or '.join(ROOTS)}")
    try:
        return policy_text(modules, _config(folder / CONFIG))
    except ValueError as error:
        raise PolicyError(f"{folder / CONFIG}: {error}") from error


def _modules(folder: Path) -> list[Path]:
    # Names with a dot in front are an editor's, and gone in a moment.
    return sorted(file for file in folder.rglob("[!.]*.rego") if not file.name.endswith("_test.rego"))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file}: {error}") from error


def _config(folder: Path) -> dict[str, Any]:
    files = sorted(file for file in folder.rglob("[!.]*") if file.suffix in (".json", ".yaml", ".yml"))
    stray = [file for file in files if file.name != "data.json" or file.parent.parent != folder]
    if stray:
        raise PolicyError(f"{stray[0]}: a tenant's configuration stands in {folder.name}/TENANT/data.json")
    return {file.parent.name: _tenant(file) for file in files}


def _tenant(file: Path) -> Any:
    try:
        return strict_json(_read(file))
    except ValueError as error:
        raise PolicyError(f"{file}: {error}") from error
