"""Acts about saved lists of runs: that somebody saved one, with the digest of the ids found then, or deleted it."""

import hashlib
from collections.abc import Iterable

from pydantic import Field

from receipts.acts import Act
from receipts.fields import Identifier, NonEmpty, Sha256Hex


def digest_of_ids(run_ids: Iterable[str]) -> str:
    """Return the SHA-256 of ids as a file of sorted lines has it: ``sort | sha256sum`` gives the same."""
    return hashlib.sha256("".join(f"{run_id}\n" for run_id in sorted(run_ids)).encode()).hexdigest()


class _ListAct(Act):
    """What happens to a saved list; its name is free again once it is deleted."""

    named_by = "list_id"

    list_id: Identifier
    name: NonEmpty


class RunListSaved(_ListAct):
    """A list was saved under a name: the filters that were set, how many runs they found, and the digest of the ids."""

    event = "run_list.saved"

    filters: dict[NonEmpty, NonEmpty]
    runs: int = Field(ge=0)
    sha256: Sha256Hex


class RunListDeleted(_ListAct):
    """A list was deleted; its ids stay on record."""

    event = "run_list.deleted"
