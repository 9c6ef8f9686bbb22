"""The catalog: every definition that the packs declare, every problem in them, and what may start."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Literal

from runtime.definitions.entities import Entity
from runtime.definitions.loading.card_checks import verb_card_findings
from runtime.definitions.loading.compensations import compensation_findings
from runtime.definitions.loading.entities import Entities, checked_verb, load_entities
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook, wrong_starts
from runtime.definitions.loading.verbs import Interface, LoadedVerb, load_verbs
from runtime.definitions.loading.yaml_source import Source, SourceError, parse_source, read_source
from runtime.definitions.model import Definition, Verb
from runtime.definitions.problems import InvalidDefinitionsError, Problem, hint
from runtime.handlers import Handler

Mode = Literal["strict", "warn"]

OWN = FilePath(__file__).parent / "program"
"""The program's own definitions, in the form of a pack: runbooks named `countersign-…`, triggers `countersign.…`."""

MOST_PLACES = 20_000
"""Keys and list items of one file: each is looked at several times before anything of it may start."""

_WORD = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = re.compile(r"countersign[.-].*")


@dataclass(frozen=True)
class Catalog:
    """Definitions by (name, version). Nothing new starts under an `unavailable` name; what is stored still executes.

    `warnings` are for authors: what is probably not meant, and keeps nothing from starting. `entities` are those that
    are sound, by name.
    """

    definitions: Mapping[tuple[str, int], Definition]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    unavailable: frozenset[str]
    entities: Mapping[str, Entity]

    def latest(self, name: str) -> Definition | None:
        """Return the newest version of the runbook in the files, or None where there is none that may start."""
        versions = [version for known, version in self.definitions if known == name]
        return self.definitions[name, max(versions)] if versions and name not in self.unavailable else None

    def require(self, mode: Mode) -> None:
        """Raise InvalidDefinitionsError over any problem if `mode` is strict; warn lets the rest run."""
        if mode == "strict" and self.problems:
            raise InvalidDefinitionsError(self.problems)


def load_catalog(folders: Sequence[FilePath], handlers: Mapping[str, Handler]) -> Catalog:
    """Load the packs in `folders`, and find everything that is wrong with them at once."""
    problems: list[Problem] = []
    unreadable: set[str] = set()
    verb_sources = [_builtin()]
    entity_sources: list[Source] = []
    runbook_sources: list[Source] = []
    for path in (path for folder in folders for path in _files(folder, "entities", problems)):
        _read(path, entity_sources, problems)
    for path in (path for folder in folders for path in _files(folder, "verbs", problems)):
        _read(path, verb_sources, problems)
    for path in (path for folder in folders for path in _files(folder, "runbooks", problems)):
        if not _read(path, runbook_sources, problems):
            unreadable.add(path.stem)
    warnings: list[Problem] = []
    entities = load_entities(entity_sources, problems)
    loaded, verbs = _verbs(verb_sources, handlers, entities, problems, warnings)
    runbooks = [load_runbook(source, verbs) for source in runbook_sources]
    problems += wrong_starts(loaded, runbooks)
    problems += (problem for runbook in runbooks for problem in runbook.problems)
    warnings += (warning for runbook in runbooks for warning in runbook.warnings)
    repeated = _repeated(runbooks, problems)
    reserved = set() if OWN in folders else _reserved(runbooks, problems)
    unavailable = unreadable | {_name(runbook) for runbook in runbooks if runbook.definition is None}
    unavailable |= {name for name, _ in repeated} | reserved | _contested(runbooks, problems)
    definitions = {
        (runbook.name, runbook.version): runbook.definition
        for runbook in runbooks
        if runbook.definition and (runbook.name, runbook.version) not in repeated and runbook.name not in reserved
    }
    return Catalog(
        definitions,
        tuple(sorted(set(problems))),
        tuple(sorted(set(warnings))),
        frozenset(unavailable),
        {name: entity for name, entity in entities.items() if entity is not None},
    )


def _builtin() -> Source:
    return parse_source(files(__package__).joinpath("builtin.yaml").read_bytes(), "builtin.yaml")


def _files(folder: FilePath, kind: str, problems: list[Problem]) -> list[FilePath]:
    """Return the YAML files of one kind in a pack; what would be passed over in silence is a problem."""
    if not folder.is_dir():
        problems.append(Problem(str(folder), 1, "$", "pack", "there is no such folder"))
        return []
    present = sorted(path for path in (folder / kind).glob("*") if not path.name.startswith("."))
    read = [path for path in present if path.suffix == ".yaml"]
    message = "only files that end in .yaml are read"
    problems += (Problem(str(path), 1, "$", "pack", message) for path in present if path not in read)
    return read


def _read(path: FilePath, sources: list[Source], problems: list[Problem]) -> bool:
    try:
        source = read_source(path, str(path))
    except SourceError as error:
        problems.append(error.problem)
        return False
    if len(source.lines) > MOST_PLACES:
        message = f"has {len(source.lines):,} keys and list items, and may have {MOST_PLACES:,}"
        problems.append(Problem(str(path), 1, "$", "yaml", message))
        return False
    sources.append(source)
    return True


