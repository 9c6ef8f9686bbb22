"""What of a run can be taken back, and why the rest cannot: one item for each effect of its steps.

A step that was held may have wanted several effects. Each that was done has an item; of tries that did nothing there is
one where none of the step's did. What a person supplied is theirs, not the run's, and is named as that.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from receipts.canonical import dumps
from receipts.errors import ReceiptsError
from receipts.redaction import MARKER
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Compensation, EffectClass, Verb
from runtime.model.errors import ParamsError
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.undo import Item, Standing
from runtime.planning.params import resolve_params
from runtime.planning.undo_acts import Acted, Done
from runtime.planning.undo_by_hand import POST_TASK

_HIDDEN = MARKER.removesuffix("]").encode()


def items_of(done: Done, step: str | None = None) -> list[Item]:
    """Return what of a run, or of one step, can be undone and what not: in the order in which it is undone.

    That is the order of the receipts, backwards: what came last rests on what came before.
    """
    wanted = [
        one
        for one in done.effects
        if step in (None, one.step) and one.what != POST_TASK and not done.definition.verb_of(one.step).governed
    ]  # neither a review nor a read changes anything
    performed = {one.step for one in wanted if one.receipt_id is not None}
    items = [_item(done, one) for one in reversed(wanted) if not _is_superseded(one, performed)]
    given = [path for path in done.supplied if step in (None, path)]
    return [*items, *_by_people(done, given, {one.step for one in wanted})]


_NOTHING = frozenset({Standing.NOT_PERFORMED, Standing.ELSEWHERE})
"""How an effect stands that did nothing in this run."""


def _is_superseded(acted: Acted, performed: Collection[str]) -> bool:
    """Return whether an effect did nothing, and another of its step says what there is to say."""
    return _in_the_way(acted)[0] in _NOTHING and (not acted.is_last or acted.step in performed)


def _by_people(done: Done, supplied: Iterable[str], known: Collection[str]) -> Iterator[Item]:
    """Yield what people supplied for writes of which no effect was wanted at all."""
    for path in supplied:
        verb = done.definition.calls(path)
        is_write = verb is not None and verb.effect_class is EffectClass.WRITE and verb.handler != POST_TASK
        if verb is not None and is_write and path not in known:
            yield Item(path, verb.handler, "", Standing.SUPPLIED, _supplied(done.supplied[path]))


def _supplied(by: str) -> str:
    return f"{by} supplied its result: what was done for that is not the run's to undo"


def _item(done: Done, acted: Acted) -> Item:
    verb = done.definition.verb_of(acted.step)
    standing, why = _in_the_way(acted)
    if standing is Standing.NOT_PERFORMED and acted.step in done.supplied:
        standing, why = Standing.SUPPLIED, _supplied(done.supplied[acted.step])
    way = way_back(verb, acted)
    params: Mapping[str, Any] | None = None
    if standing is Standing.POSSIBLE and way is None:
        standing, why = Standing.IRREVERSIBLE, _by_hand(verb)
    elif standing is Standing.POSSIBLE and way is not None:
        try:
            params = _params(done, acted, way)
        except (ExpressionError, ParamsError, ReceiptsError) as error:
            standing, why = Standing.NOT_KNOWN, str(error)
    return Item(
        step=acted.step,
        what=acted.what,
        target=acted.target,
        standing=standing,
        why=why,
        receipt_id=acted.receipt_id,
        digest=acted.digest,
        by=way.verb if way and params is not None else "",
        params=params,
    )


def way_back(verb: Verb, acted: Acted) -> Compensation | None:
    """Return what takes it back: of a request whose answer nobody wants any more, what the verb says for that.

    Where a step was tried anew that is its last request: those before had ended when it was held.
    """
    if verb.on_cancel is not None and acted.step_status is StepStatus.CANCELED and acted.is_last:
        return verb.on_cancel
    return verb.compensate


def _in_the_way(acted: Acted) -> tuple[Standing, str]:
    if acted.undone_in is not None:
        return Standing.UNDONE, f"undone by {acted.undone_in}"
    if acted.by_hand_in is not None:
        return Standing.UNDONE, f"undone by hand, as {acted.by_hand_in} tells"
    if acted.being_undone_in is not None:
        return Standing.BEING_UNDONE, f"{acted.being_undone_in} is at it"
    if acted.receipt_id is not None:
        return Standing.POSSIBLE, ""
    if acted.status is EffectStatus.DISPATCHED:
        return Standing.ELSEWHERE, "its key had performed it for another run"
    if acted.status is EffectStatus.IN_DOUBT:
        return Standing.IN_DOUBT, "nobody knows yet whether it happened"
    if acted.has_begun:
        return Standing.UNDER_WAY, "an attempt is under way"
    return Standing.NOT_PERFORMED, f"not performed: {acted.status}"


def _by_hand(verb: Verb) -> str:
    if verb.reversible_by is None:
        return "irreversible"
    return f"only by hand: {verb.reversible_by}"


def _params(done: Done, acted: Acted, way: Compensation) -> Mapping[str, Any]:
    params = resolve_params(done.definition.verbs[way.verb], way.params, done.context(acted))
    if _HIDDEN in dumps(params):
        raise ParamsError("what undoing it needs is on no record: nobody may see it")
    return params
