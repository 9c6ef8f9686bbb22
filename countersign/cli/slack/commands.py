"""`slack`: who may install the app in which workspace, where it is installed, and the keys that keep its tokens."""

from typing import Annotated

import typer

from countersign.cli.acts import By, Reason
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json
from evidence.reading.words import counted

slack = typer.Typer(no_args_is_help=True, help="Have the Slack app installed in workspaces of this tenant.")


@slack.command("install-link")
def install_link(
    by: By,
    reason: Reason,
    hours: Annotated[
        int, typer.Option(min=1, max=720, metavar="NUMBER", help="For how long the link can be used.")
    ] = 24,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a link by which the app can be installed once: the workspace is this tenant's then."""
    from countersign.cli.slack.acting import make_link

    facts = run(make_link(shared_settings("database_url", "public_url"), by, reason, hours))
    if as_json:
        show_json(facts)
    else:
        out.print(facts["link"])
        is_done = facts["status"] == "applied"
        out.print(f"good for one installation within {hours} h" if is_done else "good as soon as a worker runs")


@slack.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List the workspaces in which the app is installed, and those in which it was."""
    from countersign.cli.slack.acting import list_places

    places = run(list_places(shared_settings("database_url")))
    if as_json:
        show_json(places)
    elif not places:
        out.print("nowhere by a link: where COUNTERSIGN_SLACK_BOT_TOKEN is set, it is for one workspace")
    for one in () if as_json else places:
        since = f"installed {one['installed_at']}" if one["installed_at"] else f"{one['why']} {one['removed_at']}"
        out.print(f"{one['team'] or one['enterprise']}  {one['name']}  {since}")


@slack.command()
def manifest() -> None:
    """Print the app's manifest, to paste where the app is made; with COUNTERSIGN_PUBLIC_URL it is told of our links."""
    from countersign.cli.command import own_settings
    from countersign.compose.manifest import manifest_of

    typer.echo(manifest_of(own_settings().public_url), nl=False)


@slack.command("new-key")
def new_key() -> None:
    """Print a fresh key for COUNTERSIGN_SLACK_TOKEN_KEYS."""
    from receipts.vault import new_key as fresh

    out.print(fresh())


@slack.command()
def rekey() -> None:
    """Encrypt all stored tokens anew, with the first of COUNTERSIGN_SLACK_TOKEN_KEYS; the others can go then."""
    from countersign.cli.slack.acting import rekey_tokens

    key_id, count = run(rekey_tokens(shared_settings("database_url", "slack_token_keys")))
    out.print(f"the tokens of {counted(count, 'installation')} are under key {key_id}")
