"""Lint of a tenant's configuration by itself: what no directory and no rule is needed for."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from policy.execution_windows import DEFAULT_WITHIN
from policy.lint.findings import Finding, TenantConfig
from policy.lint.target_patterns import covers
from policy.lint.windows import longest_wait, open_minutes, seconds, spoken

_SHORTEST = 15
"""Minutes a week that an effect has to begin in."""
_LONGEST = timedelta(days=90)


def configuration_findings(config: TenantConfig, now: datetime) -> Iterator[Finding]:
    """Yield what is surely not meant in a configuration that has no flaws."""
    yield from _operators(config)
    for name, entry in config.connectors.items():
        yield from _connector(config, name, entry, now)
    for name, entry in config.requirements.items():
        yield from _requirement(config, name, entry)


def _operators(config: TenantConfig) -> Iterator[Finding]:
    if not config.document.get("operators"):
        says = "the tenant has no operators, so nobody may repair a step that needs attention: name a group"
        yield config.finding(("operators",), "operators.none", says)


def _connector(config: TenantConfig, name: str, entry: Mapping[str, Any], now: datetime) -> Iterator[Finding]:
    path = ("connectors", name)
    if not entry["operations"]:
        says = "the connector is listed without an operation, so it may do nothing: list one, or remove it"
        yield config.finding(path, "connector.empty", says)
    for operation, listed in entry["operations"].items():
        where = (*path, "operations", operation)
        yield from _targets(config, (*where, "targets"), listed["targets"])
        if "execute" in listed:
            yield from _execute(config, (*where, "execute"), listed["execute"], now)


def _targets(config: TenantConfig, path: tuple[str, ...], targets: list[str]) -> Iterator[Finding]:
    for place, narrow in enumerate(targets):
        others = (one for other, one in enumerate(targets) if other != place and (one != narrow or other < place))
        if wide := next((one for one in others if covers(one, narrow)), None):
            says = f"{narrow} matches nothing that {wide} does not match: remove one of the two"
            yield config.finding((*path, place), "target.covered", says)


def _execute(config: TenantConfig, path: tuple[str, ...], when: Mapping[str, Any], now: datetime) -> Iterator[Finding]:
    within = timedelta(seconds=seconds(when.get("within", DEFAULT_WITHIN)))
    wait = timedelta(0)
    if "not_before" in when:
        wait = max(wait, datetime.fromisoformat(when["not_before"]) - now)
    if "between" in when:
        minutes = open_minutes(when["between"])
        if len(minutes) < _SHORTEST:
            says = f"it is open for {spoken(len(minutes))} a week, and {_SHORTEST} are the least: make it longer"
            yield config.finding((*path, "between"), "window.short", says)
        wait = max(wait, timedelta(minutes=longest_wait(minutes)))
    if wait > within:
        told = spoken(int(wait.total_seconds() // 60))
        said = when.get("within", f"{DEFAULT_WITHIN}, the default")
        says = f"it may open only {told} after an approval, which is void by then: make within longer than {said}"
        yield config.finding((*path, "within"), "window.unreachable", says)


def _requirement(config: TenantConfig, name: str, entry: Mapping[str, Any]) -> Iterator[Finding]:
    path = ("requirements", name)
    if seconds(entry["expires_in"]) > _LONGEST.total_seconds():
        says = f"a request may wait for {entry['expires_in']}, and its reasons are old by then: 90 days are the most"
        yield config.finding((*path, "expires_in"), "expiry.long", says)
    asked = set(entry["groups"])
    for place, later in enumerate(entry["escalate_to"]):
        if asked.issuperset(later["to"]):
            says = f"{_all(later['to'])} asked before, so the escalation asks nobody new: name another group"
            yield config.finding((*path, "escalate_to", place, "to"), "escalation.same_groups", says)
        asked.update(later["to"])
    yield from _break_glass(config, name, entry)


def _break_glass(config: TenantConfig, name: str, entry: Mapping[str, Any]) -> Iterator[Finding]:
    """Break-glass spares people a signature of others; where one is enough, those who may sign need none."""
    one_signs = entry["quorum"] == 1 and (not entry["all_groups"] or len(entry["groups"]) == 1)
    groups = entry.get("break_glass", {}).get("groups", [])
    if groups and one_signs and set(groups) <= set(entry["groups"]):
        says = f"{_all(groups)} asked anyway, and one signature is enough: name another group, or remove break_glass"
        yield config.finding(("requirements", name, "break_glass", "groups"), "break_glass.no_use", says)


def _all(groups: list[str]) -> str:
    return f"{', '.join(groups)} {'is' if len(groups) == 1 else 'are'}"
