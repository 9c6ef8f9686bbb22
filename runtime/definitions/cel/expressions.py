"""CEL in texts: ``${...}`` templates and conditions, compiled once, evaluated to pure JSON or to an error.

A text that is one ``${...}`` and nothing else gives the expression's value with its type; otherwise each value is
written into the text, where only text, numbers and booleans may stand. ``$${`` writes a literal ``${``.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cel

from receipts.canonical import dumps
from runtime.definitions.cel import functions
from runtime.definitions.cel.cost import (
    CHUNK,
    MAX_STEPS,
    MAX_STEPS_HERE,
    PART,
    CostError,
    Parts,
    cost,
    cost_in_parts,
    is_metered,
    parts_of,
    split,
)
from runtime.definitions.cel.outcomes import Costly, ExpressionError, NotEvaluatedError, Outcome, TooCostlyError
from runtime.definitions.cel.syntax import Tree, parse
from runtime.definitions.cel.tokens import Reading, Reference, TokenError, calls_in, expression_end, read
from runtime.definitions.problems import hint
from runtime.functions import Function
from runtime.model.limits import MAX_INTEGER

Json = Any
_MISSING: Any = object()
"""What `_value_at` finds where there is nothing."""
Context = Mapping[str, Json]

MAX_EXPRESSION = 2048
MAX_TEXT = 65536
FUNCTIONS = frozenset(
    "contains double duration endsWith"  # noqa: SIM905 - one word a line reads worse
    " getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours"
    " getMilliseconds getMinutes getMonth getSeconds int matches size startsWith string timestamp".split()
)

PINNED = "functions()"
"""Where a context names the version of each function that may be called; without it the newest are, as at a check."""
EVALUATED = "evaluated()"
"""Where a context holds what expressions that cost much gave elsewhere; None lets them be evaluated here.

