"""How far an event reaches: which steps a plan will look at, so that no others need to be loaded.

A guess, and never the last word: the planner names what is missing, and more is loaded then.
"""

from collections.abc import Iterable
from itertools import chain, islice

from runtime.definitions.model import Definition
from runtime.model.paths import around, inside, iterated, iteration
from runtime.model.run import HeldAct
from runtime.model.states import StepStatus
from runtime.planning.planner import Event, Mended, StepMoved, freed_by

NEEDS_READ = 32
"""Of a step that needs more than these, most others wait for something else as well: the rest is read if it must be."""


def reach(definition: Definition, event: Event) -> frozenset[str] | None:
    """Return the steps that planning `event` will look at, as far as one can say before; None: all of them."""
    if not isinstance(event, StepMoved | Mended) or _ends_the_run(definition, event):
        return None
    own = definition.needs(event.path) if isinstance(event, Mended) else ()
    followers = freed_by(definition, event)
    needs = list(chain.from_iterable(_some_needs(definition, follower, event.path) for follower in followers))
    branches = (inside(path, branch) for path in (event.path, *needs) for branch in definition.branches(path))
    return frozenset({event.path, *own, *followers, *needs, *branches, *_holders(event.path)})


def reach_on(definition: Definition, loaded: frozenset[str], missing: frozenset[str], depth: int) -> frozenset[str]:
    """Return what to load where the plan went on to `missing` steps: with them, `depth` rows of what follows."""
    found, row = set(loaded | missing), set(missing)
    for _ in range(depth):
        row = {follower for path in row for follower in definition.needed_by(path)}
        found |= row.union(*(definition.needs(path) for path in row))
    return frozenset(found)


def _ends_the_run(definition: Definition, event: StepMoved | Mended) -> bool:
    if isinstance(event, Mended):
        return event.act is HeldAct.END
    failed = event.status is StepStatus.FAILED_TERMINAL
    return failed and not definition.branches(event.path) and not definition.node(event.path).holds


def _holders(path: str) -> Iterable[str]:
    """Yield the steps in which a step stands, and the iteration behind each of its iterations."""
    for holder in around(path) if "." in path else ():
        yield holder
        if number := iterated(holder):
            yield iteration(number[0], number[1] + 1)


def _some_needs(definition: Definition, path: str, moved: str) -> Iterable[str]:
    """Return some of a step's needs, those behind the one that moved first: steps tend to end in their order."""
    needs = definition.needs(path)
    if len(needs) <= NEEDS_READ:
        return needs
    place = needs.index(moved)
    return islice(chain(needs[place:], needs), NEEDS_READ)
