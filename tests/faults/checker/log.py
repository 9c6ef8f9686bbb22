"""What has to hold of the audit log, derived anew: places without gap or double, and checkpoints over these leaves."""

from collections.abc import Iterator

from tests.faults.checker.canonical import node_hash
from tests.faults.checker.facts import Facts


def leaves_have_one_place(facts: Facts) -> Iterator[str]:
    """Each leaf stands at one index, or still awaits one; indices have no gap, and nothing else stands there."""
    index = 0
    places: list[tuple[str, int]] = []
    for row in facts.tables["places"]:
        if row["first_index"] != index:
            yield f"nothing stands at index {index} of the log: {row['first_index']} comes next"
        places += [(row["chain"], row["first_seq"] + step) for step in range(row["count"])]
        index = row["first_index"] + row["count"]
    waiting = [
        (row["chain"], seq) for row in facts.tables["waiting"] for seq in range(row["first_seq"], row["last_seq"] + 1)
    ]
    leaves = {(row["run_id"], row["seq"]) for row in facts.tables["leaves"]}
    known = [*places, *waiting]
    if len(known) > len(set(known)):
        yield f"{len(known) - len(set(known))} leaves have more than one place in the log"
    yield from (f"leaf {seq} of {chain} has no place in the log" for chain, seq in sorted(leaves - set(known))[:9])
    gone = sorted(set(known) - leaves)[:9]
    yield from (f"leaf {seq} of {chain} stands in the log and is gone" for chain, seq in gone)


def checkpoints_are_of_the_log(facts: Facts) -> Iterator[str]:
    """What was signed at each size is the root over the leaves that stand there."""
    hashes = {(row["run_id"], row["seq"]): bytes.fromhex(row["hash"]) for row in facts.tables["leaves"]}
    signed = {row["size"]: row["root"] for row in facts.tables["checkpoints"]}
    stack: list[tuple[int, bytes]] = []  # complete subtrees, each with its number of leaves
    size = 0
    for row in facts.tables["places"]:
        for step in range(row["count"]):
            stack.append((1, hashes.get((row["chain"], row["first_seq"] + step), bytes(32))))
            while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
                (width, right), (_, left) = stack.pop(), stack.pop()
                stack.append((2 * width, node_hash(left, right)))
            size += 1
            if size in signed and _folded(stack).hex() != signed[size]:
                yield f"the checkpoint of {size} leaves is over others than stand there"
    yield from (f"a checkpoint is of {over} leaves, and the log has {size}" for over in signed if over > size)


def _folded(stack: list[tuple[int, bytes]]) -> bytes:
    root = stack[-1][1]
    for _, left in reversed(stack[:-1]):
        root = node_hash(left, root)
    return root
