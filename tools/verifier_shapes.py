"""Write what both verifiers have from one place: the shapes of records, and the names and sentences of rules.

The browser's verifier has them as modules, generated from the program's models and its procedure. What rules check is
written twice, so that one verifier can be wrong without the other.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from evidence.log_proofs import Acts, Inclusion
from evidence.names import MEMBERS
from evidence.records import ApprovalRecord, DecisionRecord, DefinitionRecord, OmittedIfNone, RunRecord, TrueAlone
from evidence.statement import Statement
from evidence.verify import forms
from evidence.verify.child_runs import ChildEnded
from evidence.verify.definition import DefinitionForm, StepForm
from evidence.verify.linked_bundles import CHILDREN, CHILDREN_SENTENCE, UNDONE, UNDONE_SENTENCE
from evidence.verify.procedure import STEPS
from evidence.verify.verify import FIRST_RULES
from evidence.verify.vote_forms import WrittenLeaf
from receipts.chain import Correlation, Leaf
from receipts.fields import Identifier, NonEmpty, Object, Sha256Hex, Texts, Timestamp
from receipts.passkey_records import PasskeyRegistered
from receipts.receipt import Receipt
from receipts.register import Register
from receipts.tenant_acts import DelegationRecorded
from receipts.usage import ReadRecord, Usage

ROOTS: tuple[type[BaseModel], ...] = (
    *(Statement, RunRecord, DefinitionRecord, DefinitionForm, Leaf, DecisionRecord, forms.DecisionForm),
    *(ApprovalRecord, forms.ApprovalForm, Receipt, ReadRecord, Register, Inclusion, Acts),
    *(PasskeyRegistered, DelegationRecorded),
    *(forms.Chosen, forms.Proposed, forms.Waiting, forms.Opened, forms.Escalated, forms.Progressed, ChildEnded),
    *(forms.Reserved, forms.Returned, forms.Spent),
    *(forms.QuestionLeaf, forms.Withdrawn, forms.Handed, forms.FellBack, forms.CancelForm, forms.SettledForm),
)
"""The models that the browser's verifier reads members and the data of leaves by."""

BESIDE: Mapping[type[BaseModel], str] = {Usage: "costsAgree", StepForm: "isOneThing"}
"""The checks of whole records, by their names in `forms.js`, which are written by hand there."""

WHOLE = (Correlation,)
"""The models of which a record names each member, whatever the program takes for one that is missing."""

WIDTH = 120
FOLDER = Path(__file__).parents[1] / "evidence/browser"
_HEADER = "// Written by `python -m tools.verifier_shapes` from the program's {what}. Do not change it here.\n"
_PLAIN = {str: "text", bool: "truth", int: "whole"}
_LEAST = {0: "natural", 1: "counted"}
_OMITTED = get_args(OmittedIfNone)[1]
_MOMENT = get_args(Timestamp)[1]
_PLAINLY = (*(one for kind in (Texts, Object, TrueAlone) for one in get_args(kind)[1:]), get_args(WrittenLeaf)[1])
"""What shapes say anyhow: lists of texts and objects, which may stand apart, true alone, and `WHOLE`."""


class ShapeError(Exception):
    """A model says something that has no shape here; the message names it."""


