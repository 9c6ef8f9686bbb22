"""The commands about the keys that sign evidence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import Row, out, run, shared_settings, show_facts
from countersign.cli.lists import keyed, show_whole
from countersign.cli.options import AsJson, By, Page, Reason, output, page, takes
from evidence.reading.words import counted

if TYPE_CHECKING:
    from receipts.register import Entry

keys = typer.Typer()


@keys.command("list")
@takes(page=page)
def list_(*, as_json: AsJson = False, page: Page) -> None:
    """List signing keys, newest last, and what each is still needed for."""
    from countersign.cli.command import find
    from runtime.services.keys import list_keys

    show_whole("keys", _rows(*find(list_keys)), page, keyed("id"), _print_keys, as_json=as_json)


@keys.command()
def rotate(by: By, *, as_json: AsJson = False) -> None:
    """Rotate the signing key; bundles begun with the old key are still sealed with it."""
    from countersign.cli.operate import rotate_key

    settings = shared_settings("database_url")
    rows = _rows(run(rotate_key(settings, by)))
    lines = [*map(_key_text, rows), f"key:    {settings.key_path}"]
    show_facts({"keys": rows, "key": settings.key_path}, *lines, as_json=as_json)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key, as `keys list` shows it.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke an earlier key: nothing sealed with it from now on verifies."""
    from countersign.cli.operate import revoke_key

    rows = _rows(run(revoke_key(shared_settings("database_url"), key_id, by, reason)))
    show_facts({"keys": rows}, *map(_key_text, rows), as_json=as_json)


@keys.command()
def export(
    to: Annotated[Path, output("FILE", "The file to write.")] = Path("keys.json"), *, as_json: AsJson = False
) -> None:
    """Write the key register for auditors: with the newest key they can verify what earlier keys signed."""
    from countersign.cli.command import find
    from countersign.cli.outputs import write_new
    from receipts.register import write_register
    from runtime.services.keys import register_of

    write_new(to, write_register(find(register_of)))
    show_facts({"register": to}, f"register: {to}", as_json=as_json)


def _rows(register: "Sequence[Entry]", needed: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Return the keys with how many bundles that are still to be stored need each that another has followed."""
    counts = needed or {}
    return [{**one.model_dump(), "needed_for": counts.get(one.id, 0) if one.until else 0} for one in register]


def _print_keys(rows: Sequence[Row]) -> None:
    for row in rows:
        out.print(_key_text(row))


def _key_text(row: Row) -> str:
    until = f" until {row['until']}" if row["until"] else ""
    state = f", revoked at {row['revoked']['at']}: {row['revoked']['why']}" if row["revoked"] else ""
    count = row["needed_for"]
    more = f", needed for {counted(count, 'bundle')} still to be stored" if count else ""
    return f"{row['id']}  from {row['from']}{until}{state}{more}"
