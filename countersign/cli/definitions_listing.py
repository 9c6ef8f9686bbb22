"""`definitions list` and `definitions show`."""

from typing import Annotated, Any

import typer
import yaml

from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json, show_rows
from evidence.reading.words import counted
from runtime.model.states import DefinitionStatus

_LISTED = ("name", "version", "status", "trigger_type", "changed_by", "changed_at", "digest")
_MOVED = ("at", "event", "by", "run_id")


def list_(
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only this runbook.")] = None,
    status: Annotated[
        DefinitionStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(DefinitionStatus)}.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Maximum number of rows.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="NAME:VERSION", help="Continue the list after this version.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the versions of runbooks by name, the newest first: where each stands, and who moved it last."""
    from countersign.cli.operate import looked_up
    from runtime.services.definitions_showing import Sought, list_versions

    sought = Sought(name, status, _place(after), limit + 1)
    found = run(looked_up(shared_settings("database_url"), list_versions, sought))
    rows = found[:limit]
    if rows or as_json:
        show_rows(rows, _LISTED, as_json=as_json)
    if as_json:
        return
    if len(found) > limit:
        out.print(f"There are more: --after {rows[-1]['name']}:{rows[-1]['version']}")
    else:
        out.print(counted(len(rows), "version"))


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The runbook.")],
    version: Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="Default: the newest.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show a version: where it stands, who moved it and when, its digest, and all that it says."""
    from countersign.cli.definitions_looking import looked_up
    from runtime.services.definitions_showing import show_version

    found: dict[str, Any] = run(looked_up(shared_settings("database_url"), show_version, name, version))
    if as_json:
        show_json(found)
        return
    out.print(f"{found['name']} version {found['version']} is {found['status']}\ndigest {found['digest']}")
    if found["moves"]:
        show_rows(found["moves"], _MOVED, as_json=False)
    out.print()
    out.print(yaml.safe_dump(found["definition"], sort_keys=False, allow_unicode=True, width=_WIDTH).rstrip())


_WIDTH = 120


def _place(after: str | None) -> tuple[str, int] | None:
    if after is None:
        return None
    name, _, version = after.rpartition(":")
    if not (name and version.isascii() and version.isdecimal()):
        raise typer.BadParameter(f"{after} is not NAME:VERSION", param_hint="--after")
    return name, int(version)
