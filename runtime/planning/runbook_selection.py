"""Runbook selection: exactly one of those that take a trigger's type starts, by what each `when` says. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.definitions.cel.expressions import evaluate_condition
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.model.runbook_version import NotActiveError, RunbookVersion, version_to_start


class UndecidedError(NotActiveError):
    """None of the runbooks that take the type takes this trigger, or several do; the message names them."""


def select_runbook(
    lives: Sequence[RunbookVersion], version: int | None, payload: Mapping[str, Any]
) -> tuple[RunbookVersion, Sequence[RunbookVersion]]:
    """Return the version that a trigger starts, and among which it was chosen: none where none says `when`.

    `lives` are the versions that take the trigger's type, at least one. Of each name that one is looked at which would
    start by itself. Raise NotActiveError.
    """
    first = version_to_start(lives, version)
    of_name = {one.name: [other for other in lives if other.name == one.name] for one in lives if _may(one, version)}
    among = [version_to_start(of_name[name], version) for name in sorted(of_name)]
    if among == [first] and first.when is None:
        return first, ()
    taking = [life for life in among if _takes(life, payload)]
    if len(taking) != 1:
        raise UndecidedError(_why_none(among) if not taking else _why_not_one(taking))
    return taking[0], among


def takes_trigger(when: str | None, payload: Mapping[str, Any]) -> bool:
    """Return whether a runbook that says `when` takes a trigger of its type; raise ExpressionError."""
    return when is None or evaluate_condition(when, {"trigger": dict(payload)})


def _takes(life: RunbookVersion, payload: Mapping[str, Any]) -> bool:
    try:
        return takes_trigger(life.when, payload)
    except ExpressionError as error:
        raise UndecidedError(f"whether {life} takes this trigger cannot be said: when: {error}") from error


def _may(life: RunbookVersion, version: int | None) -> bool:
    return life.is_active and version in (None, life.version)


def _why_none(among: Sequence[RunbookVersion]) -> str:
    said = "; ".join(f"{life} takes it when {life.when}" for life in among)
    return f"no runbook takes this trigger of type {among[0].trigger_type}: {said}"


def _why_not_one(taking: Sequence[RunbookVersion]) -> str:
    names = " and ".join(map(str, taking))
    return f"{names} take this trigger of type {taking[0].trigger_type}: one alone may"