Without it nothing is evaluated that costs much.
"""

_SYNTAX = re.compile(r"ERROR: <input>:(\d+:\d+): (?:Syntax error: )?([^\n]*?)(?: expecting [^\n]*)?(?:\n|$)")
_FAULTS = (ValueError, LookupError, RuntimeError, TypeError, ArithmeticError)


@dataclass(frozen=True)
class Expression:
    """A compiled CEL expression. `only` is set where it is one reference and nothing else.

    `functions` are those of packs that it calls. `parts` says how its loop can be evaluated part by part. Only what
    `is_metered` can cost more than a few copies of what it reads.
    """

    source: str
    references: tuple[Reference, ...]
    only: Reference | None
    program: cel.Program
    tree: Tree
    is_metered: bool
    parts: Parts | None
    functions: tuple[str, ...] = ()

    @property
    def constant(self) -> bool:
        """Tell whether the value is the same in every context."""
        return not self.references

    def evaluate(self, context: Context) -> Json:
        """Return the value in `context` as JSON, or raise ExpressionError; NotEvaluatedError where that costs much."""
        try:
            if self.only is not None and (found := _value_at(self.only, context)) is not _MISSING:
                return _json(found)
            needed = _needed(context, self.references)
            if self.is_metered and self._steps(needed) > MAX_STEPS_HERE and context.get(EVALUATED, {}) is not None:
                return self._elsewhere(context, needed)
            return _json(self._value(context, needed))
        except KeyError as error:
            raise ExpressionError(f"expression '{self.source}': there is no {error.args[0]}") from error
        except CostError as error:
            raise TooCostlyError(f"expression '{self.source}': {error}") from error
        except _FAULTS as error:
            reason = str(error).split(". ", maxsplit=1)[0]
            raise ExpressionError(f"expression '{self.source}': {reason}") from error

    def _steps(self, needed: dict[str, Json]) -> int:
        """Return what it costs at most; raise CostError where that is more than any expression may."""
        items = self._items(needed)
        if self.parts is None or items is None:
            steps = cost(self.tree, needed)
        else:
            steps = cost_in_parts(self.parts.tree, _needed(needed, self.parts.references), PART, items)
        if steps > MAX_STEPS:
            raise CostError(f"it costs up to {steps} steps, and at most {MAX_STEPS} are allowed")
        return steps

    def _items(self, needed: dict[str, Json]) -> list[Json] | None:
        """Return the list that is looped over part by part, None where it goes in one."""
        items = _value_at(self.parts.over, needed) if self.parts else None
        return items if isinstance(items, list) and len(items) > CHUNK else None

    def _elsewhere(self, context: Context, needed: dict[str, Json]) -> Json:
        """Return what it gave elsewhere."""
        if EVALUATED not in context:
            raise CostError(f"it costs more than the {MAX_STEPS_HERE} steps that are allowed here")
        costly = Costly(self.source, needed, context.get(PINNED))
        outcome = context[EVALUATED].get(costly.key)
        if outcome is None:
            raise NotEvaluatedError(costly)
        if outcome.error:
            raise ExpressionError(outcome.error)
        return outcome.value

    def _value(self, context: Context, needed: dict[str, Json]) -> Json:
        calls = functions.Calls(self.functions, context.get(PINNED)) if self.functions else None
        items = self._items(needed)
        if self.parts is None or items is None:
            return _execute(self.program, needed, calls)
        rest, found = _needed(needed, self.parts.references), []
        for part in split(items):
            found += _execute(self.parts.program, {**rest, PART: part}, calls)
        return found


def _execute(program: cel.Program, variables: dict[str, Json], calls: functions.Calls | None) -> Any:
    """Return what a program gives; functions of packs are called in the versions that the definition names."""
    if calls is None:
        return program.execute(variables)
    within = cel.Context(variables=variables, functions=calls.functions)
    try:
        value = program.execute(within)
    except RuntimeError:
        if not calls.fault:
            raise
    if calls.fault:
        raise ValueError(calls.fault)
    return value


def _needed(context: Context, references: Iterable[Reference]) -> dict[str, Json]:
    """Return the part of `context` that is referred to: what is handed over is copied, so less is faster."""
    paths: dict[str, list[Sequence[str | int]]] = {}
    for reference in references:
        paths.setdefault(reference.root, []).append(reference.path)
    return {root: _pruned(context[root], below) for root, below in paths.items()}


def _pruned(value: Json, paths: Sequence[Sequence[str | int]]) -> Json:
    if not isinstance(value, Mapping) or not all(path and isinstance(path[0], str) for path in paths):
        return value
    below: dict[str | int, list[Sequence[str | int]]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    return {name: _pruned(value[name], rest) for name, rest in below.items() if name in value}


@lru_cache(maxsize=4096)
def compile_expression(source: str) -> Expression:
    """Compile `source`, or raise ExpressionError with the position of what is wrong."""
    if len(source) > MAX_EXPRESSION:
        raise ExpressionError(f"expression '{source[:40]}…' is longer than {MAX_EXPRESSION} characters")
    try:
        program = cel.compile(source)
        reading = read(source)
        called = _check(source, program, reading)
        tree = parse(source)
        parts = parts_of(source, tree)
    except ValueError as error:
        raise ExpressionError(f"expression '{source}': {_reason(error, source)}") from error
    return Expression(source, reading.references, reading.only, program, tree, is_metered(tree), parts, called)


def install(found: Iterable[Function]) -> None:
    """Have expressions know these functions, and no others: done once, where a program is put together."""
    functions.replace_all(found)
    compile_expression.cache_clear()
    compile_template.cache_clear()


def _check(source: str, program: cel.Program, reading: Reading) -> tuple[str, ...]:
    """Refuse unknown functions, and any variable that the tokens did not show; return the functions of packs."""
    known, of_packs = FUNCTIONS | functions.names(), set[str]()
    for name in program.functions():
        if name[0].isalpha() and name not in known:
            raise TokenError(f"unknown function '{name}'{hint(name, known)}")
        of_packs |= {name} - FUNCTIONS if name in known else set()
    _check_calls(source, of_packs)
    unseen = set(program.variables()) - {reference.root for reference in reading.references} - reading.bound
    if unseen:
        raise TokenError(f"cannot tell where '{min(unseen)}' comes from")
    return tuple(sorted(of_packs))


def _check_calls(source: str, of_packs: set[str]) -> None:
    for call in calls_in(source) if of_packs else ():
        if call.name not in of_packs:
            continue
        if call.is_member:
            raise TokenError(f"write {call.name}(…), with nothing before it")
        if call.arguments not in (counts := functions.counts(call.name)):
            takes = " or ".join(map(str, sorted(counts)))
            raise TokenError(f"{call.name} takes {takes} argument{'' if takes == '1' else 's'}, not {call.arguments}")


def _reason(error: ValueError, source: str) -> str:
    if isinstance(error, TokenError):
        return str(error)
    if source.startswith("${"):
        return "a condition is CEL already; write it without ${ }"
    if "Recursion limit" in str(error):
        return "nested too deep"
    found = _SYNTAX.search(str(error))
    return f"at {found[1]}: {found[2]}" if found else "not CEL"


@dataclass(frozen=True)
class Template:
    """A text with expressions in it."""

    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return the expressions in their order."""
        return tuple(part for part in self.parts if isinstance(part, Expression))

    @property
    def references(self) -> tuple[Reference, ...]:
        """Return every path that the text reads, each once."""
        return tuple(dict.fromkeys(ref for expression in self.expressions for ref in expression.references))

    @property
    def whole(self) -> Expression | None:
        """Return the expression whose typed value the text stands for, or None where it gives text."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Expression) else None

    def render(self, context: Context) -> Json:
        """Return the value in `context`: typed where the text is one expression, else text."""
        return self.whole.evaluate(context) if self.whole else self.render_text(context)

    def render_text(self, context: Context) -> str:
        """Return the text in `context`, even where it is one expression."""
        return "".join(part if isinstance(part, str) else _text(part, context) for part in self.parts)


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    """Compile `text`, or raise ExpressionError."""
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"text '{text[:40]}…' is longer than {MAX_TEXT} characters")
    parts: list[str | Expression] = []
    position = 0
    while (start := text.find("${", position)) >= 0:
        if start > position and text[start - 1] == "$":
            parts.append(text[position : start - 1] + "${")
            position = start + 2
            continue
        end = expression_end(text, start + 2)
        if end is None:
            raise ExpressionError(f"text '{text}': the ${{ at {start + 1} is not closed")
        parts += [text[position:start], compile_expression(text[start + 2 : end].strip())]
        position = end + 1
    parts.append(text[position:])
    return Template(tuple(part for part in parts if part != ""))


def is_dynamic(value: Json) -> bool:
    """Tell whether any text in `value` holds an expression."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, Mapping):
        return any(is_dynamic(member) for member in value.values())
    return isinstance(value, list) and any(is_dynamic(member) for member in value)


