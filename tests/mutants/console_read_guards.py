"""The guards of what the console shows of runs."""

from tests.mutants.guard import Guard

_RUNS = ("tests/integration/test_console_runs.py",)

CONSOLE_READS = (
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
)
