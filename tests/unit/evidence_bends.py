"""Ways to bend the sample run, and bundles that are sealed again with members changed.

Ways to bend the sample run, before the chain names its records or after.

Bundles that are sealed again with members changed, as whoever holds the key can.
"""

import base64
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evidence.build import Dossier
from evidence.statement import Predicate, make_statement
from evidence.verify.contents import BrokenError
from evidence.verify.procedure import STEPS
from evidence.verify.trust import trust_of
from evidence.verify.verify import signed_contents, unpacked
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.redaction import redact
from tests.unit.evidence_sample import REQUIREMENT, WRITE, Office, Story, action, naming, receipt, story, vote

Bend = Callable[[Story], object]


def rewrite(told: Story, **change: Any) -> None:
    """Let the write have been another one, everywhere."""
    body = action("e-write") | change
    digest, sent = canonical.digest(body), redact(body["fields"])
    for number in ("d-1", "d-3"):
        effect = told.decisions[number]["input"]["effect"]
        effect.update({name: body[name] for name in effect.keys() & body.keys()}, digest=digest)
    told.approvals["a-1"]["digest"] = digest
    proposed = next(facts for event, facts in told.events if event == "effect.proposed")
    proposed.update(target=body["target"], digest=digest)
    before, now = (canonical.dumps(naming(write)) for write in (WRITE, digest))
    cards = canonical.dumps(told.approvals["a-1"]["cards"])
    told.approvals["a-1"]["cards"] = canonical.loads(cards.replace(before, now))
    hidden = [f"/request{path}" for path in sent.paths]
    told.receipts["r-3"].update(body_of(body), request=sent.value, redacted=hidden, fingerprint=digest)


def body_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an action that its receipt repeats."""
    return {name: value for name, value in body.items() if name not in ("fields", "tier")}


def unchained(part: str, number: int, **change: Any) -> Dossier:
    """Return a dossier one of whose records was changed after the chain had named it."""
    dossier = story().dossier()
    records: Any = list(getattr(dossier, part))
    records[number] = records[number] | change
    changed: dict[str, Any] = {part: records}
    return dataclasses.replace(dossier, **changed)


def told_with(*bends: Bend) -> Dossier:
    """Return the dossier of a story that was changed before the chain named its records."""
    told = story()
    for bend in bends:
        bend(told)
    return told.dossier()


def drop(told: Story, event: str, **data: str) -> None:
    told.events = [
        (name, facts) for name, facts in told.events if not (name == event and data.items() <= facts.items())
    ]


def move(told: Story, event: str, before: str, **data: str) -> None:
    """Let an event happen before the first of another kind."""
    [moved] = [(name, facts) for name, facts in told.events if name == event and data.items() <= facts.items()]
    told.events.remove(moved)
    told.events.insert([name for name, _ in told.events].index(before), moved)


def enlarge_card(told: Story, size: int) -> None:
    """Let the card have so many bytes."""
    card = told.approvals["a-1"]["cards"][0]
    card["card"]["text"] += "x" * (size - len(canonical.dumps(card)))


Change = tuple[str, str, str, Callable[[], Dossier]]


def revote(told: Story, *votes: dict[str, Any]) -> None:
    """Let other votes be counted, everywhere."""
    drop(told, "vote.counted")
    place = [name for name, _ in told.events].index("approval.approved")
    told.events[place:place] = [
        ("vote.counted", {"approval_id": "a-1", "person": v["person"], "verdict": v["verdict"]}) for v in votes
    ]
    told.approvals["a-1"]["votes"] = list(votes)
    told.decisions["d-3"]["input"]["votes"] = list(votes)


def taken_back(told: Story, vote_of: dict[str, Any]) -> None:
    """Let one more vote have been counted, of which policy was not told, since it was taken back."""
    place = [name for name, _ in told.events].index("approval.approved")
    said = {"approval_id": "a-1", "person": vote_of["person"]}
    told.events[place:place] = [
        ("vote.counted", {**said, "verdict": vote_of["verdict"]}),
        ("vote.withdrawn", {**said, "digest": canonical.digest(vote_of), "reason": "too early"}),
    ]
    told.approvals["a-1"]["votes"] = [*told.approvals["a-1"]["votes"], vote_of]


BEN, CAT = vote("ben", "compliance"), vote("cat", "legal", "compliance")
SUE = vote("sue", "senior-compliance")


def require(told: Story, **members: Any) -> None:
    """Let policy have required something else, everywhere."""
    requirement = REQUIREMENT | members
    told.decisions["d-1"]["answer"]["requirement"] = requirement
    told.approvals["a-1"]["requirement"] = requirement


def outcome(told: Story, decision_id: str, value: str) -> None:
    told.decisions[decision_id]["outcome"] = told.decisions[decision_id]["answer"]["outcome"] = value


def on_mocks(told: Story) -> None:
    """Let the run have said that it is on mocks."""
    name, said = told.events[0]
    told.events[0] = (name, said | {"mocked": True})


WRITE_FILE, APPROVAL = "receipts/00002-r-3.json", "approvals/a-1.json"


def again(told: Story, **change: Any) -> None:
    """Let the card's effect act once more."""
    told.receipts["r-4"] = receipt(2, "e-card", receipt_id="r-4", **change)
    told.events.append(("receipt.written", {"receipt_id": "r-4"}))


