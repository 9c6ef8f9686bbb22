"""The command `signal`: word to a run, by a name under which a step of it waits."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from countersign.cli.acts import By
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")


def signal(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run to signal.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal's name in the runbook.")],
    by: By,
    data: Annotated[str, typer.Option(metavar="FILE|JSON", help="A JSON object: the step's result.")] = "{}",
    *,
    as_json: AsJson = False,
) -> None:
    """Send a signal to a run: a step that waits for it goes on, and one that comes early is kept."""
    from countersign.cli.operate import perform

    if not _NAME.fullmatch(name):
        raise typer.BadParameter("lower case, digits and _, as runbooks name signals", param_hint="NAME")
    said = _object(data)
    facts = run(perform(shared_settings("database_url"), lambda desk: desk.signal(by, run_id, name, said)))
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        out.print(facts["reason"] or f"{', '.join(wait['step'] for wait in facts['waits'])} of {run_id} goes on")


def _object(given: str) -> dict[str, Any]:
    """Return the JSON object that is given, or stands in the file that is."""
    from countersign.cli.operate import OperateError, expect_recordable, read_json
    from policy.text import strict_json

    if not given.lstrip().startswith(("{", "[", '"')):
        found = read_json(Path(given))
    else:
        try:
            found = strict_json(given)
        except (ValueError, RecursionError) as error:
            raise OperateError(f"--data is not JSON: {error}") from error
    return expect_recordable(found, "--data")