def _name(runbook: LoadedRunbook) -> str:
    return runbook.name or FilePath(runbook.source.file).stem


def _verbs(
    sources: Iterable[Source],
    handlers: Mapping[str, Handler],
    entities: Entities,
    problems: list[Problem],
    warnings: list[Problem],
) -> tuple[Iterable[LoadedVerb], dict[str, Verb | Interface | None]]:
    """Return every verb as it was loaded, and by name: of one with a problem what is sound, None where two share it."""
    first: dict[str, LoadedVerb] = {}
    verbs: dict[str, Verb | Interface | None] = {}
    for source in sources:
        loaded, of_file = load_verbs(source, handlers)
        problems += of_file
        for verb in (checked_verb(one, entities) for one in loaded):
            problems += verb.problems
            warnings += verb.warnings
            if verb.name and verb.name in first:
                problems.append(_declared_twice(verb, first[verb.name]))
            verbs[verb.name] = None if verb.name in first else verb.verb or verb.interface
            first.setdefault(verb.name, verb)
    problems += _dangling_reversals(first.values(), verbs)
    problems += _without_way_back(first.values(), verbs)
    return first.values(), verbs


def _without_way_back(loaded: Iterable[LoadedVerb], verbs: dict[str, Verb | Interface | None]) -> list[Problem]:
    """Return what is wrong with how verbs are taken back, and with cards; `verbs` keeps their interface."""
    found: list[Problem] = []
    for each in loaded:
        if each.verb is None or verbs[each.name] is not each.verb:
            continue
        for path, code, message in (*compensation_findings(each.verb, verbs), *verb_card_findings(each.verb)):
            found.append(each.source.problem((*each.path, *path), code, message))
            verbs[each.name] = each.interface
    return found


def _declared_twice(verb: LoadedVerb, first: LoadedVerb) -> Problem:
    place = first.source.problem(first.path, "", "")
    message = f"the verb '{verb.name}' is declared already in {place.file}:{place.line}"
    return verb.source.problem((*verb.path, "name"), "duplicate", message)


def _dangling_reversals(loaded: Iterable[LoadedVerb], verbs: Mapping[str, object]) -> Iterable[Problem]:
    """Yield the reversals that are one word, hence meant as a verb, and name none."""
    for each in loaded:
        by = each.verb.reversible_by if each.verb else None
        if by and _WORD.fullmatch(by) and by not in verbs:
            message = f"unknown verb '{by}'{hint(by, verbs)}; to describe how, write a sentence"
            yield each.source.problem((*each.path, "effect", "reversible", "by"), "unknown_verb", message)


def _repeated(runbooks: Iterable[LoadedRunbook], problems: list[Problem]) -> set[tuple[str, int]]:
    """Return the (name, version) pairs that stand in two files, after reporting them."""
    first: dict[tuple[str, int], str] = {}
    repeated = set()
    for runbook in runbooks:
        key = (runbook.name, runbook.version)
        if runbook.version and first.setdefault(key, runbook.source.file) != runbook.source.file:
            message = f"version {runbook.version} of '{runbook.name}' stands already in {first[key]}"
            problems.append(runbook.source.problem(("version",), "duplicate", message))
            repeated.add(key)
    return repeated


def _reserved(runbooks: Iterable[LoadedRunbook], problems: list[Problem]) -> set[str]:
    """Return the runbooks whose name or trigger type is the program's own, after reporting them."""
    reserved = set()
    for each in runbooks:
        for path, word in ((("name",), each.name), (("trigger", "type"), each.trigger_type)):
            if _RESERVED.fullmatch(word):
                problems.append(each.source.problem(path, "reserved", f"'{word}': what begins so is the program's own"))
                reserved.add(each.name)
    return reserved


def _contested(runbooks: Iterable[LoadedRunbook], problems: list[Problem]) -> set[str]:
    """Return the names whose newest versions claim the same triggers as another name's, after reporting them.

    Whether two conditions can hold of one trigger is found out by a trigger alone, unless they are the same.
    """
    newest = {runbook.name: runbook for runbook in sorted(runbooks, key=lambda each: each.version)}
    claims: dict[str, list[LoadedRunbook]] = {}
    for runbook in newest.values():
        claims.setdefault(runbook.trigger_type, []).append(runbook)
    contested = set()
    for type_, claimants in claims.items():
        names = sorted(runbook.name for runbook in claimants)
        if type_ and len(names) > 1:
            conditions = {runbook.when for runbook in claimants}
            if None not in conditions and len(conditions) == len(claimants):
                continue  # each says when it takes one
            contested |= set(names)
            message = f"the trigger type '{type_}' is claimed by {' and '.join(names)}"
            message += ", and each has to say another 'when'" if conditions != {None} else ""
            problems += (each.source.problem(("trigger", "type"), "trigger_claim", message) for each in claimants)
    return contested
