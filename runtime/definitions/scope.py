"""What expressions may refer to, and what types they are known to give."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runtime.definitions.cel.expressions import Expression, compile_expression, compile_template, is_dynamic
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.cel.tokens import Reference
from runtime.definitions.problems import Path, hint
from runtime.definitions.schemas import DanglingError, Json, Schema, deref, resolve, type_of, types

TEXT: Schema = {"type": "string"}

_STATUS: Schema = {"type": "string", "enum": ["succeeded", "skipped"]}
_STATUS_HANDLED: Schema = {"type": "string", "enum": ["succeeded", "skipped", "failed_handled"]}
_STEP_MEMBERS = ("result", "status")
_APPROVAL: Schema = {"type": "object", "properties": {"signers": {"type": "array", "items": TEXT}}}
_OF_STEPS = ("steps", "approvals")
"""The variables that hold something of each step."""


@dataclass(frozen=True)
class Scope:
    """Root variables with their schemas, and steps with the schemas of their results.

    A schema that is None says nothing, so that one mistake does not cause reports of others. `handled` are the steps
    whose failure a branch takes up.
    """

    roots: Mapping[str, Schema | None]
    steps: Mapping[str, Schema | None] | None = None
    handled: frozenset[str] = frozenset()

    def types_at(self, reference: Reference) -> frozenset[str] | None:
        """Return the types that may stand at `reference`, None where unknown, or raise DanglingError."""
        if reference.root in _OF_STEPS and self.steps is not None:
            return self._step_types(self.steps, reference)
        if reference.root not in self.roots:
            known = [*self.roots, *(_OF_STEPS if self.steps is not None else [])]
            raise DanglingError(f"unknown variable '{reference.root}'{hint(reference.root, known)}")
        return _types_in(self.roots[reference.root], reference.path)

    def _step_types(self, steps: Mapping[str, Schema | None], reference: Reference) -> frozenset[str] | None:
        if not reference.path:
            member = "steps.fetch.result" if reference.root == "steps" else "approvals.file.signers"
            raise DanglingError(f"name the step that is meant, as in {member}")
        step, *rest = reference.path
        if step not in steps:
            raise DanglingError(f"unknown step '{step}'{hint(step, steps)}")
        if reference.root == "approvals":
            return _types_in(_APPROVAL, tuple(rest))
        if not rest or rest[0] not in _STEP_MEMBERS:
            raise DanglingError(f"a step has result and status{hint(rest[0], _STEP_MEMBERS) if rest else ''}")
        return _types_in(steps[str(step)] if rest[0] == "result" else self._status(step), tuple(rest[1:]))

    def _status(self, step: str | int) -> Schema:
        return _STATUS_HANDLED if step in self.handled else _STATUS

    def values_at(self, reference: Reference) -> tuple[Json, ...]:
        """Return the only values that may stand at `reference`; nothing where the schema admits others."""
        if reference.root == "steps" and reference.path[1:] == ("status",):
            return tuple(self._status(reference.path[0])["enum"])
        if reference.root == "steps" and self.steps is not None and reference.path[1:2] == ("result",):
            return _values_in(self.steps.get(str(reference.path[0])), reference.path[2:])
        return _values_in(self.roots.get(reference.root), reference.path)

    def schema_at(self, reference: Reference) -> Schema | None:
        """Return the schema of what stands at `reference`, in which nothing dangles; None where nothing says it."""
        root, path = self.roots.get(reference.root), reference.path
        if reference.root == "approvals" and self.steps is not None:
            root, path = _APPROVAL, path[1:]
        if reference.root == "steps" and self.steps is not None:
            step, *rest = path
            root, path = (self.steps.get(str(step)), tuple(rest[1:])) if rest[:1] == ["result"] else (TEXT, ())
        schema = None if root is None else resolve(root, path)
        return None if root is None or schema is None else deref(root, schema)

    def dangling(self, references: Iterable[Reference]) -> list[str]:
        """Return for each reference that leads nowhere a sentence that says so."""
        found = []
        for reference in references:
            try:
                self.types_at(reference)
            except DanglingError as error:
                found.append(f"dangling reference '{reference}': {error}")
        return found

    def types_of(self, expression: Expression) -> frozenset[str] | None:
        """Return the types that `expression`, in which nothing dangles, may give, or None where unknown."""
        if expression.only:
            return self.types_at(expression.only)
        return frozenset({type_of(expression.evaluate({}))}) if expression.constant else None


def _types_in(schema: Schema | None, path: Path) -> frozenset[str] | None:
    return None if schema is None else types(schema, resolve(schema, path))


def _values_in(root: Schema | None, path: Path) -> tuple[Json, ...]:
    schema = None if root is None else resolve(root, path)
    found = {} if root is None or schema is None else deref(root, schema)
    return tuple(found.get("enum", [found["const"]] if "const" in found else ()))


def references_in(value: Json) -> set[Reference]:
    """Return what expressions in `value` read; one that does not compile reads nothing."""
    if isinstance(value, str):
        try:
            return set(compile_template(value).references) if is_dynamic(value) else set()
        except ExpressionError:
            return set()
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return set().union(*map(references_in, members))


def references_in_condition(source: str | None) -> set[Reference]:
    """Return what a condition reads; one that does not compile reads nothing."""
    try:
        return set(compile_expression(source).references) if source else set()
    except ExpressionError:
        return set()


def steps_of(references: Iterable[Reference]) -> set[str]:
    """Return the ids of the steps of which something is read."""
    return {str(reference.path[0]) for reference in references if reference.root in _OF_STEPS and reference.path}
