"""Versions of a policy: the stored list of their rules, what changes between two, and which tenant signs a change."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policy.bundle import CONFIG_FILE
from policy.changes import ConfigChange, RuleChange, config_changes, file_changes, rule_changes
from policy.errors import PolicyError
from policy.trace import Place, PolicyRule

_LONGEST = 200
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class ReadPolicy:
    """A policy's files, and the rules in them as OPA parsed them."""

    files: Mapping[str, str]
    rules: Sequence[PolicyRule]


def rules_json(rules: Sequence[PolicyRule]) -> str:
    """Return rules as they are stored with a version: JSON, without what only an explanation needs."""
    return json.dumps([_stored(rule) for rule in rules], ensure_ascii=False)


def _stored(rule: PolicyRule) -> dict[str, Any]:
    said = {"path": rule.path, "code": rule.code, "title": rule.title, "sentence": rule.sentence, "text": rule.text}
    return {**said, "file": rule.place.file, "row": rule.place.row}


def stored_rules(stored: Sequence[Mapping[str, Any]]) -> list[PolicyRule]:
    """Return rules from the list that is stored with a version."""
    return [
        PolicyRule(
            place=Place(one["file"], one["row"]),
            path=one["path"],
            title=one["title"],
            code=one["code"],
            conditions=(),
            text=one["text"],
            sentence=one["sentence"],
        )
        for one in stored
    ]


@dataclass(frozen=True)
class PolicyChanges:
    """Changes from one policy to another."""

    old: ReadPolicy
    new: ReadPolicy

    @cached_property
    def rules(self) -> list[RuleChange]:
        """Return the rules that changed."""
        return rule_changes(self.old.rules, self.new.rules)

    @cached_property
    def config(self) -> list[ConfigChange]:
        """Return the members of tenants' configuration that changed."""
        return config_changes(self.old.files, self.new.files)

    @cached_property
    def files(self) -> list[str]:
        """Return the Rego files that changed."""
        return file_changes(self.old.files, self.new.files)

    def lines(self) -> list[str]:
        """Return the changes for people: rules by title, configuration with old and new values, files by name."""
        found = [*map(_rule_line, self.rules), *map(_config_line, self.config)]
        files = [f"files    {', '.join(self.files)}"] if self.files else []
        return [*(found or ["no rule and no configuration changed"]), *files]

    def signed_in(self, tenant_of_rules: str) -> str:
        """Return the tenant in which the change is signed; raise PolicyError if it concerns more than one.

        Rules are signed in the tenant that owns them, configuration in its own tenant.
        """
        tenants = _changed_tenants(self.old.files, self.new.files) | ({tenant_of_rules} if self.files else set())
        if len(tenants) > 1:
            raise PolicyError(
                f"the change concerns {', '.join(sorted(tenants))}, and each signs its own: rules are signed in "
                f"{tenant_of_rules}, configuration in its tenant; propose one after the other"
            )
        return next(iter(tenants), tenant_of_rules)


def _changed_tenants(old: Mapping[str, str], new: Mapping[str, str]) -> set[str]:
    was, now = (json.loads(files.get(CONFIG_FILE, "{}")) for files in (old, new))
    return {tenant for tenant in was.keys() | now.keys() if was.get(tenant) != now.get(tenant)}


def _rule_line(one: RuleChange) -> str:
    rule = one.rule
    code = f" ({rule.code})" if rule.code else ""
    return f"{one.kind:<8} {rule.title or rule.path}{code}  {rule.place.file}:{rule.place.row}"


def _config_line(one: ConfigChange) -> str:
    place = ".".join((one.tenant, *one.path))
    return f"{one.direction:<8} {place}: {_value(one.old)} → {_value(one.new)}"


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def backtest_lines(report: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the counts of a backtest, worst class first, and the worst example; `report` is its JSON report."""
    if report is None:
        yield "no backtest was made"
        return
    yield f"{report['decisions']:,} recorded decisions"
    changed = [one for one in report["classes"] if one["decisions"] and one["class"] != "unchanged"]
    for one in changed:
        yield f"{one['title']}: {one['decisions']:,} ({float(one['share']) * 100:.2f} %)"
    if not changed:
        yield "all unchanged"
        return
    if example := next(iter(changed[0]["examples"]), None):
        rules = f", {', '.join(example['rules'])}" if example["rules"] else ""
        yield f"worst example: {example['decision_id']} of {example['run_id']}, {example['operation']}{rules}"
        for each in example["differences"]:
            yield f"  {each['member']}: {_value(each['recorded'])} → {_value(each['candidate'])}"
