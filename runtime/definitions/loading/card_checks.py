"""Checks of a declared ``card`` of a verb or a step: its texts compile, lead somewhere, and read nothing hidden."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.definitions.cards import CardSpec, FieldSpec, TableSpec
from runtime.definitions.cel.expressions import Template, compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.compensations import scope_of
from runtime.definitions.loading.params import check_text
from runtime.definitions.loading.verb_rules import RUN, pointer_path
from runtime.definitions.model import Verb
from runtime.definitions.problems import Finding, Path, hint
from runtime.definitions.schemas import Schema, deref, resolve
from runtime.definitions.scope import Scope

_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]+)?(/|$)")
_SHAPED_LIKE_PARAMS = ("params", "before")


def card_findings(card: CardSpec, scope: Scope, params: Mapping[str, Any], secret: Sequence[Path]) -> Iterator[Finding]:
    """Yield what is wrong with a card, each at its place below it.

    `params` is the schema of what is asked for, which `before` has too; `secret` leads to what nobody may see in it.
    """
    for path, text, seen in _texts(card, scope):
        yield from _text_findings(path, text, seen, secret)
    for index, link in enumerate(card.links):
        if not _ADDRESS.match(link.url):
            message = "an address begins with https:// and the name of its host, which no value may choose"
            yield ("links", index, "url"), "rule", message
    for index, table in enumerate(card.tables):
        yield from _rows_findings(("tables", index, "rows"), table, scope)
    known = params.get("properties", {})
    for index, name in enumerate(card.hide):
        if known and name not in known:
            yield ("hide", index), "dangling_reference", f"there is no param '{name}'{hint(name, known)}"


def _texts(card: CardSpec, scope: Scope) -> Iterator[tuple[Path, str, Scope]]:
    """Yield every text with expressions, with what it may refer to."""
    for name in ("title", "summary"):
        if (text := getattr(card, name)) is not None:
            yield (name,), text, scope
    yield from (((*path, "value"), field.value, scope) for path, field in _fields(("fields",), card.fields))
    for index, table in enumerate(card.tables):
        yield ("tables", index, "rows"), table.rows, scope
        inner = Scope({**scope.roots, "row": _row(table, scope)})
        columns = _fields(("tables", index, "columns"), table.columns)
        yield from (((*path, "value"), column.value, inner) for path, column in columns)
    for index, link in enumerate(card.links):
        yield ("links", index, "url"), link.url, scope


def _fields(path: Path, fields: Sequence[FieldSpec]) -> Iterator[tuple[Path, FieldSpec]]:
    yield from (((*path, index), field) for index, field in enumerate(fields))


def _text_findings(path: Path, text: str, scope: Scope, secret: Sequence[Path]) -> Iterator[Finding]:
    template = _compiled(text)
    if template is None or path[-1] in ("title", "summary", "url"):
        yield from ((path, fault.code, fault.message) for fault in check_text(text, scope))
    else:
        yield from ((path, "dangling_reference", message) for message in scope.dangling(template.references))
    for name in sorted({name for one in template.expressions for name in one.functions} if template else ()):
        yield path, "rule", f"'{name}' is a function of a pack; a card is made of CEL's own"
    for reference in template.references if template else ():
        read = reference.path
        reads = (read[: len(hidden)] == hidden or hidden[: len(read)] == read for hidden in secret)
        if reference.root in _SHAPED_LIKE_PARAMS and any(reads):
            yield path, "rule", f"'{reference}' is redacted and may not show"


def _compiled(text: str) -> Template | None:
    try:
        return compile_template(text)
    except ExpressionError:
        return None


def _rows_findings(path: Path, table: TableSpec, scope: Scope) -> Iterator[Finding]:
    template = _compiled(table.rows)
    if template is None or scope.dangling(template.references):
        return  # a problem of its own
    types = scope.types_of(template.whole) if template.whole else frozenset({"string"})
    if types is not None and "array" not in types:
        yield path, "type_mismatch", f"the rows of a table are a list, not {' or '.join(sorted(types))}"


def _row(table: TableSpec, scope: Scope) -> Schema | None:
    """Return the schema of a row, None where it may be anything."""
    template = _compiled(table.rows)
    reference = template.whole.only if template and template.whole else None
    root = scope.roots.get(reference.root) if reference else None
    if reference is None or root is None or scope.dangling([reference]):
        return None
    rows = resolve(root, reference.path)
    items = deref(root, rows).get("items") if rows else None
    return {**items, "definitions": root.get("definitions", {})} if isinstance(items, Mapping) else None


_OF_STEPS = ("trigger", "state")


def verb_card_findings(verb: Verb) -> Iterator[Finding]:
    """Yield what is wrong with the card of a (sound) verb."""
    if verb.card is not None:
        yield from _findings_at(verb.card, verb, Scope({}))


def step_card_findings(card: CardSpec, verb: Verb, scope: Scope) -> Iterator[Finding]:
    """Yield what is wrong with the card of a step, whose expressions may read `trigger` and `state`, too."""
    yield from _findings_at(card, verb, Scope({name: scope.roots.get(name) for name in _OF_STEPS}))


def _findings_at(card: CardSpec, verb: Verb, more: Scope) -> Iterator[Finding]:
    if not verb.passes_gate:
        yield ("card",), "rule", "'card' is for what people may be asked about: a write, or a governed read"
        return
    params = scope_of(verb).roots["request"]
    scope = Scope({"params": params, "before": None, "run": RUN, **more.roots})
    secret = [pointer_path(pointer) for pointer in verb.redact]
    for path, code, message in card_findings(card, scope, params or {}, secret):
        yield ("card", *path), code, message
