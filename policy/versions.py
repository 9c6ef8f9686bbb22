"""Versions of a policy: the stored list of their rules, what changes between two, and which tenant signs a change."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policy.changes import (
    ConfigChange,
    RuleChange,
    config_changes,
    file_changes,
    rule_changes,
    tenants_config,
)
from policy.differences import shown_value
from policy.direction import Direction
from policy.errors import PolicyError
from policy.trace import Place, PolicyRule

NO_BACKTEST = "no backtest was made"


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

    def rows(self) -> list[dict[str, str]]:
        """Return the changes as `kind`, `what` and `detail`, what permits more first: configuration, rules, files."""
        config = [
            {"kind": str(one.direction), "what": _member(one), "detail": one.example or _was_and_is(one.old, one.new)}
            for one in sorted(self.config, key=lambda one: _ORDER.index(one.direction))
        ]
        rules = [{"kind": str(one.kind), "what": _rule(one), "detail": _place(one)} for one in self.rules]
        files = [{"kind": "file", "what": name, "detail": ""} for name in self.files]
        return [*config, *rules, *files]

    def lines(self) -> list[str]:
        """Return the changes as lines of text."""
        return [f"{one['kind']:<8} {one['what']}  {one['detail']}".rstrip() for one in self.rows()]

    def signed_in(self, tenant_of_rules: str) -> str:
        """Return the tenant in which the change is signed; raise PolicyError if it concerns more than one.

        Rules are signed in the tenant that owns them, configuration in its own tenant; where the policy in force lets
        nobody sign there, as in a tenant that is new, in the tenant that owns the rules.
        """
        was, now = tenants_config(self.old.files), tenants_config(self.new.files)
        changed = {tenant for tenant in was.keys() | now.keys() if was.get(tenant) != now.get(tenant)}
        signing = {tenant if _signs(was.get(tenant)) else tenant_of_rules for tenant in changed}
        tenants = signing | ({tenant_of_rules} if self.files else set())
        if len(tenants) > 1:
            raise PolicyError(
                f"the change concerns {', '.join(sorted(tenants))}, and each signs its own: rules are signed in "
                f"{tenant_of_rules}, configuration in its tenant; propose one after the other"
            )
        return next(iter(tenants), tenant_of_rules)


_ORDER = (Direction.WIDER, Direction.OTHER, Direction.NARROWER, Direction.SAME)


def _signs(config: Any) -> bool:
    """Return whether a tenant's configuration lists the operation that brings a version into force."""
    for name in ("connectors", "policy", "operations", "activate"):
        config = config.get(name) if isinstance(config, dict) else None
    return config is not None


def _rule(one: RuleChange) -> str:
    return f"{one.rule.title or one.rule.path}{f' ({one.rule.code})' if one.rule.code else ''}"


def _place(one: RuleChange) -> str:
    return f"{one.rule.place.file}:{one.rule.place.row}"


def _member(one: ConfigChange) -> str:
    return ".".join((one.tenant, *one.path))


def _was_and_is(old: Any, new: Any) -> str:
    """Return two values in words: a card shows no arrow that comes from data."""
    return f"was {_value(old)}, now {_value(new)}"


def _value(value: Any) -> str:
    return "nothing" if value is None else shown_value(value)


def backtest_rows(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the decisions of a backtest's JSON report by `class`, `decisions` and `share`; all of them come first."""
    found = [(one["title"], one["decisions"], float(one["share"])) for one in report["classes"] if one["decisions"]]
    return [
        {"class": title.replace(" → ", ", now "), "decisions": f"{count:,}", "share": f"{share * 100:.2f} %"}
        for title, count, share in [(_asked(report), report["decisions"], 1.0), *found]
    ]


def _asked(report: Mapping[str, Any]) -> str:
    """Return which decisions were asked: their time, and whether they are a sample."""
    which = "All decisions" if report["sample"] is None else f"A sample of at most {report['sample']:,} decisions"
    bounds = [f"{name} {report[key]}" for name, key in (("since", "since"), ("until", "until")) if report[key]]
    return " ".join([which, *bounds])


def worst_example(report: Mapping[str, Any]) -> str:
    """Return the first example of the worst class of a backtest, or why there is none."""
    if not report["decisions"]:
        return "no decision was asked"
    examples = (one["examples"][0] for one in report["classes"] if one["examples"])
    worst = next(examples, None)
    if worst is None:
        return "nothing would have changed"
    rules = f", by {', '.join(worst['rules'])}" if worst["rules"] else ""
    why = [worst["why"]] if worst["why"] else []
    members = [f"{one['member']} {_was_and_is(one['recorded'], one['candidate'])}" for one in worst["differences"]]
    return "\n".join([f"{worst['operation']} ({worst['decision_id']} of {worst['run_id']}){rules}", *why, *members])
