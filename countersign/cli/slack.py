"""`slack`: who may install the app in which workspace, where it is installed, and the keys that keep its tokens."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from countersign.cli.command import Row, moment_text, out, run, shared_settings, show_facts, show_json
from countersign.cli.lists import show_whole
from countersign.cli.options import AsJson, By, Page, Reason, page, takes
from evidence.reading.words import counted

slack = typer.Typer()


@slack.command("install-link")
def install_link(
    by: By,
    reason: Reason,
    hours: Annotated[int, typer.Option(min=1, max=720, metavar="NUMBER", help="How long the link works.")] = 24,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a link that installs the app once, in a workspace that then belongs to this tenant."""
    from countersign.cli.installations import make_link

    facts = run(make_link(shared_settings("database_url", "public_url"), by, reason, hours))
    if as_json:
        show_json(facts)
    else:
        out.print(facts["link"])
        is_done = facts["status"] == "applied"
        out.print(f"for one installation within {hours} h" if is_done else "works once a worker has run")


@slack.command("list")
@takes(page=page)
def list_(*, as_json: AsJson = False, page: Page) -> None:
    """List the workspaces in which the app is or was installed."""
    from countersign.cli.command import find
    from runtime.services.installations import places

    show_whole("installations", find(places), page, _key, _print_places, as_json=as_json)


def _key(place: Row) -> str:
    since: datetime = place["installed_at"] or place["removed_at"]
    return f"{place['team'] or place['enterprise']}:{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _print_places(places: Sequence[Row]) -> None:
    if not places:
        out.print("nowhere by a link: where COUNTERSIGN_SLACK_BOT_TOKEN is set, it is for one workspace")
    for one in places:
        since = one["installed_at"] or one["removed_at"]
        why = "installed" if one["installed_at"] else one["why"]
        out.print(f"{one['team'] or one['enterprise']}  {one['name']}  {why} {moment_text(since)}")


@slack.command()
def manifest() -> None:
    """Print the app's manifest to paste into Slack; with COUNTERSIGN_PUBLIC_URL it includes our links."""
    from countersign.cli.command import own_settings
    from countersign.slack import manifest_of

    typer.echo(manifest_of(own_settings().public_url), nl=False)


@slack.command("new-key")
def new_key(*, as_json: AsJson = False) -> None:
    """Print a new key for COUNTERSIGN_SLACK_TOKEN_KEYS."""
    from receipts.vault import new_key as fresh

    key = fresh()
    show_facts({"key": key}, key, as_json=as_json)


@slack.command()
def rekey(by: By, *, as_json: AsJson = False) -> None:
    """Re-encrypt all stored tokens with the first of COUNTERSIGN_SLACK_TOKEN_KEYS; the others can then be removed."""
    from countersign.cli.installations import rekey_tokens

    key_id, count = run(rekey_tokens(shared_settings("database_url", "slack_token_keys"), by))
    text = f"the tokens of {counted(count, 'installation')} are under key {key_id}"
    show_facts({"key_id": key_id, "installations": count}, text, as_json=as_json)
