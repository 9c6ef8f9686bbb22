"""The rule about errors: what failed says by which, of those that there are."""

from evidence.verify.comparing import broken
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, counted, rule

_BY_CLASS = (
    ("definition",),
    ("expression", "cost", "params", "unrecordable"),
    ("refused", "not_taken", "unavailable", "held", "outcome_unknown", "result", "failed", "unexpected"),
    ("no_answer", "expired", "not_begun", "sla"),
    ("denied", "rejected", "changes_requested", "no_policy", "unauthenticated", "forbidden"),
    ("illegal_transition", "lease_lost", "key_in_use"),
)
CODES = frozenset(code for codes in _BY_CLASS for code in codes)
"""The codes of all errors, stable: a test compares them with the engine's."""
_WITH_ERROR = ("step.failed_handled", "step.failed_terminal", "step.failed_retryable", "step.held")


@rule(
    "steps.errors",
    "The leaf of a step that failed or is held has the `code` of its error, one of those that there are:"
    " `definition`; `expression`, `cost`, `params`, `unrecordable`; `refused`, `not_taken`, `unavailable`, `held`,"
    " `outcome_unknown`, `result`, `failed`, `unexpected`; `no_answer`, `expired`, `not_begun`, `sla`; `denied`,"
    " `rejected`, `changes_requested`, `no_policy`, `unauthenticated`, `forbidden`; `illegal_transition`,"
    " `lease_lost`, `key_in_use`. No other leaf of a step has one.",
)
def _errors(facts: Facts) -> str:
    codes = 0
    for leaves in facts.of_steps.values():
        for leaf in leaves:
            code, has_error = str(leaf.data.get("code")), leaf.event in _WITH_ERROR
            if (code not in CODES) if has_error else ("code" in leaf.data):
                raise broken(leaf, f"{leaf.event} of step {leaf.correlation.step} with the code {code}")
            codes += has_error
    return counted(codes, "error")


RULES: tuple[Rule[Facts], ...] = (_errors,)
