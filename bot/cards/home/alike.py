"""In what several requests are alike, and in what they differ: what a person has to see who decides them by one act."""

from collections.abc import Sequence

from bot.cards.blocks import Block, bold, plain_text, rows_of
from bot.cards.layout.values import LABEL, in_line, label
from bot.cards.text import Shown, inline, units
from bot.cards.wording import headline, requirement, undone_by
from runtime.desk.model import ApprovalView
from runtime.model.approvals.approval import AskKind

Facts = dict[tuple[str, str], Shown]
"""A value in one line by what it is of: our own word for it and "", or "" and the name of a field."""

_VALUE, _LINE, _MOST = 120, 400, 12
_NONE = Shown("—")


def facts_of(view: ApprovalView) -> Facts:
    """Return what a request is about, field by field."""
    is_review = view.kind is AskKind.TASK
    own = {
        "What happens": headline(view),
        "Runbook": view.run_title,
        "Operation": view.operation,
        "Target": view.target,
        "Tier": "" if is_review else view.tier,
        "Undone by": undone_by(view),
        "Needed": requirement(view),
        "Asked by": view.requester,
    }
    known = {(name, ""): inline(value, _VALUE) for name, value in own.items() if value}
    return {**known, **{("", field.name): in_line_of(field.after) for field in view.fields}}


def in_line_of(value: object) -> Shown:
    """Return a value of a field in one line."""
    return inline(str(value), _VALUE) if isinstance(value, dict | list) else in_line(value, _VALUE)


def alike(views: Sequence[ApprovalView]) -> tuple[list[Block], list[Block]]:
    """Return as rows in what all are alike, and in what they differ with some of the values; the rest is counted."""
    facts = [facts_of(view) for view in views]
    names = list(dict.fromkeys(name for one in facts for name in one))
    values = {name: list(dict.fromkeys(one.get(name, _NONE) for one in facts)) for name in names}
    same = [(_named(name), plain_text(found[0])) for name, found in values.items() if len(found) == 1]
    other = [(_named(name), plain_text(_several(found))) for name, found in values.items() if len(found) > 1]
    return _bounded(same), _bounded(other)


def _named(name: tuple[str, str]) -> Block:
    return bold(name[0]) if name[0] else plain_text(label((name[1],), LABEL))


def _several(values: Sequence[Shown]) -> Shown:
    words, shown = f"{len(values):,} values: ", list[Shown]()
    for value in values:
        if sum(map(units, shown)) + units(value) > _LINE:
            break
        shown.append(value)
    rest = len(values) - len(shown)
    return Shown(f"{words}{' · '.join(shown)}{f' · … {rest:,} more' if rest else ''}")


def _bounded(pairs: list[tuple[Block, Block]]) -> list[Block]:
    rest = len(pairs) - _MOST
    more = [(bold("And more"), plain_text(Shown(f"… {rest:,} more fields — Show all")))] if rest > 0 else []
    return rows_of([*pairs[:_MOST], *more])