def render(value: Json, context: Context) -> Json:
    """Return `value` with every text in it, at any depth, rendered in `context`."""
    if isinstance(value, str):
        return compile_template(value).render(context) if "${" in value else value
    if isinstance(value, Mapping):
        return {name: render(member, context) for name, member in value.items()}
    return [render(member, context) for member in value] if isinstance(value, list) else value


def render_text(text: str, context: Context) -> str:
    """Return `text` rendered in `context` as text: for targets and idempotency keys, where null has no place."""
    return compile_template(text).render_text(context)


def evaluate_condition(source: str, context: Context) -> bool:
    """Return what the condition says in `context`; anything but a boolean is an error."""
    value = compile_expression(source).evaluate(context)
    if not isinstance(value, bool):
        raise ExpressionError(f"expression '{source}': a condition gives a boolean, not {_type_name(value)}")
    return value


def _text(expression: Expression, context: Context) -> str:
    value = expression.evaluate(context)
    if value is None or isinstance(value, (dict, list)):
        raise ExpressionError(f"expression '{expression.source}': {_type_name(value)} cannot stand in a text")
    return value if isinstance(value, str) else dumps(value).decode()


def _json(value: Any) -> Json:
    """Return `value` if JSON can say it; what it cannot say has to be converted in the expression itself."""
    if isinstance(value, str) and "\x00" in value:
        raise ValueError("it gives a NUL character, which no record can hold")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, list):
        return [_json(member) for member in value]
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("a map gives JSON only if its keys are text")
        return {name: _json(value[name]) for name in sorted(value)}  # CEL keeps no order; people should see one
    if not isinstance(value, (int, float)):
        raise ValueError(f"{type(value).__name__} is not JSON; convert it with string()")  # noqa: TRY004 - one kind
    if not math.isfinite(value):
        raise ValueError("infinity and not-a-number are not JSON")
    if abs(value) > MAX_INTEGER and value == int(value):
        raise ValueError("a whole number beyond 2^53 is not exact in JSON; convert it with string()")
    return value


def _type_name(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def evaluate_costly(costly: Costly) -> Outcome:
    """Evaluate an expression here, whatever time that takes within the limit of its cost."""
    pinned = {} if costly.pinned is None else {PINNED: costly.pinned}
    try:
        return Outcome(compile_expression(costly.source).evaluate({**costly.needed, EVALUATED: None} | pinned))
    except ExpressionError as error:
        return Outcome(None, str(error))


def _value_at(reference: Reference, context: Mapping[str, Any]) -> Any:
    """Return the value that a reference names, _MISSING where there is none."""
    value: Any = context
    for part in (reference.root, *reference.path):
        named = isinstance(part, str) and isinstance(value, Mapping) and part in value
        if not named and not (isinstance(part, int) and isinstance(value, list) and part < len(value)):
            return _MISSING
        value = value[part]
    return value
