"""The group `subscriptions`: which webhooks hear of which events, and whether deliveries still arrive."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import AsJson, out, own_settings, run, shared_settings, show_rows
from evidence.reading.words import counted

subscriptions = typer.Typer(no_args_is_help=True, help="Check and list subscriptions: webhooks that get run events.")

_COLUMNS = ("name", "on", "target", "sends", "waiting", "dead_letters")


@subscriptions.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of subscriptions.")]) -> None:
    """Check a file against the secrets of the settings; nothing is sent."""
    from countersign.subscriptions import read_subscriptions

    found = read_subscriptions(file, own_settings().webhook_secrets).subscriptions
    out.print(f"{file}: {counted(len(found), 'subscription')}, no faults")


@subscriptions.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List subscriptions: whether they are active, and how many deliveries wait or are dead letters."""
    from countersign.cli.operate import looked_up
    from countersign.subscriptions import make_subscriptions
    from runtime.services import listings

    settings = shared_settings("database_url")
    declared, _ = make_subscriptions(settings)
    rows = run(looked_up(settings, listings.list_subscriptions, declared))
    show_rows(rows, _COLUMNS, as_json=as_json)
