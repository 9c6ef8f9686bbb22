"""The members of a bundle as a reader takes them: whatever has not the shape that it should have is not there.

Bundles are sealed as they are and read before they are verified, so nothing here may fail on what a member holds.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from evidence import names
from evidence.reading.lines import Lines, Some, ToldLine, any_value
from evidence.reading.step_paths import address_of, path_in_words
from receipts.canonical import Apart, built, built_text
from receipts.chain import RUN_QUEUED
from receipts.piecewise import member

Record = Mapping[str, Any]

_ACCOUNT = re.compile(r"slack:([^:]*):(.*)", re.DOTALL)
"""The actor of a click whose person is not known."""
_NEAR = 64
"""Members that are kept when they were read."""
_LARGE = 1 << 16
"""Bytes of a member that is kept."""
_HOLDERS = frozenset({"switch", "repeat", "branch"})


def text(value: Any, *path: str) -> str:
    """Return the text at a path of members; "" where there is none."""
    for name in path:  # as `_at` does: nothing is asked for as often as texts
        value = value.get(name) if value.__class__ is dict else member(value, name)
    if value.__class__ is Apart:
        value = built_text(value)
    return value if isinstance(value, str) else ""


def number(value: Any, *path: str) -> int:
    """Return the whole number at a path of members; 0 where there is none."""
    found = _at(value, path)
    return found if isinstance(found, int) else 0


def record(value: Any, *path: str) -> Record:
    """Return the object at a path of members; an empty one where there is none."""
    found = built(_at(value, path))
    return found if isinstance(found, dict) else {}


def records(value: Any, *path: str) -> list[Record]:
    """Return the objects in the list at a path of members."""
    found = built(_at(value, path))
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def apart(value: Any, *path: str) -> list[Any]:
    """Return the objects in the list at a path of members, each as it is: one that stands apart is not built."""
    found = _at(value, path)
    return [one for one in found if _is_object(one)] if isinstance(found, list) else []


def _is_object(value: Any) -> bool:
    return value.data[0] == ord("{") if isinstance(value, Apart) else isinstance(value, dict)


def texts(value: Any, *path: str) -> list[str]:
    """Return the texts in the list at a path of members."""
    found = built(_at(value, path))
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def is_wish(leaf: Record) -> bool:
    """Return whether a leaf that refuses something is about what a person wished, and not about an answer."""
    return text(leaf, "data", "code").startswith(("act.", "identity."))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if value.__class__ is dict else member(value, name)
    return built_text(value) if value.__class__ is Apart else value


class Records(Mapping[str, Record]):
    """Records by their ids, each read of its member when it is looked at: all of them are many times their bytes."""

    def __init__(self, members: Mapping[str, str], read: Callable[[str], Record]) -> None:
        self._members, self._read = members, read

    def __getitem__(self, key: str) -> Record:
        """Return a record."""
        return self._read(self._members[key])

    def __iter__(self) -> Iterator[str]:
        """Give the ids, in their order."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._members)


class Decided(NamedTuple):
    """Of a decision its member, the digest of its effect, its outcome, and whether nobody had activated its policy."""

    member: str
    effect: str
    outcome: str
    is_development: bool


def _decided(member: str, told: Record) -> Decided:
    effect, outcome = text(told, "input", "effect", "digest"), text(told, "outcome")
    return Decided(member, effect, outcome, told.get("development") is True)


