"""How members are read: what records name is built, and JSON of whatever shape stands apart as bytes."""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from evidence import names
from evidence.verify.forms import ApprovalForm, DecisionForm
from receipts.chain import Leaf
from receipts.model import Receipt
from receipts.piecewise import Outline, Part


def outline_of(model: type[BaseModel], **more: Outline) -> Outline:
    """Return how a record of a model is read, with `more` of its members; those that neither names stand apart."""
    named = {field.alias or name: _of_type(field.annotation) for name, field in model.model_fields.items()}
    return {**named, **more}


def _of_type(said: Any) -> Outline:
    """Return how a value of a type is read; a leaf as a whole, since it has at most 64 KiB."""
    if said is Any:
        return Part.APART
    if isinstance(said, type) and issubclass(said, BaseModel):
        return Part.BUILT if issubclass(said, Leaf) else outline_of(said)
    origin, inner = get_origin(said), get_args(said)
    if origin is Annotated:
        return _of_type(inner[0])
    if origin in (Union, UnionType):
        return _merged([_of_type(one) for one in inner])
    if origin in (None, Literal) or (items := _of_type(inner[-1])) is Part.BUILT:
        return Part.BUILT
    return {"*": items}


def _merged(outlines: list[Outline]) -> Outline:
    """Return the one outline for values of several types."""
    if Part.APART in outlines:
        return Part.APART
    named = [outline for outline in outlines if isinstance(outline, Mapping)]
    return {name: how for outline in named for name, how in outline.items()} or Part.BUILT


_ITEMS_APART: Outline = {"*": Part.APART}
_OUTLINES = {
    names.DECISIONS: outline_of(DecisionForm),
    names.APPROVALS: outline_of(ApprovalForm, before=_ITEMS_APART),
    names.RECEIPTS: outline_of(Receipt, request=_ITEMS_APART, redacted=Part.APART),
}


def outline(member: str) -> Outline:
    """Return how a member is read."""
    return _OUTLINES.get(member.partition("/")[0], Part.BUILT)
