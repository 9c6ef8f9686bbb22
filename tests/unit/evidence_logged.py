"""The sample run in a log in which others' leaves stand around it, for tests that sign, publish and bend that log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evidence.build import Dossier
from evidence.log_proofs import LogProof, Span
from evidence.verify.trust import Trust
from receipts.log.checkpoint import LogKeys, sign_checkpoint
from receipts.log.hashes import EMPTY, CompactRange, TreeHead
from receipts.log.note import NoteSigner
from receipts.log.proofs import prove_inclusion
from receipts.log.tiles import Tile, tile_data, tiles_between
from receipts.signing import load_public
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office
from tests.unit.log_sample import new_nodes, signer, vkey

LOG, OTHER = signer("countersign/acme", 7), signer("countersign/acme", 8)
BEFORE, BEHIND = [bytes([number]) * 32 for number in range(1, 6)], [bytes([9]) * 32]
SPLIT = 3
"""Leaves of the run that stand before others come between."""


@dataclass
class Grown:
    """A log of hashes, with all of its nodes."""

    range: CompactRange = EMPTY
    nodes: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def append(self, hashes: Sequence[bytes]) -> TreeHead:
        """Let it grow; return its head."""
        growth = self.range.append(hashes)
        self.nodes |= new_nodes(growth)
        self.range = growth.range
        return self.range.head()

    def node(self, level: int, index: int) -> bytes:
        """Return a node."""
        return self.nodes[level, index]

    def publish(self, folder: Path, old: int = 0) -> Path:
        """Write the tiles that it has, and had not when it was of the old size, into a folder; return that."""
        for place in tiles_between(old, self.range.size):
            if isinstance(place, Tile):
                file = folder / place.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(tile_data(place, self.node))
        return folder


def run_in_log() -> tuple[Grown, Dossier]:
    """Return the log when the run was sealed, and the run, proven by it."""
    dossier, grown = bound().dossier(), Grown()
    hashes = [bytes.fromhex(leaf["hash"]) for leaf in dossier.leaves]
    head = grown.append([*BEFORE[:2], *hashes[:SPLIT], *BEFORE[2:], *hashes[SPLIT:], *BEHIND])
    places = [Span(first_seq=1, count=SPLIT, first_index=2)]
    places += [Span(first_seq=SPLIT + 1, count=len(hashes) - SPLIT, first_index=5 + SPLIT)]
    indices = [span.first_index + step for span in places for step in range(span.count)]
    proof = prove_inclusion(grown.node, indices, head.size)
    return grown, replace(dossier, log=LogProof(checkpoint(head), places, proof))


def logged(change: Callable[[LogProof], LogProof] = lambda proof: proof) -> Dossier:
    """Return the run in its log after a change of its proof."""
    _, dossier = run_in_log()
    assert dossier.log is not None
    return replace(dossier, log=change(dossier.log))


def checkpoint(head: TreeHead, by: NoteSigner = LOG) -> str:
    """Return a signed checkpoint."""
    return bytes(sign_checkpoint(by, head)).decode()


def trusted(office: Office, *log: NoteSigner) -> Trust:
    """Return the trust of somebody who has the office's key, and keys of the log."""
    return Trust(load_public(office.public), log=LogKeys(tuple(map(vkey, log))) if log else None)