@dataclass(frozen=True)
class Material:
    """The members, by name, and how the JSON of one is read: of what a verifier reads, parts may stand apart.

    `told` are the lines of the audit log, where somebody has read them before.
    """

    members: Mapping[str, bytes]
    read: Callable[[str], Any] | None = None
    told: Iterable[ToldLine] | None = None

    @cached_property
    def run(self) -> Record:
        """Return run.json."""
        return record(self._json(names.RUN))

    @cached_property
    def definition(self) -> Record:
        """Return the definition."""
        return record(self._json(names.DEFINITION))

    @cached_property
    def leaves(self) -> Lines:
        """Return the audit leaves, in the order of their lines."""
        return Lines(self.members.get(names.AUDIT, b""), self.told)

    @cached_property
    def decisions(self) -> Mapping[str, Record]:
        """Return the decisions by their ids, in their order."""
        return Records({name: told.member for name, told in self.decided.items()}, self._record)

    @cached_property
    def decided(self) -> dict[str, Decided]:
        """Return what is asked of all decisions, by their ids, in their order: none is kept for that."""
        return {text(one, "id"): _decided(name, one) for name, one in self._objects(names.DECISIONS)}

    @cached_property
    def approvals(self) -> Mapping[str, Record]:
        """Return the approvals by their ids, in the order in which they were asked for."""
        asked = [text(leaf, "data", "approval_id") for leaf in self.leaves_of("approval.requested")]
        place = {approval_id: number for number, approval_id in enumerate(asked)}
        found = self._ids(names.APPROVALS, "id")
        ordered = sorted(found.items(), key=lambda item: place.get(item[0], len(place)))
        return Records(dict(ordered), self._record)

    @cached_property
    def receipts(self) -> Mapping[str, Record]:
        """Return the receipts by their ids, in their order."""
        return self._records(names.RECEIPTS, "receipt_id")

    @cached_property
    def reads(self) -> Mapping[str, Record]:
        """Return the read records by their ids, in their order."""
        return self._records(names.READS, "read_id")

    @cached_property
    def costs(self) -> list[Record]:
        """Return costs.json."""
        return records({"costs": self._json(names.COSTS)}, "costs")

    @cached_property
    def _steps(self) -> dict[str, Record]:
        """Return the steps of the definition by their ids."""
        return {text(step, "id"): step for step in records(self.definition, "steps")}

    @cached_property
    def _branches(self) -> set[str]:
        return {name for name, step in self._steps.items() if "branch" in step}

    def verb_name(self, path: str) -> str:
        """Return the name of the verb of the step at a path; "" where it calls none."""
        return text(self._steps.get(address_of(path)), "verb")

    def verb(self, path: str) -> Record:
        """Return the verb of the step at a path."""
        return record(self.definition, "verbs", self.verb_name(path))

    def is_branch(self, path: str) -> bool:
        """Return whether what stands at a path is what follows an ending of the step in which it stands."""
        return address_of(path) in self._branches

    def holds_steps(self, path: str) -> bool:
        """Return whether other steps stand in the one at a path: it goes on as long as they do."""
        return not _HOLDERS.isdisjoint(self._steps.get(address_of(path), {}))

    def in_words(self, path: str) -> str:
        """Return a path as people read it: `docs, round 3: request`."""
        return path_in_words(path, self._branches)

    @cached_property
    def effects(self) -> Mapping[str, Record]:
        """Return the effects of which policy was told, by their digests."""
        told = {told.effect: name for name, told in self.decided.items()}
        return Records(told, lambda name: record(self.decisions[name], "input", "effect"))

    def leaves_about(self, approval_id: str) -> Iterable[Record]:
        """Return the leaves about an approval, in the chain's order."""
        return self.leaves.about(approval_id)

    @cached_property
    def people(self) -> dict[str, str]:
        """Return the printed names of people by their ids, as far as votes and the run's first leaf tell them."""
        votes = [vote for approval in self.approvals.values() for vote in records(approval, "votes")]
        told = [(text(vote, "delegation", "delegator"), text(vote, "delegation", "delegator_name")) for vote in votes]
        told += [(text(vote, "person"), text(vote, "person_name")) for vote in votes]
        queued = self.leaves_of(RUN_QUEUED)
        told = [(text(leaf, "actor", "id"), text(leaf, "data", "requester_name")) for leaf in queued] + told
        return {person: name for person, said in told if (name := said.strip(" "))}

    @cached_property
    def account_names(self) -> dict[str, str]:
        """Return the printed names of people by the Slack accounts with which they voted."""
        votes = [vote for approval in self.approvals.values() for vote in records(approval, "votes")]
        told = {text(vote, "slack", "user"): self.people.get(text(vote, "person"), "") for vote in votes}
        return {account: name for account, name in told.items() if account and name}

    def name_of(self, person: str) -> str:
        """Return how a person, a program or an account is called, as far as the bundle tells."""
        account = _ACCOUNT.fullmatch(person)
        return f"Slack account {account[2]} of team {account[1]}" if account else self.people.get(person, person)

    def asked(self, approval_id: str, step: str) -> str:
        """Return what people were asked: a review's own title, else what the verb is for, else the step."""
        approval = self.approvals.get(approval_id, {})
        effect = self.effects.get(text(approval, "digest")) if text(approval, "kind") == "task" else None
        return text(effect, "fields", "title") or text(approval, "purpose") or self.in_words(step)

    def last_moment(self, *events: str) -> str:
        """Return when the last of these events was; "" where there was none."""
        return next((text(leaf, "at") for leaf in reversed(self.leaves_of(*events))), "")

    def leaves_of(self, *events: str) -> Some:
        """Return the leaves of these events, in the chain's order."""
        return self.leaves.of(*events)

    def count(self, folder: str) -> int:
        """Return how many files a folder has."""
        return sum(name.startswith(f"{folder}/") for name in self.members)

    def _json(self, name: str) -> Any:
        if name not in self.members:
            return None
        return self.read(name) if self.read else any_value(self.members[name])

    def _records(self, folder: str, key: str) -> Records:
        return Records(self._ids(folder, key), self._record)

    def _ids(self, folder: str, key: str) -> dict[str, str]:
        """Return the members of a folder that hold an object, by its id."""
        return {text(one, key): name for name, one in self._objects(folder)}

    def _objects(self, folder: str) -> Iterator[tuple[str, Record]]:
        """Give the members of a folder that hold an object, each with that."""
        for name in sorted(self.members):
            if name.startswith(f"{folder}/") and isinstance(one := self._value(name), dict):
                yield name, one

    def _record(self, name: str) -> Record:
        return record(self._value(name))

    @cached_property
    def _value(self) -> Callable[[str], Any]:
        """Return what reads a member: a large one once, and of others it keeps a few, which one place tells about."""
        large, near = lru_cache(None)(self._json), lru_cache(_NEAR)(self._json)
        return lambda name: (large if len(self.members[name]) > _LARGE else near)(name)
