"""Reads: each attempt has a record that fits the definition and the chain, and costs add up.

What steps that read got is told by a read record, or where the read is governed by a receipt.
"""

from collections.abc import Collection
from dataclasses import dataclass

from evidence import names
from evidence.reading.step_paths import address_of
from evidence.run_record import costs_member
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.members import check_named
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.step_repairs import supplied_steps
from receipts.chain import READ_RECORDED, RECEIPT_WRITTEN, Leaf
from receipts.piecewise import member
from receipts.receipt import Receipt
from receipts.usage import ReadRecord


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


@rule(
    "reads.on-record",
    "The `read.recorded` leaves name each read record with its digest, in the order of their numbers, and no others.",
)
def _on_record(facts: Facts) -> str:
    reads = facts.contents.reads
    check_named(facts.contents, READ_RECORDED, "read_id", {name: read.read_id for name, read in reads.items()})
    return counted(len(reads), "read")


@rule(
    "reads.in-place",
    "A read record's `run_id` and `tenant` are the run's. Its step has its verb in the definition, that verb is of"
    " class `read`, not governed and no timer, and its handler is the verb's. Its `finished_at` is its leaf's `at`,"
    " and not before its `started_at`; its step is the leaf's. It has a response if, and only if, it says `success`."
    " The attempts of a step are counted upwards, and none follows a success.",
)
def _in_place(facts: Facts) -> str:
    contents = facts.contents
    last: dict[str, ReadRecord] = {}
    for leaf, name in named_reads(contents):
        read = contents.reads[name]
        _check_place(contents, name, read)
        if leaf.correlation.step != read.step or leaf.at != read.finished_at or read.started_at > read.finished_at:
            raise BrokenError(name, f"its step or its time is not that of {names.AUDIT} line {leaf.seq}")
        if (read.outcome == "success") != (read.response is not None):
            raise BrokenError(name, f"says {read.outcome}, and has a response where it must not, or none where it must")
        before = last.get(read.step)
        if before is not None and (before.attempt >= read.attempt or before.outcome == "success"):
            raise BrokenError(name, f"cannot follow the attempt in {before.read_id}")
        last[read.step] = read
    return counted(len(contents.reads), "read")


@rule(
    "reads.done",
    "A `step.succeeded` of a step that reads follows a read record of it that says `success`, or where the read is"
    " governed a receipt; and its `result` is the commitment of that one's response; or somebody supplied it.",
)
def _done(facts: Facts) -> str:
    return counted(count_done(facts.contents), "step")


def count_done(contents: Contents) -> int:
    """Return how many steps succeeded that read; raise unless each has its record, with that result."""
    done = what_steps_got(contents)
    reads = reading(contents, governed=False) | reading(contents, governed=True)
    given = supplied_steps(contents)
    succeeded = [
        leaf
        for leaf in contents.leaves_of("step.succeeded")
        if address_of(str(leaf.correlation.step)) in reads and str(leaf.correlation.step) not in given
    ]
    for leaf in succeeded:
        read = done.get(str(leaf.correlation.step))
        if read is None or read.got is None or read.seq > leaf.seq:
            raise BrokenError(
                names.AUDIT, f"line {leaf.seq}: step {leaf.correlation.step} succeeded, and no record says that it read"
            )
        if read.got != leaf.data.get("result"):
            raise BrokenError(names.AUDIT, f"line {leaf.seq}: its result is not what {read.id} got")
    return len(succeeded)


@rule("costs.sum", "`costs.json` is, byte for byte, what the read records and the receipts add up to.")
def _costs(facts: Facts) -> str:
    contents = facts.contents
    records = (*contents.reads.values(), *contents.receipts.values())
    if contents.member(names.COSTS) != costs_member(record.model_dump(include={"told"}) for record in records):
        raise BrokenError(names.COSTS, "is not what the reads and the receipts add up to")
    return names.COSTS


def _check_place(contents: Contents, name: str, read: ReadRecord) -> None:
    if (read.run_id, read.tenant) != (contents.run.run_id, contents.run.tenant):
        raise BrokenError(name, f"is of run {read.run_id} of tenant {read.tenant}")
    verb_of = {step.id: step.verb for step in contents.definition.steps}
    if verb_of.get(address_of(read.step)) != read.verb or not is_read(contents, read.verb):
        raise BrokenError(name, f"{names.DEFINITION} has no read {read.verb} at the step {read.step}")
    if contents.definition.verbs[read.verb].execution.handler != read.handler:
        raise BrokenError(name, f"its handler is not that of the verb {read.verb}")


TOLD: tuple[Rule[Facts], ...] = (_on_record, _in_place)
DONE: tuple[Rule[Facts], ...] = (_done,)
COSTS: tuple[Rule[Facts], ...] = (_costs,)
