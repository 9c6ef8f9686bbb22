"""Bundles that are sealed again with members changed, as whoever holds the key can."""

import base64
from pathlib import Path

from evidence.statement import Predicate, make_statement
from evidence.zipform import pack, unpack
from receipts import canonical
from tests.unit.evidence_sample import Office


def members_of(path: Path) -> dict[str, bytes]:
    """Return the members of a bundle."""
    with path.open("rb") as stream:
        return dict(unpack(stream).members)


def resealed(office: Office, path: Path, **change: bytes | None) -> Path:
    """Write a bundle again with a member changed, added or (None) left out, as whoever holds the key can."""
    members = members_of(path)
    statement = canonical.loads(base64.b64decode(canonical.loads(members.pop("statement.dsse.json"))["payload"]))
    members = {name: data for name, data in (members | change).items() if data is not None}
    made = make_statement(members, Predicate.model_validate(statement["predicate"]))
    return office.write(pack(members | {"statement.dsse.json": office.sign(made)}))
