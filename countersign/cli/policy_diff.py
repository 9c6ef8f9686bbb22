"""The command `policy diff`: changes between two policies."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import find_one, out, run, show_json
from countersign.cli.options import AsJson
from countersign.cli.policy_options import Packs, folders_of, opa_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policy.changes import ConfigChange, RuleChange

_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_Named = "A policy folder, or the digest (or its beginning) of a policy in the database."


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
    from policy.changes import config_changes, file_changes, rule_changes
    from policy.explain import parsed_rules

    was, now = _files(old, packs), _files(new, packs)
    opa = opa_program()
    rules = rule_changes(run(parsed_rules(opa, was)), run(parsed_rules(opa, now)))
    config, files = config_changes(was, now), file_changes(was, now)
    if as_json:
        show_json(
            {"rules": [_rule_json(one) for one in rules], "config": [asdict(one) for one in config], "files": files}
        )
        return
    lines = [*map(_rule_line, rules), *map(_config_line, config)]
    out.print("\n".join(lines or ["no rule and no configuration changed"]))
    if files:
        out.print(f"\nchanged files: {', '.join(files)}")


def _files(named: str, packs: list[Path] | None) -> "Mapping[str, str]":
    from policy.bundle import read_policy
    from runtime.services.listings import find_policy

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


def _rule_line(one: "RuleChange") -> str:
    rule = one.rule
    code = f" ({rule.code})" if rule.code else ""
    return f"{one.kind:<8} {rule.title or rule.path}{code}  {rule.place.file}:{rule.place.row}"


def _config_line(one: "ConfigChange") -> str:
    from countersign.cli.policy_view import shown

    place = ".".join((one.tenant, *one.path))
    return f"{one.direction:<8} {place}: {_value(one.old, shown)} → {_value(one.new, shown)}"


def _value(value: Any, shown: Any) -> str:
    return "nothing" if value is None else str(shown(value))
