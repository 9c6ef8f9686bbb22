"""Why there is no bundle of a run, in one line. Needs no worker and no archive, so that a list is there at once."""

from runtime.model.search import EvidenceState, FoundRun
from runtime.services.bundles import OpenBundle


def describe(bundle: OpenBundle) -> str:
    """Return why a finished run's bundle is not stored, in one line."""
    if bundle.waits_for:
        return f"not sealed: {', '.join(bundle.waits_for)}"
    if not bundle.is_begun or not bundle.tries:
        return "not sealed: no worker has claimed it yet"
    if bundle.is_stuck:
        return f"stuck: {bundle.error}; once this is fixed, run: countersign evidence retry {bundle.run_id}"
    state = "failing" if bundle.is_overdue else "not stored"
    again = f", again at {bundle.next_try_at.isoformat(timespec='seconds')}" if bundle.next_try_at else ""
    tries = "1 try" if bundle.tries == 1 else f"{bundle.tries} tries"
    return f"{state}: {tries}{again}: {bundle.error or 'a worker is sealing it, or was lost'}"


def why(found: FoundRun) -> str:
    """Return why there is no bundle of a run, in one line; "" where there is one."""
    if found.open_for is None:
        return f"not ended: {found.status}"
    if found.state is EvidenceState.SEALED:
        return ""
    return describe(
        OpenBundle(
            run_id=found.run_id,
            definition_name=found.definition,
            status=found.status,
            is_begun=found.state is not EvidenceState.UNSEALED,
            is_stuck=found.state is EvidenceState.STUCK,
            open_for=found.open_for,
            tries=found.tries,
            next_try_at=found.next_try_at,
            error=found.error,
            waits_for=list(found.waits_for),
        )
    )
