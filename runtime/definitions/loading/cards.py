"""What must hold for the ``card`` of a verb, and of a step that calls it."""

from collections.abc import Iterator

from runtime.definitions.cards import CardSpec
from runtime.definitions.loading.checks import card_findings
from runtime.definitions.loading.compensations import scope_of
from runtime.definitions.loading.verb_rules import RUN, pointer_path
from runtime.definitions.model import Verb
from runtime.definitions.problems import Finding
from runtime.definitions.scope import Scope

_OF_STEPS = ("trigger", "state")


def verb_card_findings(verb: Verb) -> Iterator[Finding]:
    """Yield what is wrong with the card of a (sound) verb."""
    if verb.card is not None:
        yield from _findings(verb.card, verb, Scope({}))


def step_card_findings(card: CardSpec, verb: Verb, scope: Scope) -> Iterator[Finding]:
    """Yield what is wrong with the card of a step, whose expressions may read `trigger` and `state`, too."""
    yield from _findings(card, verb, Scope({name: scope.roots.get(name) for name in _OF_STEPS}))


def _findings(card: CardSpec, verb: Verb, more: Scope) -> Iterator[Finding]:
    if not verb.passes_gate:
        yield ("card",), "rule", "'card' is for what people may be asked about: a write, or a governed read"
        return
    params = scope_of(verb).roots["request"]
    scope = Scope({"params": params, "before": None, "run": RUN, **more.roots})
    secret = [pointer_path(pointer) for pointer in verb.redact]
    for path, code, message in card_findings(card, scope, params or {}, secret):
        yield ("card", *path), code, message