def undone(told: Story) -> None:
    """Let the write not have been performed, though people had approved it."""
    unwritten(told)
    drop(told, "decision.recorded", decision_id="d-3")
    del told.decisions["d-3"]


def unwritten(told: Story) -> None:
    """Let the write have no receipt."""
    drop(told, "step.succeeded")
    drop(told, "receipt.written", receipt_id="r-3")
    del told.receipts["r-3"]


def asked(told: Story, kind: str, *votes: dict[str, Any]) -> None:
    """Let people have been asked something else about the write, and the answer was yes."""
    requirement = REQUIREMENT | {"quorum": 1, "all_groups": False}
    told.approvals["a-2"] = told.approvals["a-1"] | {
        "id": "a-2",
        "kind": kind,
        "requirement": requirement,
        "votes": list(votes),
    }
    told.events[-3:-3] = [
        ("approval.requested", {"approval_id": "a-2"}),
        *(("vote.counted", {"approval_id": "a-2", "person": v["person"], "verdict": v["verdict"]}) for v in votes),
        ("approval.approved", {"approval_id": "a-2", "step": "file"}),
    ]


def escalate(told: Story, before: str, approval_id: str = "a-1") -> None:
    """Let those who are next in line be asked, before the first event of a kind."""
    place = [name for name, _ in told.events].index(before)
    told.events.insert(place, ("wait.escalated", {"approval_id": approval_id, "to": ["senior-compliance"]}))


def fall_back(told: Story, after: str, *groups: str) -> None:
    """Let the request have gone to others as well, after the first event of a kind."""
    place = [name for name, _ in told.events].index(after) + 1
    told.events.insert(place, ("approval.fell_back", {"approval_id": "a-1", "why": "nobody", "to": list(groups)}))


def revoted(*votes: dict[str, Any]) -> Bend:
    return lambda told: revote(told, *votes)


def unapproved(told: Story) -> None:
    """Leave no trace of the approval but the votes that policy was told."""
    drop(told, "decision.recorded", decision_id="d-1")
    for event in ("approval.requested", "card.shown", "vote.counted", "approval.approved"):
        drop(told, event)
    del told.decisions["d-1"], told.approvals["a-1"]


def effect_of(told: Story) -> dict[str, Any]:
    effect: dict[str, Any] = told.decisions["d-3"]["input"]["effect"]
    return effect


NO_DIGEST, NOT_SENT = "the action that was decided on does not give its digest", "its request is not what was decided"


def succeeded(told: Story) -> None:
    told.events.insert(-2, ("step.succeeded", {}))


def fail(told: Story) -> None:
    """Let the run have failed."""
    drop(told, "step.succeeded")
    told.events[-2] = ("run.failed_terminal", {})


def members_of(path: Path) -> dict[str, bytes]:
    """Return the members of a bundle."""
    with path.open("rb") as stream:
        return dict(unpack(stream).members)


def resealed(office: Office, path: Path, **change: bytes | None) -> Path:
    """Write a bundle again with a member changed, added or (None) left out, as whoever holds the key can."""
    members = members_of(path)
    statement = canonical.loads(base64.b64decode(canonical.loads(members.pop("statement.dsse.json"))["payload"]))
    members = {name: data for name, data in (members | change).items() if data is not None}
    made = make_statement(members, Predicate.model_validate(statement["predicate"]))
    return office.write(pack(members | {"statement.dsse.json": office.sign(made)}))


def broken_by_members(office: Office, path: Path) -> tuple[str, str, str] | None:
    """Return the first rule about members that does not hold, with the member and what, whatever the others say.

    Where what is bent breaks a rule about the facts of an earlier step as well, that one alone is told by `verify`.
    """
    contents = signed_contents(unpacked(path), trust_of(office.public))
    for rule in (rule for step in STEPS for rule in step.rules):
        try:
            rule.check(contents)
        except BrokenError as error:
            return rule.name, error.member, error.what
    return None
