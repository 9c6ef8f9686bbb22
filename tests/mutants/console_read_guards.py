"""The guards of what the console shows of runs, and of lists of runs that people save."""

from tests.mutants.guard import Guard

_LISTS = ("tests/integration/test_console_lists.py",)
_RUNS = ("tests/integration/test_console_runs.py",)

CONSOLE_READS = (
    Guard(
        "what is named like a secret in a signal is hidden",
        "find_details",
        'hide(one["data"]).value',
        'one["data"]',
        _RUNS,
    ),
    Guard("a run of another tenant shows no audit trail", "ConsolePages.trail", " if found else None", "", _RUNS),
    Guard(
        "a card is shown for the run whose request it was",
        "cards_of",
        "tenant = %s AND run_id = %s AND approval_id = %s",
        "tenant = %s AND %s <> '' AND approval_id = %s",
        _RUNS,
    ),
    Guard(
        "a card that the run's chain does not have is told",
        "_card",
        'one["event"] == CARD_SHOWN and one["data"].get("digest") == own',
        "True",
        _RUNS,
    ),
    Guard("a list has no more runs than its bound", "RunLists.save", "len(ids) > MOST_RUNS", "False", _LISTS),
    Guard(
        "a list that the database has otherwise than it was saved is found by the audit",
        "_lists",
        'digest_of_ids(row["run_ids"])',
        "None",
        _LISTS,
    ),
    Guard("a list of another tenant is not there", "find_list", "l.tenant = %s AND", "%s <> '' AND", _LISTS),
    Guard("a list of another tenant is not deleted", "delete_list", "tenant = %s AND", "%s <> '' AND", _LISTS),
)
