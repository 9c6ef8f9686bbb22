"""Somebody who holds the signing key, and bends genuine runs: the chain is made anew, and names what was bent."""

import copy
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from evidence.build import Dossier, build
from receipts import canonical
from receipts.chain import GENESIS, Actor, Correlation, Head, next_leaf
from receipts.fields import timestamp
from receipts.signing import SigningKey
from runtime.services.sealing import Story

Json = dict[str, Any]
STAMP = r'(\\"stamp\\":\\")[0-9a-f]{16}'
"""Where the canonical JSON of a card has the stamp of a button's value."""
_SAID = ("status", "votes", "cards", "edited", "questions")


@dataclass
class Forged:
    """A run's records, free to be bent. Digests, places and hashes follow when it is sealed."""

    definition: Json
    decisions: dict[str, Json]
    receipts: dict[str, Json]
    approvals: dict[str, Json]
    reads: dict[str, Json]
    policies: dict[str, dict[str, str]]
    leaves: list[Json]
    rebound: dict[str, str] = field(default_factory=dict)  # digests of cards, as they were told before

    @classmethod
    def of(cls, story: Story) -> "Forged":
        """Return a copy of a genuine run."""
        leaves = [
            {name: leaf[name] for name in ("at", "event", "actor", "correlation", "data")} for leaf in story.leaves
        ]
        return copy.deepcopy(
            cls(
                definition=canonical.loads(story.definition),
                decisions={record["id"]: record for record in story.decisions},
                receipts={record["receipt_id"]: record for record in story.receipts},
                approvals={record["id"]: record for record in story.approvals},
                reads={record["read_id"]: record for record in story.reads},
                policies=story.policies,
                leaves=leaves,
            )
        )

    def all(self, event: str, **match: Any) -> list[Json]:
        """Return the leaves of an event whose data or correlation has these members."""
        return [
            leaf
            for leaf in self.leaves
            if leaf["event"] == event and match.items() <= {**leaf["correlation"], **_hashable(leaf["data"])}.items()
        ]

    def leaf(self, event: str, number: int = 0, **match: Any) -> Json:
        """Return one of them."""
        return self.all(event, **match)[number]

    def approval(self, kind: str = "effect") -> Json:
        """Return the first approval of a kind."""
        return next(record for record in self.approvals.values() if record["kind"] == kind)

    def decision(self, outcome: str, step: str) -> Json:
        """Return the first decision with an outcome about a step."""
        return next(d for d in self.decisions.values() if (d["outcome"], d["step"]) == (outcome, step))

    def receipt(self, outcome: str, step: str) -> Json:
        """Return the first receipt with an outcome of a step."""
        return next(r for r in self.receipts.values() if (r["outcome"], r["step"]) == (outcome, step))

    def leaf_of(self, record: Json) -> Json:
        """Return the leaf that names a decision or a receipt."""
        if "receipt_id" in record:
            return self.leaf("receipt.written", receipt_id=record["receipt_id"])
        return self.leaf("decision.recorded", decision_id=record["id"])

    def move(self, leaf: Json, *, before: Json | None = None, after: Json | None = None) -> None:
        """Put a leaf in another place; its moment becomes that of the leaf beside it."""
        self.leaves.remove(leaf)
        beside: Json = before or after or {}
        self.leaves.insert(self.leaves.index(beside) + (after is not None), leaf)
        leaf["at"] = beside["at"]

    def drop(self, *leaves: Json) -> None:
        """Leave leaves out."""
        for leaf in leaves:
            self.leaves.remove(leaf)

    def add(self, event: str, after: Json, data: Json, **about: Any) -> Json:
        """Add a leaf of the program's."""
        correlation = {**dict.fromkeys(("request_id", "step", "approval_id", "effect_id")), **about}
        correlation["run_id"] = after["correlation"]["run_id"]
        actor = {"id": "countersign", "kind": "system"}
        made = {"at": after["at"], "event": event, "actor": actor, "correlation": correlation, "data": data}
        self.leaves.insert(self.leaves.index(after) + 1, made)
        return made

    def delay(self, leaf: Json, **by: float) -> None:
        """Let this leaf and all after it have been later, or earlier, and all that was said then."""
        for one in self.leaves[self.leaves.index(leaf) :]:
            one["at"] = later(one["at"], **by)
        self.retime()

    def retime(self) -> None:
        """Give the records the moments of their leaves."""
        for approval in self.approvals.values():
            for vote in approval["votes"]:
                vote["at"] = self.leaf("vote.counted", approval_id=approval["id"], person=vote["person"])["at"]
            if "edited" in approval:
                approval["edited"]["at"] = self.leaf("effect.edited", approval_id=approval["id"])["at"]
        counted = self.all("vote.counted")
        for decision in self.decisions.values():
            asked, place = decision["input"], self.leaves.index(self.leaf_of(decision))
            asked["time"] = self.leaf_of(decision)["at"]
            before = [leaf for leaf in counted if self.leaves.index(leaf) < place]
            said = {leaf["data"]["person"]: leaf["at"] for leaf in (*counted, *before)}
            for vote in asked["votes"]:
                vote["at"] = said[vote["person"]]
        for read in self.reads.values():
            at = self.leaf("read.recorded", read_id=read["read_id"])["at"]
            read.update(started_at=at, finished_at=at)
        for receipt in self.receipts.values():
            at = receipt["finished_at"] = self.leaf_of(receipt)["at"]
            acted = receipt["outcome"] in ("success", "in_doubt") and receipt["decision_id"]
            receipt["started_at"] = self.leaf_of(self.decisions[receipt["decision_id"]])["at"] if acted else at

    def restamp(self) -> None:
        """Let the buttons of open cards be about the requirements as they are told now."""
        for approval in self.approvals.values():
            stamp = canonical.digest([approval["digest"], approval["requirement"], "requested"])[:16]
            told = canonical.dumps(approval["cards"]).decode()
            approval["cards"] = canonical.loads(re.sub(STAMP, rf"\g<1>{stamp}", told).encode())

    def seal(self, key: SigningKey, *late: "Bend") -> bytes:
        """Return the bundle; what is bent `late` is bent once the leaves name the records."""
        definition = canonical.dumps(self.definition)
        self.leaves[0]["data"]["definition_digest"] = canonical.digest(self.definition)
        cards = dict[str, int]()
        for leaf in self.leaves:
            self._bind(leaf, cards)
        for bend in late:
            bend(self)
        dossier = Dossier(
            definition=definition,
            decisions=list(self.decisions.values()),
            policies=self.policies,
            approvals=list(self.approvals.values()),
            receipts=list(self.receipts.values()),
            reads=list(self.reads.values()),
            leaves=self._chained(),
        )
        return build(dossier, key).data

    def _bind(self, leaf: Json, cards: dict[str, int]) -> None:
        """Put the digest of what a leaf names into it."""
        data = leaf["data"]
        approval = self.approvals.get(str(data.get("approval_id")), {})
        match leaf["event"]:
            case "decision.recorded":
                data["digest"] = canonical.digest(self.decisions[data["decision_id"]])
            case "receipt.written":
                data["digest"] = canonical.digest(self.receipts[data["receipt_id"]])
            case "read.recorded":
                data["digest"] = canonical.digest(self.reads[data["read_id"]])
            case "approval.requested":
                data["asked"] = canonical.digest({name: approval[name] for name in approval.keys() - set(_SAID)})
                data.update(requirement=approval["requirement"], kind=approval["kind"], digest=approval["digest"])
            case "vote.counted":
                vote = self._vote_of(approval, leaf)
                data.update(digest=canonical.digest(vote), verdict=vote["verdict"], **self._card_of(data))
            case "effect.edited" if "edited" in approval:
                data["digest"] = canonical.digest(approval["edited"])
            case "question.asked" | "question.answered" if approval.get("questions"):
                asked_about = (one for one in approval["questions"] if one["id"] == data["question_id"])
                question = next(asked_about, approval["questions"][0])
                asked = {name: value for name, value in question.items() if name != "answer"}
                data["digest"] = canonical.digest(
                    asked if leaf["event"] == "question.asked" else question.get("answer")
                )
            case "vote.withdrawn":
                theirs = (vote for vote in approval["votes"] if vote["person"] == data["person"])
                data["digest"] = canonical.digest(next(theirs, None))
            case "card.shown":
                cards[approval["id"]] = cards.get(approval["id"], -1) + 1
                told, data["digest"] = data["digest"], canonical.digest(approval["cards"][cards[approval["id"]]])
                self.rebound[told] = data["digest"]

    def _card_of(self, data: Json) -> Json:
        """Return what a vote's leaf says of the card that it names, if any."""
        return {"card": self.rebound.get(data["card"], data["card"])} if "card" in data else {}

    def _vote_of(self, approval: Json, leaf: Json) -> Json:
        """Return the vote of a leaf: of several of one person those come in their order."""
        data = leaf["data"]
        alike = self.all("vote.counted", approval_id=data["approval_id"], person=data["person"])
        theirs: list[Json] = [vote for vote in approval["votes"] if vote["person"] == data["person"]]
        place = next(number for number, one in enumerate(alike) if one is leaf)
        return theirs[min(place, len(theirs) - 1)]

    def _chained(self) -> list[Json]:
        head, chained = GENESIS, list[Json]()
        for leaf in self.leaves:
            made = next_leaf(
                head,
                run_id=leaf["correlation"]["run_id"],
                at=datetime.fromisoformat(leaf["at"]),
                event=leaf["event"],
                actor=Actor(**leaf["actor"]),
                correlation=Correlation(**leaf["correlation"]),
                data=leaf["data"],
            ).leaf
            head = Head(made.seq, made.hash)
            chained.append(made.model_dump())
        return chained


Bend = Callable[[Forged], object]
Lie = tuple[str, str, Bend]
"""The rule that finds it, the run that is bent, and how."""


def change(path: str, value: Any) -> Any:
    """Return what sets a member of a record, by its path."""

    def put(record: Any) -> None:
        *way, last = path.split(".")
        for name in way:
            record = record[int(name) if name.isdigit() else name]
        record[last] = value

    return put


def change_leaf(event: str, path: str, value: Any) -> Bend:
    """Return what sets a member of the first leaf of an event, by its path."""
    return lambda f: change(path, value)(f.leaf(event))


def sound(leaf: Json) -> Json:
    """Give a leaf of the tenant's chain the hash of what it says."""
    body = {name: value for name, value in leaf.items() if name != "hash"}
    return {**body, "hash": hashlib.sha256(b"\x00" + canonical.dumps(body)).hexdigest()}


def later(moment: str, **by: float) -> str:
    """Return a moment that is later by so much."""
    return timestamp(datetime.fromisoformat(moment) + timedelta(**by))


def _hashable(data: Json) -> Json:
    return {name: value for name, value in data.items() if isinstance(value, str | int | None)}
