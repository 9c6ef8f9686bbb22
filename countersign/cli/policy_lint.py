"""The command `policy lint`: what is well-formed but surely not meant."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import attached_settings, out, run, show_json
from countersign.cli.options import AsJson
from countersign.cli.policy_options import Core, Packs, folders_of, opa_program

if TYPE_CHECKING:
    from countersign.policy_lint import Lint, Linted
    from countersign.settings import Settings

_CANNOT_LOOK = 2


def lint(
    core: Core = None,
    *,
    packs: Packs = None,
    last: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Look for rules that never fired in the last decisions.")
    ] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Find what is well-formed but surely not meant: requirements that nobody can meet, rules that never fire.

    Uses the directory and the decisions of a database if there is one, and says what was left out. Exits with 1 if
    anything is found, with 2 if the policy cannot be read.
    """
    settings = attached_settings()[0]
    looked = _look(core, packs, settings)
    found = looked.of_files()
    beside = _of_database(looked, settings, last)
    findings, notes = sorted([*found.findings, *beside.findings]), [*found.notes, *beside.notes]
    if as_json:
        show_json({"findings": [asdict(one) for one in findings], "notes": notes})
    else:
        notes = [f"note: {one}" for one in notes]
        out.print("\n".join([*map(str, findings), *([] if findings else ["nothing was found"]), *notes]))
    raise typer.Exit(1 if findings else 0)


def _look(core: Path | None, packs: list[Path] | None, settings: "Settings") -> "Lint":
    """Return the lint of a policy, or exit with 2 and one sentence where it cannot be read."""
    from countersign.foreseen_errors import OperateError
    from countersign.policy_lint import Lint
    from policy.errors import PolicyError
    from runtime.clock import utc_now

    try:
        return Lint(opa_program(), folders_of(core, packs), settings, utc_now())
    except (OperateError, PolicyError) as error:
        sys.stderr.write(f"countersign: {error}\n")
        raise typer.Exit(_CANNOT_LOOK) from error


def _of_database(looked: "Lint", settings: "Settings", last: int) -> "Linted":
    from countersign.connection import DatabaseError
    from countersign.policy_lint import Linted, without_database

    if settings.database_url is None:
        return Linted(notes=[without_database("no database is named")])
    try:
        return run(looked.of_database(last))
    except DatabaseError as error:
        return Linted(notes=[without_database(str(error))])
