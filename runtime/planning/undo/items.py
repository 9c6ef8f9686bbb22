"""What of a run can be taken back, and why the rest cannot: one item for each effect of its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.canonical import dumps
from receipts.errors import ReceiptsError
from receipts.redaction import MARKER
from runtime.definitions.cel.expressions import ExpressionError
from runtime.definitions.model import Compensation, Definition, Verb
from runtime.model.errors import ParamsError
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.undo import Item, Standing
from runtime.planning.params import resolve_params
from runtime.planning.undo.by_hand import POST_TASK

_HIDDEN = MARKER.removesuffix("]").encode()


@dataclass(frozen=True)
class Acted:
    """An effect of a run's step, with the receipt of its success where it has one, and what undoes that already."""

    step: str
    step_status: StepStatus
    connector: str
    operation: str
    target: str
    status: EffectStatus
    has_begun: bool
    receipt_id: str | None
    digest: str  # of the receipt; "" where there is none
    request: Any
    response: Any
    before: Any
    undone_in: str | None  # the run that undid it
    being_undone_in: str | None  # … or that is at it
    by_hand_in: str | None  # … or in which people said that they did it by hand

    @property
    def what(self) -> str:
        """Return connector and operation, joined by `::`."""
        return f"{self.connector}::{self.operation}"


@dataclass(frozen=True)
class Done:
    """The run whose effects are looked at."""

    run_id: str
    tenant: str
    definition: Definition
    effects: Sequence[Acted]  # in the order of their receipts

    def context(self, acted: Acted) -> dict[str, Any]:
        """Return what the params of a compensation may refer to."""
        run = {"id": self.run_id, "tenant": self.tenant, "definition": self.definition.name}
        said = {"request": acted.request, "response": acted.response, "before": acted.before}
        return {**said, "run": run, "tenant": self.tenant}


def items_of(done: Done, step: str | None = None) -> list[Item]:
    """Return what of a run, or of one step, can be undone and what not: in the order in which it is undone.

    That is the order of the receipts, backwards: what came last rests on what came before.
    """
    wanted = [one for one in done.effects if step in (None, one.step)]
    return [_item(done, one) for one in reversed(wanted) if one.what != POST_TASK]  # a review changes nothing


def _item(done: Done, acted: Acted) -> Item:
    verb = done.definition.verb_of(acted.step)
    standing, why = _in_the_way(acted)
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
    """Return what takes it back: of a request whose answer nobody wants any more, what the verb says for that."""
    if verb.on_cancel is not None and acted.step_status is StepStatus.CANCELED:
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
