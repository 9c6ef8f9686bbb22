"""The lint of a policy folder, from its files and, as far as there is one, from the database."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from countersign.connection import connected
from countersign.engine import validated_catalog
from countersign.foreseen_errors import CountersignError
from countersign.policy_lint_people import asked_groups, people_findings
from countersign.settings import ROOT, Settings
from policy.bundle import CONFIG, CONFIG_FILE, PolicyFolders
from policy.checks import Inspected, inspect, syntax_trees
from policy.lint.configuration import configuration_findings
from policy.lint.demands import named_in
from policy.lint.findings import Finding, TenantConfig
from policy.lint.rules import (
    FEW,
    Fired,
    Used,
    few_note,
    guards_note,
    is_shipped,
    missing,
    name_of,
    never_fired,
    silent_rule,
    undemanded,
    unlisted,
)
from policy.trace import rules_in
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.problems import DefinitionError
from runtime.services.policy_lint import TenantPeople, fired_rules, people_of

META = ROOT / "rego/meta.rego"
_PEOPLE = "groups, and people who are too few"
_DECISIONS = "rules that never fired"
_HANDLER = re.compile(r"\bhandler:\s*[\"']?([a-z0-9_]+::[a-z0-9_]+)")


@dataclass
class Linted:
    """What lint found, and notes: what was left out, and what is worth knowing."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Lint:
    """The lint of one policy; the settings say where the packs and the database are."""

    def __init__(self, opa: Path, folders: PolicyFolders, settings: Settings, now: datetime) -> None:
        """Look into the policy; raise PolicyError where it cannot be read."""
        self._opa, self._folders, self._now = opa, folders, now
        self._settings = settings.model_copy(update={"packs": list(folders.packs)})
        self._seen = inspect(opa, folders, META)
        self._configs = [] if self._seen.refused else _configs(self._seen, folders)

    def of_files(self) -> Linted:
        """Return what the files show."""
        seen, configs, found = self._seen, self._configs, Linted()
        found.findings += _as_checked(seen, self._folders)
        if seen.refused:
            found.notes.append("left out, because the configuration has flaws: everything else about it")
            return found
        modules = [named_in(str(seen.sources[name]), tree) for name, tree in self._served().items()]
        for config in configs:
            found.findings += configuration_findings(config, self._now)
        found.findings += undemanded(configs, modules)
        found.findings += missing(configs, modules)
        found.findings += unlisted(configs, modules, self._used(found))
        return found

    def _used(self, found: Linted) -> Sequence[Used]:
        """Return what the runbooks use; note where some, or all, could not be loaded."""
        try:
            used, problems = used_operations(self._settings)
        except (CountersignError, DefinitionError) as error:
            found.notes.append(f"left out, because the packs cannot be loaded: operations that runbooks use ({error})")
            return ()
        if problems:
            found.notes.append(
                f"left out: runbooks with problems, of which there are {len(problems)}:"
                " `countersign definitions check` names them"
            )
        return used

    async def of_database(self, last: int) -> Linted:
        """Return what the directory shows, and the last decisions on record; raise DatabaseError."""
        found = Linted()
        asked = {config.tenant: asked_groups(config) for config in self._configs}
        async with connected(self._settings) as conn:
            people = await people_of(conn, asked, self._now)
            fired = await fired_rules(conn, last)
        _of_people(self._configs, people, found)
        self._of_decisions(fired, found)
        return found

    def _of_decisions(self, fired: Fired, found: Linted) -> None:
        if not fired.decisions:
            found.notes.append(f"left out, because no decision is on record: {_DECISIONS}")
            return
        rules = [rule for name, tree in self._served().items() for rule in rules_in(name, tree)]
        silent = never_fired(rules, fired)
        if fired.decisions < FEW:
            found.notes.append(few_note(silent, fired))
            return
        shipped = self._shipped()
        guards = [one for one in silent if is_shipped(one, shipped)]
        ours = [one for one in silent if one not in guards]
        found.findings += [silent_rule(one, str(self._seen.sources[one.place.file]), fired) for one in ours]
        if guards:
            found.notes.append(guards_note(guards, fired))

    def _served(self) -> dict[str, Any]:
        """Return the syntax trees of what is served: a folder may hold more, as the program's own the meta-policy."""
        return {name: tree for name, tree in self._seen.trees.items() if name in self._seen.bundle.text.files}

    def _shipped(self) -> dict[str, str]:
        """Return the texts of the program's own rules by their names."""
        trees = syntax_trees(self._opa, PolicyFolders(ROOT / "rego", ()))
        return {name_of(rule): rule.text for name, tree in trees.items() for rule in rules_in(name, tree)}


def without_database(why: str) -> str:
    """Return the note about what is left out where there is no database, or none that can be used."""
    return f"left out, because {why}: {_PEOPLE}; {_DECISIONS}"


def _as_checked(seen: Inspected, folders: PolicyFolders) -> Iterator[Finding]:
    """Yield what `policy check` says of the meta-policy and of the configuration."""
    for one in seen.violations:
        yield Finding(one["file"], one["row"], "", one["code"], one["msg"])
    configs = {one.tenant: one for one in _configs(seen, folders)}
    for refused in (one.removeprefix(f"{folders.core}: ") for one in seen.refused):
        tenant, _, flaw = refused.partition(": ")
        if tenant in configs:
            yield configs[tenant].flaw(flaw)
        else:
            yield Finding(str(folders.core), 0, "", "policy.flaw", refused)


def _configs(seen: Inspected, folders: PolicyFolders) -> list[TenantConfig]:
    documents: Mapping[str, Any] = json.loads(seen.bundle.text.files[CONFIG_FILE])
    files = {name: folders.core / CONFIG / name / "data.json" for name in documents}
    return [
        TenantConfig.of(name, str(file), file.read_text(encoding="utf-8"), documents[name])
        for name, file in files.items()
    ]


def _of_people(configs: Sequence[TenantConfig], people: Mapping[str, TenantPeople], found: Linted) -> None:
    for config in configs:
        if config.tenant in people:
            found.findings += people_findings(config, people[config.tenant])
    if strange := [config.tenant for config in configs if config.tenant not in people]:
        found.notes.append(f"left out, because the database has no directory of {', '.join(strange)}: {_PEOPLE}")


def used_operations(settings: Settings) -> tuple[list[Used], Sequence[str]]:
    """Return what the runbooks of the packs have done through the gate, and the problems in what was not loaded."""
    catalog = validated_catalog(settings)
    places = dict(_places(settings.packs))
    used = [_used(handler, runbook, places) for handler, runbook in _handlers(catalog).items()]
    return used, tuple(map(str, catalog.problems))


def _used(handler: str, runbook: str, places: dict[str, tuple[str, int]]) -> Used:
    connector, operation = handler.split("::")
    file, line = places.get(handler, (runbook, 0))
    return Used(connector, operation, runbook, file, line)


def _handlers(catalog: Catalog) -> dict[str, str]:
    """Return the handlers that policy is asked about, each with the first runbook that uses it."""
    found: dict[str, str] = {}
    for (name, _), definition in sorted(catalog.definitions.items()):
        for verb in definition.verbs.values():
            if verb.passes_gate:
                found.setdefault(verb.handler, name)
    return found


def _places(packs: Sequence[Path]) -> Iterator[tuple[str, tuple[str, int]]]:
    files = sorted(file for pack in packs for file in (pack / "verbs").glob("*.yaml"))
    for file in reversed(files):
        numbered = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        yield from ((found[1], (str(file), row)) for row, line in numbered if (found := _HANDLER.search(line)))