class Shapes:
    """The shapes of models, each behind those that it needs."""

    def __init__(self) -> None:
        self.made: dict[type[BaseModel], str] = {}
        self.used: set[str] = set()

    def add(self, model: type[BaseModel]) -> str:
        """Return the name of a model's shape, which is made where it is new."""
        name = name_of(model)
        if model not in self.made:
            if any(name == name_of(other) for other in self.made):
                raise ShapeError(f"two models are called {model.__name__}")
            self.made[model] = self._object(model)
        return name

    def of(self, kind: Any, *said: Any) -> str:
        """Return the shape of what fits a type, with what is said beside it in `Annotated` or `Field`."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of(inner[0], *inner[1:], *said)
        if origin in (Union, UnionType):
            return self._union(inner, said)
        limits = limits_of(kind, said)
        made = self._made(kind, origin, inner, limits)
        if limits:
            raise ShapeError(f"{kind} says {limits}, which has no shape")
        return made

    def _made(self, kind: Any, origin: Any, inner: Sequence[Any], limits: dict[str, Any]) -> str:
        """Return the shape of what is of one type, and take the limits that it has in it."""
        if kind is Any or kind is JsonValue:
            return self._use("anything")
        if origin is Literal:
            return self._use("oneOf", *map(json.dumps, inner))
        if origin in (list, Sequence):
            least, most = limits.pop("min_length", 0), limits.pop("max_length", None)
            bounds = [least, most] if most is not None else [least] if least else []
            return self._use("list", self.of(inner[0]), *map(str, bounds))
        if origin in (dict, Mapping):
            return self._mapping(inner[0], inner[1], limits)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.add(kind)
        if kind is int and limits.keys() & {"ge", "le"}:
            return self._number(limits.pop("ge", None), limits.pop("le", None))
        if kind is str and limits:
            return self._text(limits)
        if kind not in _PLAIN:
            raise ShapeError(f"{kind} has no shape")
        return self._use(_PLAIN[kind])

    def _use(self, name: str, *arguments: str) -> str:
        self.used.add(name)
        return f"{name}({', '.join(arguments)})" if arguments else name

    def _union(self, kinds: Sequence[Any], said: Sequence[Any]) -> str:
        """Return the shape of what is of one of several types; null only where it may be said."""
        shapes = [self.of(kind, *(one for one in said if one != _OMITTED)) for kind in kinds if kind is not NoneType]
        made = shapes[0] if len(shapes) == 1 else self._use("either", *shapes)
        return self._use("orNull", made) if NoneType in kinds and _OMITTED not in said else made

    def _mapping(self, key: Any, value: Any, limits: dict[str, Any]) -> str:
        names = limits_of(key, ())
        if not names:
            return self._use("mapping", self.of(value))
        if names.keys() != {"pattern"}:
            raise ShapeError(f"{key} says {names} of names, which has no shape")
        most = limits.pop("max_length", "Infinity")
        return self._use("namedLike", _pattern(names["pattern"]), str(most), self.of(value))

    def _number(self, least: int | None, most: int | None) -> str:
        if most is None and least in _LEAST:
            return self._use(_LEAST[least])
        bounds = ("-Infinity" if least is None else least, "Infinity" if most is None else most)
        return self._use("within", *map(str, bounds))

    def _text(self, limits: dict[str, Any]) -> str:
        """Return the shape of a text, and take the limits that it has in it."""
        for known, name in _KNOWN.items():
            if limits == dict(known):
                limits.clear()
                return self._use(name)
        parts = [self._use("like", _pattern(limits.pop("pattern")))] if "pattern" in limits else []
        if limits.keys() & {"min_length", "max_length"}:
            parts.append(self._use("long", str(limits.pop("min_length", 0)), str(limits.pop("max_length", "Infinity"))))
        return self._use("all", *parts) if len(parts) > 1 else "".join(parts)

    def _object(self, model: type[BaseModel]) -> str:
        """Return the shape of a model's records: of more members where it lets them be."""
        form = {"forbid": "closed", "allow": "open"}.get(str(model.model_config.get("extra")))
        if form is None:
            raise ShapeError(f"{model.__name__} drops members that it does not know, which has no shape")
        members = [
            self._member(field.alias or name, field, is_there=model in WHOLE or field.is_required())
            for name, field in model.model_fields.items()
        ]
        made = self._use(form, _braced(members))
        hooks = model.__pydantic_decorators__
        if bool(hooks.model_validators or hooks.field_validators) != (model in BESIDE):
            raise ShapeError(f"{model.__name__} has a check of its own, or had one: {BESIDE=} must name it")
        return self._use("all", made, BESIDE[model]) if model in BESIDE else made

    def _member(self, name: str, field: FieldInfo, *, is_there: bool) -> str:
        title = name if is_there else f"{name}?"
        key = title if re.fullmatch(r"\w+", title) else json.dumps(title)
        return f"{key}: {self.of(field.annotation, *field.metadata)}"


