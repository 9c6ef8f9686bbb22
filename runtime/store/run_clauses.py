"""Clauses that narrow a list by its runs, whose rows are `r`; whoever asks gives the values of the filter's members."""

from runtime.model.search import RunFilter

REFERENCE = "coalesce(nullif(r.reference, ''), r.trigger_ref)"
"""What people call a run by: its business reference, and as long as it has none, its trigger's."""

_OF_RUNS = {
    # as above, but each by an index
    "reference": "(r.reference = %(reference)s OR r.reference = '' AND r.trigger_ref = %(reference)s)",
    "requester": """
        (r.requested_by = %(requester)s OR r.requested_by IN (
            SELECT q.actor_id FROM actors q WHERE q.tenant = r.tenant AND lower(q.name) = lower(%(requester)s)))
    """.strip(),
    "trigger": "r.trigger_type = %(trigger)s",
    "definition": "r.definition_name = %(definition)s",
    "since": "{at} >= %(since)s",
    "until": "{at} < %(until)s",
}


def narrowed(by: RunFilter, at: str) -> str:
    """Return the clauses of what the filter names, joined; `at` is the column of its moments."""
    wanted = vars(by)
    return " AND ".join(one.format(at=at) for name, one in _OF_RUNS.items() if wanted[name] is not None) or "true"
