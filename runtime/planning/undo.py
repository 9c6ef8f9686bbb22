"""Undo of a run: what of it can be taken back and why the rest cannot, and the claim of the run that undoes it.

There is one item for each effect of its steps. A step that needed attention may have wanted several effects. Each that
was done has an item; of tries that did nothing there is one where none of the step's did. What a person supplied is
theirs, not the run's, and is named as that.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from receipts.canonical import digest, dumps
from receipts.chain import Actor
from receipts.errors import ReceiptsError
from receipts.redaction import MARKER
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Compensation, Definition, EffectClass, Verb
from runtime.engine import Engine
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.steps import ParamsError
from runtime.model.undo import UNDO, Item, Standing, refs_of
from runtime.planning.step_params import resolve_params
from runtime.planning.triggers import Claim, Trigger, claim_in
from runtime.planning.undo_definition import POST_TASK, payload_of, undo_definition
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_definitions
from runtime.store.undo import effects_of, supplied_in, undoings_of


@dataclass(frozen=True)
class RunEffect:
    """An effect of a run's step, with the receipt of its success where it has one, and what undoes that already.

    `is_last` says that the step, which may have been tried anew, has wanted nothing since.
    """

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
    is_last: bool

    @property
    def what(self) -> str:
        """Return connector and operation, joined by `::`."""
        return f"{self.connector}::{self.operation}"


@dataclass(frozen=True)
class RunToUndo:
    """The run whose effects are looked at."""

    run_id: str
    tenant: str
    definition: Definition
    effects: Sequence[RunEffect]  # in the order of their receipts
    supplied: Mapping[str, str] = field(default_factory=dict)  # steps whose result a person gave, with who did

    def context(self, acted: RunEffect) -> dict[str, Any]:
        """Return what the params of a compensation may refer to."""
        run = {"id": self.run_id, "tenant": self.tenant, "definition": self.definition.name}
        said = {"request": acted.request, "response": acted.response, "before": acted.before}
        return {**said, "run": run, "tenant": self.tenant}


_HIDDEN = MARKER.removesuffix("]").encode()


def items_of(done: RunToUndo, step: str | None = None) -> list[Item]:
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


def _is_superseded(acted: RunEffect, performed: Collection[str]) -> bool:
    """Return whether an effect did nothing, and another of its step says what there is to say."""
    return _in_the_way(acted)[0] in _NOTHING and (not acted.is_last or acted.step in performed)


def _by_people(done: RunToUndo, supplied: Iterable[str], known: Collection[str]) -> Iterator[Item]:
    """Yield what people supplied for writes of which no effect was wanted at all."""
    for path in supplied:
        verb = done.definition.calls(path)
        is_write = verb is not None and verb.effect_class is EffectClass.WRITE and verb.handler != POST_TASK
        if verb is not None and is_write and path not in known:
            yield Item(path, verb.handler, "", Standing.SUPPLIED, _supplied(done.supplied[path]))


def _supplied(by: str) -> str:
    return f"{by} supplied its result: what was done for that is not the run's to undo"


def _item(done: RunToUndo, acted: RunEffect) -> Item:
    verb = done.definition.verb_of(acted.step)
    standing, why = _in_the_way(acted)
    if standing is Standing.NOT_PERFORMED and acted.step in done.supplied:
        standing, why = Standing.SUPPLIED, _supplied(done.supplied[acted.step])
    way = compensation_of(verb, acted)
    params: Mapping[str, Any] | None = None
    if standing is Standing.POSSIBLE and way is None:
        standing, why = Standing.IRREVERSIBLE, _by_hand_item(verb)
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


def compensation_of(verb: Verb, acted: RunEffect) -> Compensation | None:
    """Return what takes it back: of a request whose answer nobody wants any more, what the verb says for that.

    Where a step was tried anew that is its last request: those before had ended when it needed attention.
    """
    if verb.on_cancel is not None and acted.step_status is StepStatus.CANCELED and acted.is_last:
        return verb.on_cancel
    return verb.compensate


def _in_the_way(acted: RunEffect) -> tuple[Standing, str]:
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


def _by_hand_item(verb: Verb) -> str:
    if verb.reversible_by is None:
        return "irreversible"
    return f"only by hand: {verb.reversible_by}"


def _params(done: RunToUndo, acted: RunEffect, way: Compensation) -> Mapping[str, Any]:
    params = resolve_params(done.definition.verbs[way.verb], way.params, done.context(acted))
    if _HIDDEN in dumps(params):
        raise ParamsError("what undoing it needs is on no record: nobody may see it")
    return params


async def read_done(conn: Conn, tenant: str, run_id: str, definition: Definition) -> RunToUndo:
    """Return what a run did, with what undoes it already."""
    undoings = await undoings_of(conn, tenant, run_id)
    at_it = {receipt: undoing.run_id for undoing in undoings if not undoing.is_over for receipt in undoing.receipts}
    by_hand = {receipt: undoing.run_id for undoing in undoings if undoing.by_hand for receipt in undoing.receipts}
    rows = await effects_of(conn, run_id)
    needs_attention = any(node.needs_attention for node in definition.steps.values())
    supplied = await supplied_in(conn, run_id) if needs_attention else {}
    return RunToUndo(run_id, tenant, definition, [_run_effect(row, at_it, by_hand) for row in rows], supplied)


def _run_effect(row: dict[str, object], at_it: dict[str, str], by_hand: dict[str, str]) -> RunEffect:
    document = row["document"] if isinstance(row["document"], dict) else {}
    receipt_id = None if row["receipt_id"] is None else str(row["receipt_id"])
    return RunEffect(
        step=str(row["step"]),
        step_status=StepStatus(str(row["step_status"])),
        connector=str(row["connector"]),
        operation=str(row["operation"]),
        target=str(row["target"]),
        status=EffectStatus(str(row["status"])),
        has_begun=bool(row["has_begun"]),
        receipt_id=receipt_id,
        digest=digest(document) if receipt_id else "",
        request=document.get("request"),
        response=document.get("response"),
        before=row["before"],
        undone_in=None if row["undone_in"] is None else str(row["undone_in"]),
        being_undone_in=at_it.get(receipt_id or ""),
        by_hand_in=by_hand.get(receipt_id or ""),
        is_last=bool(row["is_last"]),
    )


async def ask_for_undo(
    engine: Engine,
    conn: Conn,
    done: RunToUndo,
    items: Sequence[Item],
    by: Actor,
    request_id: str,
    submitted_by: str = "",
) -> Claim:
    """Start the run that undoes these (possible) items, on behalf of `by`, in the caller's transaction.

    `submitted_by` is the caller that brought the wish, "" where nobody did.

    The caller has locked the run, so that each receipt is asked for once.
    """
    undoings = await undoings_of(conn, done.tenant, done.run_id)
    number = undoings[-1].number + 1 if undoings else 1
    definition = undo_definition(done.definition, done.run_id, number, items, engine.routing.doubt_groups)
    await keep_definitions(conn, done.tenant, [definition], engine.clock())
    trigger = Trigger(
        tenant=done.tenant,
        type=UNDO,
        ref=f"{refs_of(done.run_id)}{number}",
        payload=payload_of(done.run_id, items),
        requested_by=by,
        submitted_by=submitted_by or by.id,
        request_id=request_id,
    )
    claimed = await claim_in(engine, BatchedReads(conn), definition, trigger)
    conn.on_commit(engine.wakeup.poke)
    return claimed


def possible_items(items: Sequence[Item]) -> list[Item]:
    """Return the items that can be undone."""
    return [item for item in items if item.standing is Standing.POSSIBLE]
