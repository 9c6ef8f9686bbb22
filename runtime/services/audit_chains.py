"""Whether a chain, a run's or a tenant's own, derives, ends where its row says, and stands in the log."""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from receipts.chain import ChainError, Head, Leaf, in_place, verify_chain
from receipts.errors import ReceiptsError
from runtime.services.audit_findings import Finding
from runtime.store.audit import ChainRows


def leaves_of(rows: ChainRows) -> Sequence[Leaf] | Finding:
    """Return the leaves of a chain, or what is wrong with it."""
    try:
        leaves = [Leaf.model_validate(leaf) for leaf in in_place(rows.chain, rows.leaves)]
        verify_chain(leaves, Head(rows.audit_seq, rows.audit_hash))
    except (ChainError, ValidationError, ReceiptsError) as error:
        return Finding("chain.broken", rows.chain, " ".join(str(error).split()))
    return leaves


def check_spans(rows: ChainRows) -> Iterator[Finding]:
    """Each leaf has, or awaits, one place."""
    expected = 1
    for first, last in sorted([*rows.placed, *rows.waiting]):
        if first > expected:
            yield Finding("leaf.unplaced", f"{rows.chain} leaves {expected} to {first - 1}", "have no place in the log")
        if first < expected:
            yield Finding("leaf.twice", f"{rows.chain} leaf {first}", "has more than one place in the log")
        expected = max(expected, last + 1)
    if expected <= rows.audit_seq:
        where = f"{rows.chain} leaves {expected} to {rows.audit_seq}"
        yield Finding("leaf.unplaced", where, "have no place in the log")
    if expected > rows.audit_seq + 1:
        what = f"ends with leaf {rows.audit_seq}, and the log has {expected - 1} of it"
        yield Finding("chain.cut", rows.chain, what)
