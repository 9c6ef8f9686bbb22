"""Small worlds of limits: every question of one is listed, and what limits ask for is found limit by limit.

Written without the comparison of `policy.limit_changes`, for tests that hold it against this.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from typing import Any

from hypothesis import strategies as st

REQUIREMENTS = {
    name: {"quorum": 1, "groups": [name], "all_groups": False, "expires_in": "PT8H", "escalate_to": []}
    for name in ("high", "treasury")
}
TIERS = ("low", "medium", "high")
OPERATIONS = {"refund": "low", "note": "medium"}
MISSING = object()
HOURS = {"P1D": 24, "P3D": 72, "PT12H": 12, "PT1H": 1, "PT60M": 1}
MONDAY = {"days": ["mon"], "from": "09:00", "until": "17:00"}
NIGHT = {"days": ["sun"], "from": "22:00", "until": "06:00"}
MORNING = {"days": ["mon"], "from": "09:00", "until": "12:00"}
WINDOWS: list[dict[str, Any]] = [
    {"between": [MONDAY], "time_zone": "UTC"},
    {"between": [MORNING], "time_zone": "UTC", "within": "P3D"},
    {"between": [NIGHT, MONDAY], "time_zone": "UTC"},
    {"between": [MONDAY, NIGHT], "time_zone": "UTC"},
    {"between": [MONDAY], "time_zone": "Europe/Oslo"},
    {"within": "P3D"},
    {"within": "PT12H"},
    {"not_before": "2026-03-01T00:00:00Z"},
]
SUM = {"field": "amount", "currency_field": "currency", "currency": "EUR", "at_most": "500.00"}
BUDGETS: list[dict[str, Any]] = [
    {"by": "agent", "per": "day", "time_zone": "UTC", "over": "deny", "count": 10},
    {"by": "agent", "per": "day", "time_zone": "UTC", "over": "deny", "count": 20, "sum": SUM},
    {"by": "agent", "per": "day", "time_zone": "UTC", "over": "deny", "sum": {**SUM, "at_most": "90"}},
    {"by": "agent", "per": "month", "time_zone": "UTC", "over": "deny", "count": 10},
    {"by": "agent", "per": "day", "time_zone": "UTC", "over": "approve", "count": 10},
]
_AMOUNTS = [5, 10, 15, 20, 25, "5", "10", "10.0", "15", "20", "25", "a", "c", True]
_NAMES = ["a", "b", "c", 3]
_IBANS = ["x", "y", "z", 3]
_WEEKS = [
    ("01-19T10:00", "01-19T13:00", "01-18T23:00", "01-19T05:59", "01-21T12:00"),
    ("02-02T09:00", "02-02T16:59", "02-01T22:00", "02-02T00:00", "02-04T12:00"),
]
"""In each week: Monday morning and afternoon, Sunday night before and after midnight, and another time."""


def _with_pairs(items: list[Any]) -> list[Any]:
    """Return values, and lists of two of them."""
    return [*items, *map(list, combinations(items, 2))]


DOMAINS: dict[str, list[Any]] = {
    "amount": [*_with_pairs(_AMOUNTS), {"b": 1}, [], MISSING],
    "to": [*_with_pairs(_NAMES), ["c", None], *({"iban": one} for one in _with_pairs(_IBANS)), {}, MISSING],
    "memo": ["v1", "x", ["v1", "x"], 7, MISSING],
    "requester": ["ann", "bot", "zed"],
    "kind": ["person", "agent", "system"],
    "agent": ["bot", "hook"],
    "groups": [[], ["legal"], ["ops"], ["legal", "ops"]],
    "runbook": ["daily", "campaign", "else"],
    "time": [f"2026-{day}:00Z" for week in _WEEKS for day in week],
}
"""Values of what a question has: for each kind of value that limits here can tell apart there is one."""
_USES = {
    "amount": ("amount",),
    "to": ("to",),
    "memo": ("memo",),
    "actor": ("requester", "kind", "agent"),
    "groups": ("groups",),
    "runbook": ("runbook",),
    "time": ("time",),
}


def _some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


_NUMBERS = st.sampled_from([10, 20])
_TESTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "amount": st.one_of(
        st.fixed_dictionaries({"over": _NUMBERS}),
        st.fixed_dictionaries({"under": _NUMBERS}),
        st.just({"over": 10, "under": 20}),
        st.fixed_dictionaries(
            {"in": st.lists(st.sampled_from(["a", 10, "10", True]), min_size=1, unique_by=lambda one: (type(one), one))}
        ),
    ).map(lambda test: {"fields": {"amount": test}}),
    "to": st.one_of(
        _some("a", "b").map(lambda names: {"fields": {"to": {"in": names}}}),
        _some("x", "z").map(lambda names: {"fields": {"to.iban": {"in": names}}}),
    ),
    "memo": st.just({"fields": {"memo": {"matches": "v.*"}}}),
    "actor": st.one_of(
        _some("ann", "bot").map(lambda names: {"requester": names}),
        _some("person", "agent").map(lambda kinds: {"requester_kind": kinds}),
        st.just({"agent": ["bot"]}),
        st.just({"agent": ["bot"], "requester": ["ann"]}),
    ),
    "groups": _some("legal", "ops").map(lambda names: {"requester_groups": names}),
    "runbook": _some("daily", "campaign").map(lambda names: {"runbook": names}),
    "time": st.lists(st.sampled_from([MONDAY, MORNING, NIGHT]), min_size=1, max_size=2).map(
        lambda windows: {"time": {"between": windows, "time_zone": "UTC"}}
    ),
}
_ASKS: dict[str, st.SearchStrategy[Any]] = {
    "tier": st.sampled_from(["medium", "high"]),
    "requirement": st.sampled_from(["high", "treasury"]),
    "quorum": st.integers(2, 4),
    "exclude": _some("by", "to"),
    "sign_with": st.just("passkey"),
    "expires_in": st.sampled_from(["PT1H", "PT60M", "PT12H"]),
    "execute": st.sampled_from(WINDOWS),
    "writes_per_run": st.sampled_from([0, 30, 60, 2000]),
    "budget": st.sampled_from(BUDGETS),
}


@st.composite
def worlds(draw: st.DrawFn, *, budgets: bool = True) -> tuple[set[str], dict[str, Any], dict[str, Any]]:
    """Draw what limits are about, and the limits of two sides."""
    about = set(draw(st.lists(st.sampled_from(sorted(_USES)), min_size=1, max_size=2, unique=True)))
    kinds = sorted(_ASKS if budgets else _ASKS.keys() - {"budget"})
    members = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2, unique=True))
    pool = draw(st.lists(_limit(sorted(about), members), min_size=1, max_size=5))
    sides = [draw(st.lists(st.sampled_from(pool), max_size=4)) for _ in range(2)]
    was, now = ({f"l{place}": limit for place, limit in enumerate(side)} for side in sides)
    return about, was, now


@st.composite
def _limit(draw: st.DrawFn, about: Sequence[str], members: Sequence[str]) -> dict[str, Any]:
    when: dict[str, Any] = {"connector": ["payments"]}
    if draw(st.booleans()):
        when["operation"] = draw(_some("refund", "note"))
    asked = draw(st.lists(st.sampled_from(members), min_size=1, unique=True))
    asks: dict[str, Any] = {member: draw(_ASKS[member]) for member in asked}
    if asks.get("budget", {}).get("over") == "approve":
        asks.setdefault("requirement", "treasury")
    for one in about:
        if draw(st.booleans()) and ("writes_per_run" not in asks or one == "runbook"):
            test = draw(_TESTS[one])
            fields = {**when.get("fields", {}), **test.get("fields", {})}
            when |= test
            if fields:
                when["fields"] = fields
    begins = draw(st.sampled_from([None, None, "2026-02-01T00:00:00Z"])) if "time" in about else None
    return {"comment": "c", "when": when, **asks, **({"effective_from": begins} if begins else {})}


def config(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tenant's configuration with these limits."""
    operations = {name: {"tier": tier, "targets": ["payment:*"]} for name, tier in OPERATIONS.items()}
    connectors = {"payments": {"chat": False, "operations": operations}}
    return {"writes_per_run": 60, "connectors": connectors, "requirements": REQUIREMENTS, "limits": limits}


