"""What format 2 shows of reads: each attempt has a record that fits the definition and the chain, and costs add up."""

from evidence import names
from evidence.costs import costs_member
from evidence.verify.contents import BrokenError, Contents
from receipts.chain import READ_RECORDED, Leaf
from receipts.read import ReadRecord


def check_reads(contents: Contents) -> None:
    """Raise unless each read record is of the run, of a read in its definition, and of the time at which it is named.

    Attempts of a step are counted upwards, and none follows a success.
    """
    if contents.version == 1:
        _check_untold(contents)
    last: dict[str, ReadRecord] = {}
    for leaf, name in _named(contents):
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


def check_done(contents: Contents) -> int:
    """Raise unless each read that the chain says succeeded has its record, with that result; return how many did."""
    if contents.version == 1:
        return 0
    done = {contents.reads[name].step: (leaf.seq, contents.reads[name]) for leaf, name in _named(contents)}
    reads = {step.id for step in contents.definition.steps if _is_read(contents, step.verb)}
    succeeded = [leaf for leaf in contents.leaves_of("step.succeeded") if leaf.correlation.step in reads]
    for leaf in succeeded:
        seq, read = done.get(str(leaf.correlation.step), (leaf.seq, None))
        if read is None or read.response is None or seq > leaf.seq:
            raise BrokenError(
                names.AUDIT, f"line {leaf.seq}: step {leaf.correlation.step} succeeded, and no record says that it read"
            )
        if read.response.commitment != leaf.data.get("result"):
            raise BrokenError(names.AUDIT, f"line {leaf.seq}: its result is not what {read.read_id} got")
    return len(succeeded)


def check_costs(contents: Contents) -> None:
    """Raise unless the costs are what the read records and the receipts add up to."""
    if contents.version == 1:
        return
    records = (*contents.reads.values(), *contents.receipts.values())
    if contents.member(names.COSTS) != costs_member(record.model_dump() for record in records):
        raise BrokenError(names.COSTS, "is not what the reads and the receipts add up to")


def _named(contents: Contents) -> list[tuple[Leaf, str]]:
    """Return the leaves that name read records, in the chain's order, each with the member."""
    return [
        (leaf, names.numbered(names.READS, number, str(leaf.data.get("read_id"))))
        for number, leaf in enumerate(contents.leaves_of(READ_RECORDED), start=1)
    ]


def _check_untold(contents: Contents) -> None:
    for name, receipt in contents.receipts.items():
        if receipt.told is not None:
            raise BrokenError(name, "tells of its call, for which format 1 has no place")


def _check_place(contents: Contents, name: str, read: ReadRecord) -> None:
    if (read.run_id, read.tenant) != (contents.run.run_id, contents.run.tenant):
        raise BrokenError(name, f"is of run {read.run_id} of tenant {read.tenant}")
    verb_of = {step.id: step.verb for step in contents.definition.steps}
    if verb_of.get(read.step) != read.verb or not _is_read(contents, read.verb):
        raise BrokenError(name, f"{names.DEFINITION} has no read {read.verb} at the step {read.step}")
    if contents.definition.verbs[read.verb].execution.handler != read.handler:
        raise BrokenError(name, f"its handler is not that of the verb {read.verb}")


def _is_read(contents: Contents, verb: str) -> bool:
    """Return whether a verb of the definition reads: a timer is of class `read`, too, and asks nobody."""
    found = contents.definition.verbs.get(verb)
    return found is not None and found.effect.kind == "read" and found.execution.wait != "timer"
