"""Cost of an expression at most, counted before it is evaluated: from its tree and the sizes of its values alone.

So the same input costs the same on every machine and whenever a plan is made again. A step is about what it takes to
evaluate one operator, or to copy one value. The CEL library copies a member for each dot, and for each item of a loop
the item and all that `map` and `filter` have gathered so far; the bound counts that.

What the library gathers it copies for each item, so its time grows as the square of a list. Loops of `map` and `filter`
over a list of the context, and chains of them, can be evaluated part by part instead; that of parts does not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cel

from runtime.definitions.cel import functions
from runtime.definitions.cel.sizes import Bounded, Json, Known, Shape, Size, either
from runtime.definitions.cel.syntax import Built, Call, Choice, Literal, Loop, Name, Operation, Select, Tree, parse
from runtime.definitions.cel.tokens import Reference, read

MAX_STEPS = 100_000_000
"""Steps that an expression may cost."""
MAX_STEPS_HERE = 500_000
"""Steps that it may cost where other work waits for it; what costs more is evaluated in a process for that."""
MAX_BUILT = 32 * 1024 * 1024
"""Bytes that a list, an object or a text may take which an expression builds."""
HANDED_OVER = 10
"""Steps for each value that goes into the library, or comes out of it."""
CHUNK = 8
"""Items in one go of an outermost loop: what a loop gathers is copied for each item, so few at a time cost less."""
_CALL = 100
"""Steps for a call of a pack's function, beside what it takes and gives."""
_SCALAR = Bounded(Size(1, 400), 0)
"""A number, boolean or time, or either as text."""
_MAX_PATTERN = 3_000_000
"""Steps to compile a regular expression at most: the library refuses larger ones."""
_ATOM = re.compile(r"\\[\s\S]|\{(?P<least>\d{1,9})(?:,(?P<most>\d{0,9}))?\}|[\s\S]")
_LARGE_CLASSES = (r"\w", r"\W", r"\p", r"\P")

Shapes = Mapping[str, Shape]


class CostError(ValueError):
    """The expression costs more than it may; the message says what of."""


def cost(tree: Tree, variables: Mapping[str, Json]) -> int:
    """Return the steps that evaluating `tree` takes at most; raise CostError where it builds what is too large."""
    return _whole(tree, {name: Known([value]) for name, value in variables.items()})[1]


def cost_in_parts(tree: Tree, variables: Mapping[str, Json], part: str, items: Sequence[Json]) -> int:
    """Return what it takes to evaluate `tree` for each part of `items` by itself: the variable `part` holds one."""
    parts = split(items)
    known: dict[str, Shape] = {name: Known([value]) for name, value in variables.items()}
    result, steps = _whole(tree, {**known, part: Known(parts)})
    _kept(Bounded(result.size.times(len(parts))))
    return len(parts) * steps


def is_metered(tree: Tree) -> bool:
    """Tell whether a tree can cost more than a few copies of what it reads: it loops, adds, or calls what does."""
    match tree:
        case Loop():
            return True
        case Call(name, arguments):
            return name == "matches" or name in functions.names() or any(map(is_metered, arguments))
        case Operation(sign, left, right):
            return sign == "+" or (left is not None and is_metered(left)) or is_metered(right)
        case Select(of, at):
            return is_metered(of) or is_metered(at)
        case Choice(when, then, otherwise):
            return any(map(is_metered, (when, then, otherwise)))
        case Built(members):
            return any(map(is_metered, members))
    return False


def split(items: Sequence[Json]) -> list[Sequence[Json]]:
    """Return the parts in which a list is looped over."""
    return [items[start : start + CHUNK] for start in range(0, len(items), CHUNK)]


def _whole(tree: Tree, known: Shapes) -> tuple[Shape, int]:
    """Return the result and the steps, those among them that it takes to hand over what goes in and comes out."""
    shape, steps = _of(tree, known)
    return shape, steps + HANDED_OVER * (shape.size.steps + sum(each.size.steps for each in known.values()))


def _of(tree: Tree, known: Shapes) -> tuple[Shape, int]:
    """Return what a tree gives, and the steps."""
    match tree:
        case Literal(value, length):
            return (Known([value]), 1) if length == 0 or value is not None else (Bounded(Size(1, length), 0), 1)
        case Name(name):
            return known.get(name, _SCALAR), 1
        case Select(of, at):
            return _select(of, at, known)
        case Choice(when, then, otherwise):
            (left, a), (right, b) = _of(then, known), _of(otherwise, known)
            return either(left, right), 1 + _of(when, known)[1] + max(a, b)
        case Operation():
            return _operation(tree, known)
        case Built():
            return _built(tree, known)
        case Call():
            return _call(tree, known)
        case Loop():
            return _loop(tree, known)


def _select(of: Tree, at: Tree, known: Shapes) -> tuple[Shape, int]:
    whole, steps = _of(of, known)
    member = whole.member(at.value if isinstance(at, Literal) else None)
    return member, steps + _of(at, known)[1] + member.size.steps


