"""Builds a witness from what its command was told: its key, the logs that it knows, and its folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from receipts.log.checkpoint import LogKeys
from receipts.log.keys import Algorithm, NoteSigner, VerifierKey, parse_verifier_key
from receipts.signing import load_or_create
from runtime.clock import Clock
from witness.state import open_state
from witness.witness import Witness


@dataclass(frozen=True)
class Made:
    """A witness that has its folder to itself, and the key by which others know it."""

    witness: Witness
    key: VerifierKey


@contextmanager
def make_witness(name: str, key_file: Path, folder: Path, vkeys: Iterable[str], clock: Clock) -> Iterator[Made]:
    """Give the witness `name` until the block ends; its key is made if absent."""
    logs = logs_of(vkeys)
    signer = NoteSigner(name, load_or_create(key_file))
    key = signer.verifier(Algorithm.COSIGNATURE_V1)
    with open_state(folder, logs) as state:
        yield Made(Witness(signer, logs, state, lambda: int(clock().timestamp())), key)


def logs_of(vkeys: Iterable[str]) -> list[LogKeys]:
    """Return the logs that have these keys; several of one name are the keys of one log."""
    keys: dict[str, list[VerifierKey]] = {}
    for key in map(parse_verifier_key, vkeys):
        keys.setdefault(key.name, []).append(key)
    return [LogKeys(tuple(of_one)) for of_one in keys.values()]