def questions(about: set[str]) -> Iterator[dict[str, Any]]:
    """Yield every question of a world: of what limits are not about, each has the last value."""
    used = {name for one in about for name in _USES[one]}
    values = [DOMAINS[name] if name in used else DOMAINS[name][-1:] for name in DOMAINS]
    for operation in OPERATIONS:
        for chosen in product(*values):
            yield {"operation": operation, **dict(zip(DOMAINS, chosen, strict=True))}


def _number(value: Any) -> float | None:
    if isinstance(value, bool | list | dict):
        return None
    return float(value) if isinstance(value, int) or value in {"5", "10", "10.0", "15", "20", "25"} else None


def _item_meets(test: Mapping[str, Any], item: Any) -> bool:
    number = _number(item)
    unread = item is MISSING or item is None or isinstance(item, dict | list)
    met: dict[str, Callable[[Any], bool]] = {
        "over": lambda bound: number is None or number > bound,
        "under": lambda bound: number is None or number < bound,
        "in": lambda names: unread or any(type(one) is type(item) and one == item for one in names),
        "matches": lambda _: not isinstance(item, str) or item.startswith("v"),
    }
    return all(met[kind](bound) for kind, bound in test.items())


def _field(question: Mapping[str, Any], path: str) -> Any:
    name, _, inner = path.partition(".")
    value = question[name]
    return (value.get(inner, MISSING) if isinstance(value, dict) else MISSING) if inner else value


def _is_time(time: Mapping[str, Any], at: datetime) -> bool:
    """Return whether one of the windows, all in UTC, is open."""
    clock, today, yesterday = (
        f"{at:%H:%M}",
        f"{at:%a}".lower(),
        f"{datetime.fromtimestamp(at.timestamp() - 86400, UTC):%a}".lower(),
    )
    for one in time["between"]:
        if one["from"] < one["until"]:
            if today in one["days"] and one["from"] <= clock < one["until"]:
                return True
        elif (today in one["days"] and clock >= one["from"]) or (yesterday in one["days"] and clock < one["until"]):
            return True
    return False


def holds(limit: Mapping[str, Any], question: Mapping[str, Any]) -> bool:
    """Return whether a limit holds for a question."""
    when = limit["when"]
    agents = {question["agent"], *([question["requester"]] if question["kind"] == "agent" else [])}
    has = {
        "connector": {"payments"},
        "operation": {question["operation"]},
        "requester": {question["requester"]},
        "requester_kind": {question["kind"]},
        "requester_groups": set(question["groups"]),
        "agent": agents,
        "runbook": {question["runbook"]},
    }
    fields = [(test, _field(question, path)) for path, test in when.get("fields", {}).items()]
    return (
        limit.get("effective_from", "") <= question["time"]
        and all(set(when[name]) & values for name, values in has.items() if name in when)
        and all(
            any(_item_meets(test, item) for item in (value if isinstance(value, list) and value else [value]))
            for test, value in fields
        )
        and ("time" not in when or _is_time(when["time"], datetime.fromisoformat(question["time"])))
    )
