"""Execution windows: nothing began outside of the times that policy had named for it, and what waited is told so.

The verifier has its own rule of windows, minute by minute: what the clock on the wall of a zone shows.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from evidence.records import ExecuteRecord, WindowRecord
from evidence.verify.contents import BrokenError
from evidence.verify.facts import ACTED, Decided, Facts
from evidence.verify.forms import Waiting
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, duration_of, moment, rule
from receipts.fields import timestamp

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MINUTES_AHEAD = 15 * 24 * 60


def is_open(member: str, execute: ExecuteRecord, at: datetime) -> bool:
    """Return whether something may begin at a moment, however long ago it was approved."""
    if execute.not_before is not None and at < moment(execute.not_before):
        return False
    return not execute.between or _is_shown(execute.between, at.astimezone(_zone(member, execute)))


def opening(member: str, execute: ExecuteRecord, at: datetime) -> datetime | None:
    """Return the first moment, not before this one, at which something may begin; None where there is none."""
    first = max(at, moment(execute.not_before)) if execute.not_before else at
    if is_open(member, execute, first):
        return first
    minute = first.replace(second=0, microsecond=0)
    ahead = (minute + timedelta(minutes=nth) for nth in range(1, _MINUTES_AHEAD))
    return next((one for one in ahead if is_open(member, execute, one)), None)


def _zone(member: str, execute: ExecuteRecord) -> ZoneInfo:
    try:
        return ZoneInfo(execute.time_zone or "")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BrokenError(member, f"{execute.time_zone!r} is no time zone that is known here") from error


def _is_shown(windows: Sequence[WindowRecord], shown: datetime) -> bool:
    clock, day = f"{shown:%H:%M}", shown.weekday()
    for window in windows:
        is_over_midnight = window.until < window.since
        if DAYS[day] in window.days and window.since <= clock and (is_over_midnight or clock < window.until):
            return True
        if is_over_midnight and DAYS[day - 1] in window.days and clock < window.until:
            return True
    return False


WAITING = "effect.waiting"


@rule(
    "acts.in-window",
    "What acted by a decision that says when (`execute`) began, at the moment of the decision's leaf, no earlier than"
    " `not_before`, while the clock of `time_zone` showed a time of one of `between`, and earlier than `within` after"
    " the last of the votes that the decision was told of, or after its effect was proposed where it was told of none.",
)
def _began_in_window(facts: Facts) -> str:
    found = [facts.decided[str(one.record.decision_id)] for one in facts.receipts if one.record.outcome in ACTED]
    timed = [decision for decision in found if decision.record.answer.execute is not None]
    for decision in timed:
        at = moment(decision.leaf.at)
        if at >= _until(facts, decision) or not _is_in_window(decision, at):
            raise BrokenError(decision.name, f"let its effect begin at {decision.leaf.at}, outside of its window")
    return counted(len(timed), "act") + " in a window"


@rule(
    "effects.waiting",
    "An `effect.waiting` follows a decision that allows that effect and says when (`execute`), named by `decision_id`"
    " and on record at the same moment. Its `since` is the last of the votes that the decision was told of, or when the"
    " effect was proposed; `until` is later by `within`; `opens_at` is the first moment from then on at which it might"
    " begin, and before `until`.",
)
def _waited(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(WAITING)
    for leaf in leaves:
        told = data_of(Waiting, leaf)
        decision = facts.decided.get(told.decision_id)
        if decision is None or decision.record.outcome != "allow" or decision.record.answer.execute is None:
            raise broken_leaf(leaf, f"no decision {told.decision_id} says when its effect may begin")
        opens = opening(decision.name, decision.record.answer.execute, moment(leaf.at))
        agree(
            decision.name,
            f"line {leaf.seq}",
            effect_id=(decision.record.effect_id, leaf.correlation.effect_id),
            place=((decision.leaf.seq < leaf.seq, decision.leaf.at), (True, leaf.at)),
            since=(timestamp(_since(facts, decision)), told.since),
            until=(timestamp(_until(facts, decision)), told.until),
            opens_at=(opens and timestamp(opens), told.opens_at),
        )
        if told.opens_at >= told.until:
            raise broken_leaf(leaf, "waits for a window that opens when its time is over")
    return counted(len(leaves), "time")


def _is_in_window(decision: Decided, at: datetime) -> bool:
    execute = decision.record.answer.execute
    return execute is None or is_open(decision.name, execute, at)


def _since(facts: Facts, decision: Decided) -> datetime:
    asked = decision.record.input
    proposed, _ = facts.proposed[decision.record.effect_id]
    return moment(max((vote.at for vote in asked.votes), default=proposed.at))


def _until(facts: Facts, decision: Decided) -> datetime:
    execute = decision.record.answer.execute
    within = execute.within if execute else ""
    return _since(facts, decision) + duration_of(within, decision.name)


RULES: tuple[Rule[Facts], ...] = (_began_in_window, _waited)