def limits_of(kind: Any, said: Iterable[Any]) -> dict[str, Any]:
    """Return what is said beside a type: `pattern`, `min_length`, `max_length`, `ge`, `le`, and `moment`."""
    if get_origin(kind) is Annotated:
        return limits_of(get_args(kind)[0], (*get_args(kind)[1:], *said))
    found: dict[str, Any] = {}
    for one in said:
        if isinstance(one, FieldInfo):
            found |= limits_of(kind, one.metadata)
        elif one == _MOMENT:
            found["moment"] = True
        elif one not in _PLAINLY:
            names = [each.name for each in dataclasses.fields(one)] if dataclasses.is_dataclass(one) else vars(one)
            found |= {name: getattr(one, name) for name in names if getattr(one, name) is not None}
    return found


_KNOWN: dict[tuple[tuple[str, Any], ...], str] = {
    tuple(limits_of(kind, ()).items()): name
    for kind, name in ((NonEmpty, "someText"), (Identifier, "identifier"), (Sha256Hex, "hex64"), (Timestamp, "moment"))
}


def name_of(model: type[BaseModel]) -> str:
    """Return the name of a model's shape: `APPROVAL_FORM_SHAPE` of `ApprovalForm`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", model.__name__).upper() + "_SHAPE"


def main() -> None:
    """Write what is generated."""
    for name, text in modules().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def modules() -> dict[str, str]:
    """Return the generated modules by their names."""
    return {"shapes.generated.js": shapes_module(), "rules.generated.js": rules_module()}


def shapes_module() -> str:
    """Return the module of the shapes."""
    shapes = Shapes()
    roots = {shapes.add(model) for model in ROOTS}
    lines = [_HEADER.format(what="models")]
    lines.append(f'\nimport {_braced(sorted(BESIDE.values()))} from "./forms.js";\n')
    lines.append(f'import {_braced(sorted(shapes.used))} from "./shapes.js";\n')
    for model, made in shapes.made.items():
        name = name_of(model)
        export = "export " if name in roots else ""
        lines.append(f"\n/** {(model.__doc__ or '').splitlines()[0]} */\n{export}const {name} = {made};\n")
    lines.append("\n/** What members are called that a bundle may have, beside its statement. */\n")
    lines.append(f"export const MEMBERS = {_pattern(f'^(?:{MEMBERS.pattern})$')};\n")
    return "".join(lines)


def rules_module() -> str:
    """Return the module of the rules: what each says, by its name."""
    said = {**FIRST_RULES}
    for step in STEPS:
        said |= {rule.name: rule.sentence for rule in step.rules}
        said |= {rule.name: rule.sentence for rule in step.bound}
    said |= {CHILDREN: CHILDREN_SENTENCE, UNDONE: UNDONE_SENTENCE}
    pairs = (json.dumps(pair, ensure_ascii=False) for pair in said.items())
    lines = [
        _HEADER.format(what="procedure"),
        "\n/** What each rule says, by its name, in the order of the procedure. */\n",
    ]
    return "".join([*lines, "export const SENTENCES = new Map([\n", *(f"  {pair},\n" for pair in pairs), "]);\n"])


def _pattern(pattern: str) -> str:
    """Return a pattern as a regular expression of JavaScript, which counts characters as we do."""
    return f"/{pattern.replace('/', chr(92) + '/')}/u"


def _braced(parts: Sequence[str]) -> str:
    """Return parts in braces, in one line where they fit."""
    line, lines = "", list[str]()
    for part in parts:
        if line and len(line) + len(part) + len("  , ,") > WIDTH:
            lines.append(line)
            line = ""
        line += f", {part}" if line else part
    if not lines and len(line) < WIDTH - 50:
        return f"{{{line}}}"
    return "{\n" + "".join(f"  {each},\n" for each in (*lines, line)) + "}"


if __name__ == "__main__":
    main()
