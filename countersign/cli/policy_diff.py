"""The command `policy diff`: changes between two policies."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import find_one, out, run, show_json
from countersign.cli.options import AsJson
from countersign.cli.policy_options import Packs, folders_of, opa_program
from countersign.cli.policy_versions import policy_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policy.changes import RuleChange

_DIGEST, _VERSION = re.compile(r"[0-9a-f]{8,64}"), re.compile(r"[1-9][0-9]{0,6}")
_Named = "A policy folder, or in the database a version, or the digest (or its beginning) of a policy."


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help=_Named)],
    new: Annotated[str, typer.Argument(metavar="NEW", help=_Named)],
    *,
    packs: Packs = None,
    as_json: AsJson = False,
) -> None:
    """Show the changes between two policies: rules by title, and the configuration with old and new values.

    A limit is marked wider if the new policy permits more, narrower if it permits less.
    """
    from policy.explain import parsed_rules
    from policy.versions import PolicyChanges, ReadPolicy

    opa = opa_program()
    was, now = (ReadPolicy(files, run(parsed_rules(opa, files))) for files in (_files(old, packs), _files(new, packs)))
    found = PolicyChanges(was, now)
    if as_json:
        config = [asdict(one) for one in found.config]
        show_json({"rules": [_rule_json(one) for one in found.rules], "config": config, "files": found.files})
        return
    out.print("\n".join(found.lines() or ["no rule and no configuration changed"]))


def _files(named: str, packs: list[Path] | None) -> "Mapping[str, str]":
    from policy.bundle import read_policy
    from runtime.services.listings import find_policy

    if _VERSION.fullmatch(named) and not Path(named).is_dir():
        return policy_named(named)
    if _DIGEST.fullmatch(named) and not Path(named).is_dir():
        files: Mapping[str, str] = find_one(
            f"single policy in the database with the digest {named}", find_policy, named
        )
        return files
    return read_policy(folders_of(Path(named), packs)).files


def _rule_json(one: "RuleChange") -> dict[str, Any]:
    rule = one.rule
    told = {"path": rule.path, "code": rule.code, "title": rule.title, "file": rule.place.file, "row": rule.place.row}
    return {"change": str(one.kind), **told}
