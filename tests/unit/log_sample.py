"""A log in memory for tests, and proofs of logs so large that nobody has them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from receipts.checkpoint import sign_checkpoint
from receipts.hashes import EMPTY, CompactRange, Growth, TreeHead, hash_leaf
from receipts.note import Algorithm, Note, NoteSigner, VerifierKey
from receipts.proofs import consistency_proof, inclusion_proof
from receipts.signing import SigningKey
from receipts.tiles import TILE_WIDTH, EntryBundle, bundle_data, tiles_between


def key_of(seed: int) -> SigningKey:
    """Return a key that is the same in every run."""
    return SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


def signer(name: str, seed: int) -> NoteSigner:
    """Return a key that is the same in every run."""
    return NoteSigner(name, key_of(seed))


def vkey(of: NoteSigner) -> VerifierKey:
    """Return its public half, by which a log is known."""
    return of.verifier(Algorithm.ED25519)


def witness_key(of: NoteSigner) -> VerifierKey:
    """Return its public half, by which a witness is known."""
    return of.verifier(Algorithm.COSIGNATURE_V1)


def new_nodes(growth: Growth) -> dict[tuple[int, int], bytes]:
    """Return the nodes that are new, by level and index."""
    return {(row.level, row.first + place): one for row in growth.rows for place, one in enumerate(row.hashes)}


@dataclass
class MemoryLog:
    """A log that keeps every entry and every node."""

    entries: list[bytes] = field(default_factory=list)
    nodes: dict[tuple[int, int], bytes] = field(default_factory=dict)
    range: CompactRange = EMPTY

    def append(self, *entries: bytes) -> "MemoryLog":
        """Let it grow."""
        growth = self.range.append([hash_leaf(entry) for entry in entries])
        self.nodes |= new_nodes(growth)
        self.entries += entries
        self.range = growth.range
        return self

    def node(self, level: int, index: int) -> bytes:
        """Return a node."""
        return self.nodes[level, index]

    def head(self, size: int) -> TreeHead:
        """Return the log as it was at a size, told by its leaves alone."""
        return EMPTY.append([hash_leaf(entry) for entry in self.entries[:size]]).range.head()

    def heads(self) -> list[TreeHead]:
        """Return the log as it was at each size from 0 on, told by its leaves alone."""
        leaves = map(hash_leaf, self.entries)
        grown = accumulate(leaves, lambda before, leaf: before.append([leaf]).range, initial=EMPTY)
        return [one.head() for one in grown]

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return a proof."""
        return inclusion_proof(self.node, index, size)

    def consistency(self, old: int, new: int) -> list[bytes]:
        """Return a proof."""
        return consistency_proof(self.node, old, new)

    def checkpoint(self, by: NoteSigner, size: int) -> Note:
        """Return the log at a size, signed."""
        return sign_checkpoint(by, self.head(size))


def sample_log(size: int, salt: str = "") -> MemoryLog:
    """Return a log of entries of different lengths."""
    return MemoryLog().append(*(f"{salt}entry {number} {'x' * (number % 7)}".encode() for number in range(size)))


LARGE = 70_000


@cache
def large_log() -> MemoryLog:
    """Return a log of LARGE entries, which takes long to make: it stays as it is, and tests make it, no import."""
    return sample_log(LARGE)


def publish(folder: Path, entries: Sequence[bytes], by: NoteSigner, size: int | None = None) -> None:
    """Publish the entries of a log, the first ones where a size is given, with its checkpoint."""
    size = len(entries) if size is None else size
    for one in tiles_between(0, size):
        if isinstance(one, EntryBundle):
            file = folder / one.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bundle_data(entries[one.index * TILE_WIDTH : one.index * TILE_WIDTH + one.width]))
    head = MemoryLog().append(*entries).head(size)
    (folder / "checkpoint").write_bytes(bytes(sign_checkpoint(by, head)))


def far_node(level: int, index: int) -> bytes:
    """Return the node of an endless log whose leaves are all alike: every subtree of a level has one root."""
    del index
    return _ALIKE[level]


_ALIKE = [hash_leaf(b"")]
for _ in range(63):
    _ALIKE.append(EMPTY.append([_ALIKE[-1], _ALIKE[-1]]).range.hashes[0])
