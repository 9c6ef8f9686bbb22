"""The group `subscriptions`: which webhooks hear of which events, and whether deliveries still arrive."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import own_settings, run, shared_settings, show_facts
from countersign.cli.lists import keyed, show_whole, table
from countersign.cli.options import AsJson, Page, page, takes
from evidence.reading.words import counted

subscriptions = typer.Typer()

_COLUMNS = ("name", "on", "target", "sends", "waiting", "dead_letters")


@subscriptions.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of subscriptions.")], *, as_json: AsJson = False
) -> None:
    """Check a file against the secrets of the settings; nothing is sent."""
    from countersign.subscriptions import read_subscriptions

    found = read_subscriptions(file, own_settings().webhook_secrets).subscriptions
    facts = {"file": file, "subscriptions": [one.name for one in found]}
    show_facts(facts, f"{file}: {counted(len(found), 'subscription')}, no faults", as_json=as_json)


@subscriptions.command("list")
@takes(page=page)
def list_(*, as_json: AsJson = False, page: Page) -> None:
    """List subscriptions: whether they are active, and how many deliveries wait or are dead letters."""
    from countersign.connection import looked_up
    from countersign.subscriptions import load_subscriptions
    from runtime.services import listings

    settings = shared_settings("database_url")
    declared = load_subscriptions(settings).of_runtime()
    rows = run(looked_up(settings, listings.list_subscriptions, declared))
    show_whole("subscriptions", rows, page, keyed("name"), table(*_COLUMNS), as_json=as_json)