def _operation(tree: Operation, known: Shapes) -> tuple[Shape, int]:
    right, steps = _of(tree.right, known)
    if tree.left is None:
        return _SCALAR, steps + 1
    left, more = _of(tree.left, known)
    steps += more + 1
    if tree.sign == "in":
        return _SCALAR, steps + right.size.steps
    if tree.sign == "+":
        both = left.size + right.size
        item = either(left.item, right.item) if left.count and right.count else (left if left.count else right).item
        return _kept(Bounded(both, left.count + right.count, item)), steps + both.steps
    return _SCALAR, steps + min(left.size.steps, right.size.steps)


def _built(tree: Built, known: Shapes) -> tuple[Shape, int]:
    size, steps, item = Size(), 1, None
    for member in tree.members:
        shape, more = _of(member, known)
        size, steps = size + shape.size, steps + more + shape.size.steps
        item = shape if item is None else either(item, shape)
    return _kept(Bounded(size, len(tree.members), item if tree.is_list else None)), steps


def _call(tree: Call, known: Shapes) -> tuple[Shape, int]:
    found = [_of(argument, known) for argument in tree.arguments]
    given = sum((shape.size for shape, _ in found), Size(0))
    steps = 1 + sum(more for _, more in found) + 2 * given.steps
    if tree.name in functions.names():
        returned = given + functions.gain(tree.name)
        return Bounded(returned), steps + _CALL + HANDED_OVER * (given + returned).steps
    if tree.name == "matches" and found[1:]:
        pattern = _pattern_steps(found[1][0])
        return _SCALAR, steps + pattern + found[0][0].size.bytes // 64 * (1 + found[1][0].size.bytes)
    return (Bounded(given + _SCALAR.size, 0) if tree.name == "string" else _SCALAR), steps


def _loop(tree: Loop, known: Shapes) -> tuple[Shape, int]:
    over, steps = _of(tree.of, known)
    count, item = over.count, over.item
    inside = {**known, tree.name: item}
    bodies = [_of(body, inside) for body in tree.body]
    each = 4 + 3 * item.size.steps + sum(more for _, more in bodies)
    steps += count * each
    if tree.kind not in ("map", "filter"):
        return _SCALAR, steps
    if tree.kind == "filter":
        made, whole = item, over.size.or_larger(Size())
    else:
        made = bodies[-1][0]
        whole = made.size.times(count)
    result = _kept(Bounded(whole, count, made))
    copied = min(count * (count + 1) * (1 + made.size.steps), 2 * count * (1 + whole.steps))
    return result, steps + copied + whole.steps


def _kept(shape: Bounded) -> Bounded:
    """Return what an expression builds; raise CostError where it takes too much memory."""
    if shape.size.memory > MAX_BUILT:
        raise CostError(f"it builds up to {shape.size.memory} bytes, and at most {MAX_BUILT} are allowed")
    return shape


def _pattern_steps(pattern: Shape) -> int:
    if not isinstance(pattern, Known):
        return _MAX_PATTERN
    return max((pattern_steps(text) for text in pattern.values if isinstance(text, str)), default=1)


def pattern_steps(pattern: str) -> int:
    """Return what compiling a regular expression costs: by its classes, and by how often it repeats them."""
    total, last, closes = 100, 0, False
    for found in _ATOM.finditer(pattern):
        if not found["least"]:
            last, closes = _atom_steps(found.group()), found.group() == ")"
            total += last
            continue
        times = int(found["most"] or found["least"]) + 1
        total = total * times if closes else total + last * times  # of a group all that stands before it, at most
    return min(total, _MAX_PATTERN)


def _atom_steps(text: str) -> int:
    if text[:2] in _LARGE_CLASSES:
        return 8000
    return 500 if text[0] in "\\[." else 10


PART = "part_of_the_list"
"""The variable that holds a part."""
_GATHER = ("map", "filter")


@dataclass(frozen=True)
class Parts:
    """A loop `over` a list, as an expression about one part of it; `references` are what else it reads."""

    over: Reference
    tree: Tree
    references: tuple[Reference, ...]
    program: cel.Program


def parts_of(source: str, tree: Tree) -> Parts | None:
    """Return how the expression is evaluated part by part, None where it has to be in one go."""
    loop = tree
    while isinstance(loop, Loop) and loop.kind in _GATHER and isinstance(loop.of, Loop):
        loop = loop.of
    if not isinstance(loop, Loop) or loop.kind not in _GATHER or PART in source:
        return None
    over = reference_of(loop.of)
    if over is None:
        return None
    of_part = PART + source[loop.dot :]
    references = tuple(one for one in read(of_part).references if one.root != PART)
    return Parts(over, parse(of_part), references, cel.compile(of_part))


def reference_of(tree: Tree) -> Reference | None:
    """Return the path that a tree is, None where it is anything else."""
    if isinstance(tree, Name):
        return Reference(tree.name, ())
    if not isinstance(tree, Select) or not isinstance(tree.at, Literal):
        return None
    of, at = reference_of(tree.of), tree.at.value
    return None if of is None or isinstance(at, bool) or at is None else Reference(of.root, (*of.path, at))
