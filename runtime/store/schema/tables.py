"""The declared tables (design, section 7). Every invariant that the database can hold, it holds here.

Documents whose digest matters are `json`, not `jsonb`: the text is kept as it was written.
"""

from runtime.store.schema import (
    approval_tables,
    budget_tables,
    definition_tables,
    evidence_tables,
    list_tables,
    log_tables,
    people_tables,
    policy_tables,
    run_tables,
)
from runtime.store.schema.base import insert_only, metadata, rights_of

__all__ = ["DECLARED", "INSERT_ONLY", "metadata", "rights_of"]

DECLARED = (
    approval_tables,
    budget_tables,
    definition_tables,
    evidence_tables,
    list_tables,
    log_tables,
    people_tables,
    policy_tables,
    run_tables,
)
"""The modules whose tables `metadata` has."""

INSERT_ONLY = tuple(name for name, table in metadata.tables.items() if table.info == insert_only(*rights_of(table)))
"""The tables of proof."""
