"""`people passkeys`: who signs with which passkey; invitations and revocations are on record by a named person."""

import secrets
from typing import Annotated

import typer

from countersign.cli.acts import By, Reason, act
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json, show_rows

passkeys = typer.Typer(no_args_is_help=True, help="Invite people to register passkeys; list and revoke passkeys.")

_PASSKEY = ("credential_id", "person", "registered_at", "invited_by", "revoked_at", "revoked_by", "revoked_reason")


@passkeys.command()
def invite(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="The person's directory id; not yours.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Print a link with which one person registers a passkey: give it only to them. It works once, within a day."""
    from countersign.cli.operate import perform
    from countersign.settings import required
    from runtime.services.signing_counter import PATH, id_of

    settings, token = shared_settings("database_url"), secrets.token_urlsafe(32)
    link = f"{required(settings, 'public_url')}{PATH}{token}"
    facts = run(perform(settings, lambda desk: desk.invite_passkey(by, person, id_of(token), reason)))
    if as_json:
        show_json({**facts, "link": link})
        return
    if facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: the link works once a worker has run")
    typer.echo(link)


@passkeys.command("list")
def list_(
    person: Annotated[str | None, typer.Option(metavar="PERSON", help="Only one person's.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List passkeys, newest first, including revoked ones."""
    from countersign.cli.operate import looked_up
    from runtime.services.people_looking import list_passkeys

    show_rows(run(looked_up(shared_settings("database_url"), list_passkeys, person)), _PASSKEY, as_json=as_json)


@passkeys.command(context_settings={"ignore_unknown_options": True})  # an id may begin with a dash
def revoke(
    passkey: Annotated[str, typer.Argument(metavar="PASSKEY", help="Its id, from `people passkeys list`.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke a passkey; what it has signed stays valid."""
    act(lambda desk: desk.revoke_passkey(by, passkey, reason), f"{passkey} is revoked", as_json=as_json)
