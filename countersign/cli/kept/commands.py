"""`evidence repair`: an act on record by a named person."""

from typing import Annotated

import typer

from countersign.cli.acts import By, Reason, act
from countersign.cli.tables import AsJson


def repair(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle is stuck.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Have a stuck bundle tried anew; what took its name in the archive stays there, and it gets another."""
    act(lambda desk: desk.repair(by, run_id, reason), f"the bundle of {run_id} is tried anew", as_json=as_json)
