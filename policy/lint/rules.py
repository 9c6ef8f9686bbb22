"""Lint of rules beside the tenants' configuration: who asks for which requirement, and which rules never fire."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.lint.demands import Named
from policy.lint.findings import Finding, TenantConfig
from policy.trace import PolicyRule

_CORE = frozenset({"high", "policy_activate", "policy_rollback"})
"""Requirements that the program's own rules ask for."""
_KNOWN = frozenset({"writes_per_run", "connectors", "requirements", "operators"})
_NOT_RECORDED = ("data.countersign.operator.", "data.system.")
FEW = 100
"""Decisions of which nobody can say much."""


@dataclass(frozen=True)
class Fired:
    """What the last decisions on record say: their number, the rules that they name, and codes of those without."""

    decisions: int
    names: frozenset[str]
    codes: frozenset[str]


@dataclass(frozen=True)
class Used:
    """An operation that a runbook uses, and where its verb stands; the line is 0 where that is not known."""

    connector: str
    operation: str
    runbook: str
    file: str
    line: int


def undemanded(configs: Sequence[TenantConfig], modules: Sequence[Named]) -> Iterator[Finding]:
    """Yield the requirements that no rule asks for."""
    for config in configs:
        said = set(_texts({name: one for name, one in config.document.items() if name not in _KNOWN}))
        for name in config.requirements:
            if name not in _CORE and name not in said and not any(one.may_ask(name) for one in modules):
                says = "no rule asks for this requirement: write the rule, correct the name, or remove it"
                yield config.finding(("requirements", name), "requirement.undemanded", says)


def missing(configs: Sequence[TenantConfig], modules: Sequence[Named]) -> Iterator[Finding]:
    """Yield the requirements that rules ask for and a tenant that lists the connector does not have."""
    for config in configs:
        for name in (f"policy_{one}" for connector, one in config.operations() if connector == "policy"):
            if name not in config.requirements:
                says = f"the core asks for the requirement {name}, without which this is denied: add it"
                path = ("connectors", "policy", "operations", name.removeprefix("policy_"))
                yield config.finding(path, "requirement.missing", says)
        for module in modules:
            if module.connector in config.connectors:
                yield from _missing_of(config, module)


def _missing_of(config: TenantConfig, module: Named) -> Iterator[Finding]:
    path, who = f"requirements.{{}} of {config.tenant}", f"{config.tenant} lists {module.connector}"
    for name, row in module.asked.items():
        if name not in config.requirements:
            says = f"the rule asks for the requirement {name}; {who} and does not have it, so this is denied: add it"
            yield Finding(module.file, row, path.format(name), "requirement.missing", says)
    for start, row in module.begun.items():
        if start and not any(name.startswith(start) for name in config.requirements):
            says = f"the rule asks for requirements {start}*; {who} and has none, so this is denied: add one"
            yield Finding(module.file, row, path.format(f"{start}*"), "requirement.missing", says)


def unlisted(configs: Sequence[TenantConfig], modules: Sequence[Named], used: Iterable[Used]) -> Iterator[Finding]:
    """Yield operations that rules or runbooks are about, and that no tenant lists; a connector once."""
    connectors = {name for config in configs for name in config.connectors}
    operations = {one for config in configs for one in config.operations()}
    told = set(operations)
    for module in (one for one in modules if one.connector):
        if module.connector not in connectors:
            says = f"these rules are about {module.connector}, which no tenant lists: list it, or remove the rules"
            yield Finding(module.file, module.row, f"connectors.{module.connector}", "operation.unlisted", says)
        else:
            for operation, row in module.operations.items():
                if (module.connector, operation) not in told:
                    told.add((module.connector, operation))
                    act = f"{module.connector}::{operation}"
                    says = f"the rule is about {act}, which no tenant lists: list it, or correct it"
                    yield Finding(module.file, row, _path(module.connector, operation), "operation.unlisted", says)
    of_rules = {one.connector for one in modules} - connectors
    for one in used:
        if one.connector not in of_rules and (one.connector, one.operation) not in told:
            told.add((one.connector, one.operation))
            act = f"{one.connector}::{one.operation}"
            says = f"the runbook {one.runbook} uses {act}, which no tenant lists, so it is denied: list it"
            yield Finding(one.file, one.line, _path(one.connector, one.operation), "operation.unlisted", says)


def _path(connector: str, operation: str) -> str:
    return f"connectors.{connector}.operations.{operation}"


def never_fired(rules: Iterable[PolicyRule], fired: Fired) -> list[PolicyRule]:
    """Return the rules that give a reason and are behind none of the decisions; what operators do is not looked at."""
    return [
        one
        for one in rules
        if one.code
        and not one.path.startswith(_NOT_RECORDED)
        and name_of(one) not in fired.names
        and one.code not in fired.codes
    ]


def name_of(rule: PolicyRule) -> str:
    """Return the name of a rule as decisions have it."""
    return f"{rule.path.removeprefix('data.')}#{rule.code}"


def is_shipped(rule: PolicyRule, shipped: Mapping[str, str]) -> bool:
    """Return whether a rule is one of the program's own, as it ships: a guard, which is there in order not to fire."""
    return shipped.get(name_of(rule)) == rule.text


def silent_rule(rule: PolicyRule, file: str, fired: Fired) -> Finding:
    """Return the finding about a rule that never fired."""
    says = (
        f"“{rule.title}” is behind none of the last {fired.decisions:,} decisions: see whether it can fire, with"
        " `countersign policy try`, or remove it"
    )
    return Finding(file, rule.place.row, name_of(rule), "rule.never_fired", says)


def few_note(rules: Collection[PolicyRule], fired: Fired) -> str:
    """Return the note about rules that have not fired while few decisions are on record."""
    names = ", ".join(sorted(one.code for one in rules)) or "none"
    return f"{fired.decisions} decisions are on record, and {FEW} are needed to judge rules; not fired so far: {names}"


def guards_note(rules: Collection[PolicyRule], fired: Fired) -> str:
    """Return the note about the program's own rules that never fired."""
    names = ", ".join(sorted(one.code for one in rules))
    return f"the program's own rules that did not fire in the last {fired.decisions:,} decisions, as is well: {names}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
