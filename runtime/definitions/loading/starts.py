"""The runbooks that escalations start: each is there, and takes what it is started with."""

from collections.abc import Iterable, Iterator, Sequence

from runtime.definitions.loading.params import check_params
from runtime.definitions.loading.runbooks import LoadedRunbook
from runtime.definitions.loading.verbs import LoadedVerb
from runtime.definitions.problems import Problem, hint, show_path
from runtime.definitions.scope import TEXT, Scope

GIVEN = ("run", "step", "reference", "what")
"""What the payload of such a run holds, as texts: who waits, and for what."""


def wrong_starts(verbs: Iterable[LoadedVerb], runbooks: Sequence[LoadedRunbook]) -> Iterator[Problem]:
    """Yield what is wrong with the runbooks that are started; one that has problems of its own is not repeated."""
    newest = {runbook.name: runbook for runbook in sorted(runbooks, key=lambda each: each.version)}
    for loaded in verbs:
        for entry in loaded.verb.escalation if loaded.verb else ():
            for message in _faults(entry.start, newest) if entry.start else ():
                yield loaded.source.problem((*loaded.path, "execution", "escalation"), "start", message)
    for runbook in newest.values():
        for path, name in runbook.starts:
            for message in _faults(name, newest):
                yield runbook.source.problem(path, "start", message)


def _faults(name: str, newest: dict[str, LoadedRunbook]) -> Iterator[str]:
    if name not in newest:
        yield f"unknown runbook '{name}'{hint(name, newest)}"
        return
    definition, given = newest[name].definition, {key: f"${{{key}}}" for key in GIVEN}
    scope = Scope(dict.fromkeys(GIVEN, TEXT))
    for fault in check_params(given, {}, definition.trigger_schema, scope) if definition else ():
        place = f"{show_path(fault.path)}: " if fault.path else ""
        yield f"'{name}' does not take what it is started with: {place}{fault.message}"
