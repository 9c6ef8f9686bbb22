"""The group `definitions`: what the packs declare, which versions there are, what changes, and what starts."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import Row, out, shared_settings, show_facts, show_json, show_rows
from countersign.cli.lists import show_list, table
from countersign.cli.options import AsJson, Between, By, Page, Reason, between, page, takes
from evidence.reading.words import counted
from runtime.model.states import DefinitionStatus

if TYPE_CHECKING:
    from runtime.definitions.diff import Change


_LIST_COLUMNS = ("name", "version", "status", "trigger_type", "changed_by", "changed_at", "digest")
_MOVE_COLUMNS = ("at", "event", "by", "run_id")


@takes(changed=between, page=page)
def list_(
    name: Annotated[str | None, typer.Option("--definition", metavar="NAME", help="Only this runbook.")] = None,
    status: Annotated[
        DefinitionStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(DefinitionStatus)}.")
    ] = None,
    trigger: Annotated[str | None, typer.Option(metavar="TYPE", help="Only what this trigger may start.")] = None,
    *,
    as_json: AsJson = False,
    changed: Between,
    page: Page,
) -> None:
    """List the versions of runbooks by name, the newest first: the status of each, and who changed it last."""
    from countersign.cli.command import find
    from runtime.services.definition_views import Sought, list_versions

    sought = Sought(
        **vars(changed),
        name=name,
        status=status,
        trigger=trigger,
        after=_version_after(page.after),
        limit=page.limit + 1,
    )
    rows = find(list_versions, sought)
    show_list("versions", rows, page, _key, table(*_LIST_COLUMNS), as_json=as_json)


def _key(row: Row) -> str:
    return f"{row['name']}:{row['version']}"


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The runbook.")],
    version: Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="Default: the newest.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show a version: its status, who changed it and when, its digest, and its content."""
    import yaml

    from countersign.cli.command import find
    from runtime.services.definition_views import show_version

    found = find(show_version, name, version)
    if as_json:
        show_json(found)
        return
    out.print(f"{found['name']} version {found['version']} is {found['status']}\ndigest {found['digest']}")
    if found["moves"]:
        show_rows(found["moves"], _MOVE_COLUMNS)
    out.print()
    out.print(yaml.safe_dump(found["definition"], sort_keys=False, allow_unicode=True, width=_YAML_WIDTH).rstrip())


_YAML_WIDTH = 120


def _version_after(after: str | None) -> tuple[str, int] | None:
    if after is None:
        return None
    name, _, version = after.rpartition(":")
    if not (name and version.isascii() and version.isdecimal()):
        raise typer.BadParameter(f"{after} is not NAME:VERSION", param_hint="--after")
    return name, int(version)


definitions = typer.Typer()
definitions.command("list")(list_)
definitions.command("show")(show)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The runbook.")]
Version = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Which of its versions.")]


@definitions.command()
def check(*, as_json: AsJson = False) -> None:
    """Check the packs' files; list what they declare, and each warning and error with its place."""
    from countersign.engine import validated_catalog

    catalog = validated_catalog(shared_settings())
    found: list[dict[str, Any]] = [
        {"name": name, "version": version, "digest": one.digest, "steps": len(one.steps)}
        for (name, version), one in sorted(catalog.definitions.items())
    ]
    warnings, problems = list(map(str, catalog.warnings)), list(map(str, catalog.problems))
    show_facts(
        {"definitions": found, "warnings": warnings, "problems": problems},
        *(f"{one['name']} v{one['version']}  {one['digest'][:12]}  {counted(one['steps'], 'step')}" for one in found),
        *(f"warning: {warning}" for warning in warnings),
        *problems,
        as_json=as_json,
    )
    raise typer.Exit(1 if catalog.problems else 0)


@definitions.command()
def diff(
    name: Name,
    version: Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="Default: the newest.")] = None,
    against: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="VERSION", help="The version to compare with; default: the newest other active one."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show what a version adds, removes and changes."""
    from countersign.cli.command import find
    from runtime.services.definition_views import compare

    found = find(compare, name, version, against)
    if as_json:
        sides = {"name": name, "from": found.before and found.before.version, "to": found.after.version}
        show_json({**sides, "changes": [_change_json(change) for change in found.changes]})
        return
    for sign, life in (("---", found.before), ("+++", found.after)):
        out.print(f"{sign} {life}  {life.status}  {life.digest}" if life else f"{sign} nothing")
    for change in found.changes:
        for line in change.lines():
            out.print(line)
    out.print(counted(len(found.changes), "change"))


@definitions.command()
def activate(
    name: Name,
    version: Version,
    by: By,
    reason: Reason,
    *,
    beside: Annotated[
        bool, typer.Option("--beside", help="Add it to the active versions instead of replacing them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Activate a version for new runs, once policy, and approvers where it asks for them, have agreed."""
    from countersign.cli.activations import move

    told = f"{name} version {version} is active"
    move(lambda desk: desk.activate(by, name, version, reason, beside=beside), told, as_json=as_json)


@definitions.command()
def retire(name: Name, version: Version, by: By, reason: Reason, *, as_json: AsJson = False) -> None:
    """Deactivate a version: no new run starts with it; existing runs continue."""
    from countersign.cli.activations import move

    told = f"{name} version {version} is retired"
    move(lambda desk: desk.retire(by, name, version, reason), told, as_json=as_json)


def _change_json(change: "Change") -> dict[str, Any]:
    before, after = (None if side is None else json.loads(side) for side in (change.before, change.after))
    return {"path": change.path, "kind": change.kind, "before": before, "after": after}
