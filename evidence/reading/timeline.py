"""Timelines: `timeline.md`, a line for each leaf, in which a sentence says what happened to whom; ids stand apart.

`timeline.md` of format 1 is told from the audit leaves alone, as the first release wrote it. Which characters print was
then for Python to say, whose answer changes with its version of Unicode; the rule that holds since is in
`evidence.reading.markdown`.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

from evidence.reading.markdown import code, visible
from evidence.reading.material import Material, Record, number, record, text
from evidence.reading.timeline_sentences import sentence
from evidence.reading.words import day_in_words
from receipts import canonical
from receipts.chain import Leaf

_HEAD = """\
# What happened, in its order

Line N is line N of `audit.jsonl`. Times are UTC. What stands in “ ” is in the words of people, programs and policies.
"""
_TABLE = "| # | time | what happened | ids |\n| --: | --- | --- | --- |"
_KEPT = ("wait_id", "notification_id", "decision_id", "receipt_id", "read_id", "approval_id")
_ABOUT = ("approval_id", "effect_id", "request_id")


def timeline(material: Material) -> bytes:
    """Return the page, with a table for each day."""
    parts = [_HEAD]
    for on, leaves in groupby(material.leaves, key=lambda leaf: text(leaf, "at")[:10]):
        first = next(leaves)
        parts += [f"## {day_in_words(text(first, 'at')) or visible(on)}\n", _TABLE]
        parts += [_row(material, leaf) for leaf in chain([first], leaves)]
        parts.append("")
    return "\n".join(parts).encode()


def _row(material: Material, leaf: Record) -> str:
    told = sentence(material, leaf)
    ids = " ".join(code(value) for value in dict.fromkeys(_ids(leaf)))
    return f"| {number(leaf, 'seq')} | {visible(text(leaf, 'at')[11:19])} | {told} | {ids} |"


def _ids(leaf: Record) -> Iterator[str]:
    """Give the ids of what a leaf is about, that of its own record first."""
    for place, kept in (("data", _KEPT), ("correlation", _ABOUT)):
        about = record(leaf, place)
        yield from (value for name in kept if (value := text(about, name)))


_LONGEST_VALUE = 500
_FIRST_ABOUT = ("step", "effect_id", "approval_id", "request_id")


def first_timeline(run_id: str, leaves: Iterable[Leaf]) -> bytes:
    """Return Markdown with one numbered entry for each leaf, under the day (UTC) on which it happened."""
    lines = [
        f"# What happened in run {first_code(run_id)}",
        "",
        "Entry N is line N of `audit.jsonl`. Times are UTC.",
        "",
    ]
    for day, of_day in groupby(leaves, key=lambda leaf: leaf.at[:10]):
        lines += [f"## {day}", ""]
        for leaf in of_day:
            lines += _entry(leaf)
        lines.append("")
    return "\n".join(lines).encode()


def first_code(text: str) -> str:
    """Return data as a Markdown code span that it cannot leave; what does not print is shown as an escape."""
    if len(text) > _LONGEST_VALUE:
        shown = first_code(text[:_LONGEST_VALUE])
        return f"{shown} (the first {_LONGEST_VALUE} of {len(text)} characters; all are in `audit.jsonl`)"
    shown = "".join(c if c.isprintable() and c not in "`\\" else _escape(c) for c in text)
    return f"`{shown}`" if shown.strip() else f'`"{shown}"`'


def _escape(character: str) -> str:
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"


def _entry(leaf: Leaf) -> Iterator[str]:
    """Say what happened, who did it, and the facts."""
    what = leaf.event.replace(".", " ").replace("_", " ").capitalize()
    about = [
        f"{name.removesuffix('_id')} {first_code(value)}"
        for name in _FIRST_ABOUT
        if (value := getattr(leaf.correlation, name)) is not None
    ]
    number = f"{leaf.seq}. "
    yield f"{number}{leaf.at[11:23]} **{what}**, by {first_code(leaf.actor.id)} ({leaf.actor.kind})"
    facts = [*about, *(f"{first_code(name)}: {first_code(_text(value))}" for name, value in sorted(leaf.data.items()))]
    yield from (f"{' ' * len(number)}- {fact}" for fact in facts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical.dumps(value).decode()
