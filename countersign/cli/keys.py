"""The commands about the keys that sign evidence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import AsJson, out, run, shared_settings, show_json
from evidence.reading.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from receipts.register import Entry

keys = typer.Typer(no_args_is_help=True, help="List, rotate and revoke the keys that sign evidence.")


@keys.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List signing keys, newest last, and what each is still needed for."""
    from countersign.cli.operate import register_of_keys

    register, needed = run(register_of_keys(shared_settings("database_url")))
    if as_json:
        show_json([one.model_dump() for one in register])
    else:
        _show(register, needed)


@keys.command()
def rotate() -> None:
    """Rotate the signing key; bundles begun with the old key are still sealed with it."""
    from countersign.cli.operate import rotate_key

    settings = shared_settings("database_url")
    _show(run(rotate_key(settings)), {})
    out.print(f"key:    {settings.key_path}")


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key, as `keys list` shows it.")],
    why: Annotated[str, typer.Option("--reason", "--why", metavar="TEXT", help="Why; recorded in the register.")],
) -> None:
    """Revoke an earlier key: nothing sealed with it from now on verifies."""
    from countersign.cli.operate import revoke_key

    _show(run(revoke_key(shared_settings("database_url"), key_id, why)), {})


@keys.command()
def export(
    to: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")] = Path("keys.json"),
) -> None:
    """Write the key register for auditors: with the newest key they can verify what earlier keys signed."""
    from countersign.cli.operate import register_of_keys
    from receipts.register import write_register

    register, _ = run(register_of_keys(shared_settings("database_url")))
    to.write_bytes(write_register(register))
    out.print(f"register: {to}")


def _show(register: "Sequence[Entry]", needed: "Mapping[str, int]") -> None:
    for one in register:
        until = f" until {one.until}" if one.until else ""
        state = f", revoked at {one.revoked.at}: {one.revoked.why}" if one.revoked else ""
        count = needed.get(one.id, 0) if one.until else 0
        more = f", needed for {counted(count, 'bundle')} still to be stored" if count else ""
        out.print(f"{one.id}  from {one.since}{until}{state}{more}")
