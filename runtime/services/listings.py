"""What operators look through, over one connection: runs, waits, effects, dead letters, holds; nothing secret."""

from runtime.store.legal_holds import list_holds
from runtime.store.operator_lists import (
    Wanted,
    find_dead_letter,
    find_decision,
    find_effect,
    find_policy,
    find_wait,
    list_dead_letters,
    list_effects,
    list_runs,
    list_subscriptions,
    list_waits,
)
from runtime.store.step_repairs import find_step, list_steps_needing_attention

__all__ = [
    "Wanted",
    "find_dead_letter",
    "find_decision",
    "find_effect",
    "find_policy",
    "find_step",
    "find_wait",
    "list_dead_letters",
    "list_effects",
    "list_holds",
    "list_runs",
    "list_steps_needing_attention",
    "list_subscriptions",
    "list_waits",
]
