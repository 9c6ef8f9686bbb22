"""The audit of a tenant's own chain: whether what its acts are about is there, as they say, and nothing beside it."""

from collections.abc import Iterator

from receipts.errors import ReceiptsError
from receipts.tenant_acts import record_of
from runtime.services.audit_chains import check_spans, leaves_of
from runtime.services.audit_findings import Finding
from runtime.store.tenant import TenantRows


def check_tenant(rows: TenantRows) -> Iterator[Finding]:
    """Yield what is wrong with the tenant's chain: itself, its places, and the records that it names."""
    leaves = leaves_of(rows)
    if isinstance(leaves, Finding):
        yield leaves
        return
    yield from check_spans(rows)
    told: dict[str, str] = {}
    for leaf in leaves:
        try:
            told |= record_of(leaf)
        except ReceiptsError as error:
            yield Finding("act.form", f"{rows.chain} leaf {leaf.seq}", str(error))
    if leaves:  # where nothing was ever done, as after an upgrade, nothing can have been told
        yield from _compared(rows, told)


def _compared(rows: TenantRows, told: dict[str, str]) -> Iterator[Finding]:
    """Each record is as the last act about it says, and what acts are about is there."""
    for name in sorted(told.keys() | rows.records.keys()):
        if name not in rows.records:
            yield Finding("record.missing", name, f"is named in {rows.chain}, and is not there")
        elif name in told and rows.records[name] != told[name]:
            yield Finding("record.changed", name, f"is not what {rows.chain} says")
        elif name not in told and name not in rows.of_others:
            yield Finding("record.unnamed", name, "is there, and no act brought it")
