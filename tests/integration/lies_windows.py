"""What somebody tells who holds the signing key, about when what was allowed had been carried out."""

from typing import Any

from tests.integration.forger import Bend, Forged, Lie, change_leaf

_WAITS = "effect.waiting"


def _window(**change: Any) -> Bend:
    """Return what has policy say another time in all that was decided on and asked."""

    def bend(forged: Forged) -> None:
        for decision in forged.decisions.values():
            for said in (decision["answer"].get("execute"), (decision["answer"]["requirement"] or {}).get("execute")):
                if said:
                    said.update(change)
        for approval in forged.approvals.values():
            if "execute" in approval["requirement"]:
                approval["requirement"]["execute"].update(change)

    return bend


def _unsaid(forged: Forged) -> None:
    """Have only the decision that deferred say nothing of a window."""
    forged.decisions[forged.leaf(_WAITS)["data"]["decision_id"]]["answer"].pop("execute")


def _early(forged: Forged) -> None:
    """Have it begin, and all that followed, the day before."""
    deferred = forged.leaf(_WAITS)
    after = forged.leaves[forged.leaves.index(deferred) + 1 :]
    forged.delay(next(leaf for leaf in after if leaf["at"] > deferred["at"]), hours=-3)


def _late(forged: Forged) -> None:
    deferred = forged.leaf(_WAITS)
    after = forged.leaves[forged.leaves.index(deferred) + 1 :]
    forged.delay(next(leaf for leaf in after if leaf["at"] > deferred["at"]), hours=9)


WINDOWS: dict[str, Lie] = {
    "begun before the window": ("acts.in-window", "windowed", _early),
    "begun when it was shut again": ("acts.in-window", "windowed", _late),
    "nothing said of the one that deferred": ("effects.waiting", "windowed", _unsaid),
    "deferred by another decision": ("effects.waiting", "windowed", change_leaf(_WAITS, "data.decision_id", "dec_x")),
    "another opening": (
        "effects.waiting",
        "windowed",
        change_leaf(_WAITS, "data.opens_at", "2026-01-06T08:01:00.000000Z"),
    ),
    "an opening before": (
        "effects.waiting",
        "windowed",
        change_leaf(_WAITS, "data.opens_at", "2026-01-06T07:59:00.000000Z"),
    ),
    "another beginning of its time": (
        *("effects.waiting", "windowed"),
        change_leaf(_WAITS, "data.since", "2026-01-05T08:59:00.000000Z"),
    ),
    "more time": ("effects.waiting", "windowed", change_leaf(_WAITS, "data.until", "2026-01-09T09:00:00.000000Z")),
    "in a zone that nobody knows": ("acts.in-window", "windowed", _window(time_zone="Europe/Nowhere")),
    "on another day": (
        *("acts.in-window", "windowed"),
        _window(between=[{"days": ["wed"], "from": "09:00", "until": "17:00"}]),
    ),
    "not before another moment": ("acts.in-window", "windowed", _window(not_before="2026-01-06T10:00:00Z")),
    "more time to use the approval": (
        *("approvals.told", "windowed"),
        lambda f: next(d for d in f.decisions.values() if d["input"]["approval"])["input"]["approval"].update(
            usable_until="2026-01-09T09:00:00.000000Z"
        ),
    ),
    "no time to use the approval": (
        *("approvals.told", "windowed"),
        lambda f: next(d for d in f.decisions.values() if d["input"]["approval"])["input"]["approval"].pop(
            "usable_until"
        ),
    ),
}
GROUPS = {"windows": WINDOWS}
