"""Timelines: `timeline.md`, a line for each leaf, in which a sentence says what happened to whom; ids stand apart."""

from collections.abc import Iterator
from itertools import chain, groupby

from evidence.reading.markdown import code, visible
from evidence.reading.material import Material, Record, number, record, text
from evidence.reading.timeline_sentences import sentence
from evidence.reading.words import day_in_words

_HEAD = """\
# What happened, in its order

Line N is line N of `audit.jsonl`. Times are UTC. What stands in “ ” is in the words of people, programs and policies.
"""
_TABLE = "| # | time | what happened | ids |\n| --: | --- | --- | --- |"
_KEPT = ("wait_id", "notification_id", "decision_id", "receipt_id", "read_id", "approval_id")
_ABOUT = ("approval_id", "effect_id", "request_id")


def timeline(material: Material) -> bytes:
    """Return the page, with a table for each day."""
    page = bytearray(_HEAD.encode())
    for on, leaves in groupby(material.leaves, key=lambda leaf: text(leaf, "at")[:10]):
        first = next(leaves)
        page += f"\n## {day_in_words(text(first, 'at')) or visible(on)}\n\n{_TABLE}\n".encode()
        for leaf in chain([first], leaves):
            page += f"{_row(material, leaf)}\n".encode()
    return bytes(page)


def _row(material: Material, leaf: Record) -> str:
    told = sentence(material, leaf)
    ids = " ".join(code(value) for value in dict.fromkeys(_ids(leaf)))
    return f"| {number(leaf, 'seq')} | {visible(text(leaf, 'at')[11:19])} | {told} | {ids} |"


def _ids(leaf: Record) -> Iterator[str]:
    """Give the ids of what a leaf is about, that of its own record first."""
    for place, kept in (("data", _KEPT), ("correlation", _ABOUT)):
        about = record(leaf, place)
        yield from (value for name in kept if name in about and (value := text(about, name)))
