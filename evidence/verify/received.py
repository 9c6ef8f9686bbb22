"""What steps that read got, by the records that say so: a read record, or where the read is governed a receipt."""

from collections.abc import Collection
from dataclasses import dataclass

from evidence import names
from evidence.reading.paths import address_of
from evidence.verify.contents import Contents
from receipts.chain import READ_RECORDED, RECEIPT_WRITTEN, Leaf
from receipts.model import Receipt
from receipts.piecewise import member


@dataclass(frozen=True)
class Got:
    """What a step got: the line of the chain, the record that says so, and the commitment; None for nothing."""

    seq: int
    id: str
    got: str | None


def what_steps_got(contents: Contents) -> dict[str, Got]:
    """Return what each step that reads got, by its newest record."""
    return {
        **_recorded(contents, reading(contents, governed=False)),
        **_received(contents, reading(contents, governed=True)),
    }


def is_read(contents: Contents, verb: str, *, governed: bool = False) -> bool:
    """Return whether a verb of the definition reads: a timer is of class `read`, too, and asks nobody."""
    found = contents.definition.verbs.get(verb)
    if found is None or found.effect.kind != "read" or found.execution.wait == "timer":
        return False
    return found.effect.governed == governed


def reading(contents: Contents, *, governed: bool) -> set[str]:
    """Return the addresses of the steps that read."""
    return {step.id for step in contents.definition.steps if is_read(contents, step.verb, governed=governed)}


def named_reads(contents: Contents) -> list[tuple[Leaf, str]]:
    """Return the leaves that name read records, in the chain's order, each with the member."""
    return [
        (leaf, names.numbered(names.READS, number, str(leaf.data.get("read_id"))))
        for number, leaf in enumerate(contents.leaves_of(READ_RECORDED), start=1)
    ]


def _recorded(contents: Contents, addresses: Collection[str]) -> dict[str, Got]:
    """Return what the newest read record of each step at these addresses says."""
    found = ((leaf.seq, contents.reads[name]) for leaf, name in named_reads(contents))
    return {
        read.step: Got(seq, read.read_id, read.response.commitment if read.response else None)
        for seq, read in found
        if address_of(read.step) in addresses
    }


def _received(contents: Contents, addresses: Collection[str]) -> dict[str, Got]:
    """Return what the newest receipt of each step at these addresses says that it got."""
    found = (
        (leaf.seq, contents.receipts[names.numbered(names.RECEIPTS, number, str(leaf.data.get("receipt_id")))])
        for number, leaf in enumerate(contents.leaves_of(RECEIPT_WRITTEN), start=1)
    )
    return {
        receipt.step: Got(seq, receipt.receipt_id, _commitment(receipt))
        for seq, receipt in found
        if address_of(receipt.step) in addresses
    }


def _commitment(receipt: Receipt) -> str | None:
    got = member(receipt.response, "commitment") if receipt.outcome == "success" else None
    return got if isinstance(got, str) else None
