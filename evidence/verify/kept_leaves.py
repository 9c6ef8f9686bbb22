"""Keeps the leaves of a chain in little memory: what is long stays bytes, and what several have alike is one."""

from collections.abc import Mapping
from typing import Any

from receipts.canonical import Apart
from receipts.chain import Correlation, Leaf

_LEAF, _CORRELATION = set(Leaf.model_fields), set(Correlation.model_fields)
"""The names of all members, which leaves need not have a set each for."""
_TEXTS = ("run_id", "prev_hash", "hash", "at", "event")
_SHORT, _FEW = 512, 10
"""Bytes and members of what a leaf says that is kept built, at most: rules look at it again and again."""


class Keeper:
    """Keeps leaves that stand in one member (`audit.jsonl`)."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._shared: dict[Any, Any] = {}

    def keep(self, leaf: Leaf, start: int, line: bytes) -> Leaf:
        """Return the leaf itself, which was read of a canonical line that starts there in the member; it changes."""
        # within a text, the quotation marks of these words would be escaped
        data, end = line.index(b',"data":') + len(b',"data":'), line.rindex(b',"event":')
        one, members, said = self._shared.setdefault, leaf.__dict__, leaf.said
        for name in _TEXTS:
            text = members[name]
            members[name] = one(text, text)
        members["actor"] = one((leaf.actor.id, leaf.actor.kind), leaf.actor)
        members["correlation"] = self._about(leaf.correlation)
        if _is_short(said, line[data:end]):
            members["said"] = {
                name: one(value, value) if value.__class__ is str else value for name, value in said.items()
            }
        else:
            members["said"] = Apart(self._source, start + data, start + end)
        object.__setattr__(leaf, "__pydantic_fields_set__", _LEAF)
        return leaf

    def _about(self, about: Correlation) -> Correlation:
        """Return the correlation of a leaf, or the one like it that was kept before."""
        if about.__pydantic_fields_set__ != _CORRELATION:
            return about
        found: Correlation | None = self._shared.get(key := tuple(about.__dict__.values()))
        if found is None:
            one = self._shared.setdefault
            named: Mapping[str, Any] = {name: one(value, value) for name, value in about.__dict__.items()}
            found = self._shared[key] = Correlation.model_construct(_CORRELATION, **named)
        return found


def _is_short(said: Mapping[str, Any], data: bytes) -> bool:
    """Return whether what a leaf says has few members and none within another; in texts, brackets count as well."""
    return len(data) <= _SHORT and len(said) <= _FEW and data.count(b"{") == 1 and b"[" not in data
