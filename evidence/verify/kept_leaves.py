"""Keeps the leaves of a chain in little memory: what each says stays bytes, and what several have alike is one."""

from collections.abc import Mapping
from typing import Any, TypeVar

from receipts.canonical import Apart
from receipts.chain import Correlation, Leaf

T = TypeVar("T")

_LEAF, _CORRELATION = set(Leaf.model_fields), set(Correlation.model_fields)
"""The names of all members, which leaves need not have a set each for."""


class Keeper:
    """Keeps leaves that stand in one member (`audit.jsonl`)."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._shared: dict[Any, Any] = {}

    def keep(self, leaf: Leaf, start: int, line: bytes) -> Leaf:
        """Return the leaf itself, which was read of a canonical line that starts there in the member; it changes."""
        # within a text, the quotation marks of these words would be escaped
        data, end = line.index(b',"data":') + len(b',"data":'), line.rindex(b',"event":')
        alike = ("run_id", "prev_hash", "hash", "at", "event")
        said: dict[str, Any] = {
            **{name: self._one(getattr(leaf, name)) for name in alike},
            "seq": leaf.seq,
            "actor": self._shared.setdefault((leaf.actor.id, leaf.actor.kind), leaf.actor),
            "correlation": self._about(leaf.correlation, line[:data]),
            "said": Apart(self._source, start + data, start + end),
        }
        leaf.__dict__.update(said)
        object.__setattr__(leaf, "__pydantic_fields_set__", _LEAF)
        return leaf

    def _about(self, about: Correlation, words: bytes) -> Correlation:
        """Return the correlation of a leaf that begins with these words."""
        key = words.partition(b'"correlation":')[2]
        if key not in self._shared:
            named: Mapping[str, Any] = {name: self._one(value) for name, value in about.__dict__.items()}
            is_whole = about.model_fields_set == _CORRELATION
            self._shared[key] = Correlation.model_construct(_CORRELATION, **named) if is_whole else about
        found: Correlation = self._shared[key]
        return found

    def _one(self, value: T) -> T:
        found: T = self._shared.setdefault(value, value)
        return found
