"""Members of a bundle: the chain names each record, and texts follow from what they are about.

Step 7 of the procedure: the chain names each decision, receipt, approval and vote, and there are no others. Step 12:
whether the texts for reading follow.
"""

from typing import Any

from evidence import names
from evidence.reading.readme import readme
from evidence.reading.summary import summary
from evidence.reading.timeline import timeline
from evidence.statement import sha256
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, counted, rule, same
from receipts import canonical
from receipts.canonical import Apart
from receipts.chain import (
    APPROVAL_ENDED,
    APPROVAL_REQUESTED,
    CARD_SHOWN,
    DECISION_RECORDED,
    MAX_CARD,
    READ_RECORDED,
    RECEIPT_WRITTEN,
    RUN_QUEUED,
    VOTE_COUNTED,
    Leaf,
)

_FOLDERS = {DECISION_RECORDED: names.DECISIONS, RECEIPT_WRITTEN: names.RECEIPTS, READ_RECORDED: names.READS}
_SAID = ("status", "votes", "cards", "edited", "questions")  # the members of an approval that are not what was asked


@rule(
    "decisions.on-record",
    "The `decision.recorded` leaves name each decision with its digest, in the order of their numbers, and no others. A"
    " decision that has `development` says true.",
)
def decisions_on_record(contents: Contents) -> str:
    """Look for each decision on the chain."""
    check_named(contents, DECISION_RECORDED, "decision_id", {n: d.id for n, d in contents.decisions.items()})
    return counted(len(contents.decisions), "decision")


@rule(
    "receipts.on-record",
    "The `receipt.written` leaves name each receipt with its digest, in the order of their numbers, and no others.",
)
def receipts_on_record(contents: Contents) -> str:
    """Look for each receipt on the chain."""
    check_named(contents, RECEIPT_WRITTEN, "receipt_id", {n: r.receipt_id for n, r in contents.receipts.items()})
    return counted(len(contents.receipts), "receipt")


def check_named(contents: Contents, event: str, key: str, identifiers: dict[str, str]) -> None:
    """Raise unless the leaves of `event` name these files, in the chain's order, with their digests, and no others."""
    folder = _FOLDERS[event]
    unnamed = dict(identifiers)
    for number, leaf in enumerate(contents.leaves_of(event), start=1):
        name = names.numbered(folder, number, str(leaf.data.get(key)))
        if sha256(contents.member(name)) != leaf.data.get("digest"):
            raise BrokenError(name, f"its SHA-256 is not the digest in {names.AUDIT} line {leaf.seq}")
        if unnamed.pop(name) != leaf.data.get(key):
            raise BrokenError(name, f"{key} inside is {identifiers[name]}")
    for name in unnamed:
        raise BrokenError(name, f"no line of {names.AUDIT} names it")


@rule(
    "receipts.of-run",
    "Each receipt's `run_id` and `tenant` are the run's, and it is `mocked` if and only if `run.queued` is.",
)
def receipts_of_run(contents: Contents) -> str:
    """Compare each receipt with the run."""
    on_mocks = any(leaf.data.get("mocked") is True for leaf in contents.leaves_of(RUN_QUEUED))
    for name, receipt in contents.receipts.items():
        if (receipt.run_id, receipt.tenant) != (contents.run.run_id, contents.run.tenant):
            raise BrokenError(name, f"is of run {receipt.run_id} of tenant {receipt.tenant}")
        if receipt.mocked != on_mocks:
            word = "not " if on_mocks else ""
            raise BrokenError(name, f"is {word}of a run on mocks, and {names.AUDIT} says otherwise")
    return counted(len(contents.receipts), "receipt")


@rule("decisions.as-answered", "A decision's `outcome` is its answer's.")
def as_answered(contents: Contents) -> str:
    """Compare each decision with its answer."""
    for name, decision in contents.decisions.items():
        if decision.outcome != decision.answer.outcome:
            raise BrokenError(name, f"outcome is {decision.outcome}, and its answer says {decision.answer.outcome}")
    return counted(len(contents.decisions), "decision")


@rule(
    "approvals.on-record",
    "Each approval has its `approval.requested` with the same kind, effect, digest and requirement, the same votes"
    " (person and verdict) as its `vote.counted` leaves, and the status in which it ended (`requested` if it did not).",
)
def approvals_on_record(contents: Contents) -> str:
    """Compare each approval with its leaves."""
    requested = _requested(contents)
    for name in sorted(requested.keys() | contents.approvals.keys()):
        if name not in requested:
            raise BrokenError(name, f"no line of {names.AUDIT} names it")
        _check_approval(contents, name, requested[name])
    return counted(len(contents.approvals), "approval")


def _requested(contents: Contents) -> dict[str, Leaf]:
    return {names.approval(str(leaf.data.get("approval_id"))): leaf for leaf in contents.leaves_of(APPROVAL_REQUESTED)}


def _check_approval(contents: Contents, name: str, requested: Leaf) -> None:
    """Raise unless an approval's file says what the chain says about it."""
    contents.member(name)
    approval = contents.approvals[name]
    mine = contents.leaves_about[approval.id] if name == names.approval(approval.id) else []
    votes = [leaf.data for leaf in mine if leaf.event == VOTE_COUNTED]
    counted = sorted((str(vote.get("person")), str(vote.get("verdict"))) for vote in votes)
    ends = [leaf.event.removeprefix("approval.") for leaf in mine if leaf.event in APPROVAL_ENDED]
    for what, of_file, of_chain in (
        ("id", names.approval(approval.id), name),
        ("kind", approval.kind, requested.data.get("kind")),
        ("effect_id", approval.effect_id, requested.correlation.effect_id),
        ("digest", approval.digest, requested.data.get("digest")),
        ("requirement", approval.requirement.model_dump(), requested.data.get("requirement")),
        ("votes", sorted((vote.person, vote.verdict) for vote in approval.votes), counted),
        ("status", [approval.status], ends or ["requested"]),
    ):
        if not same(of_file, of_chain):
            raise BrokenError(name, f"{what}: the file says {of_file}, and {names.AUDIT} says {of_chain}")


@rule("cards.size", f"A card has at most {MAX_CARD:,} bytes.")
def card_size(contents: Contents) -> str:
    """Look at the size of each card; none is built for that."""
    found = 0
    for name, approval in contents.approvals.items():
        for number, card in enumerate(approval.cards, start=1):
            size = len(card.data) if isinstance(card, Apart) else len(canonical.dumps(card))
            if size > MAX_CARD:
                raise BrokenError(name, f"card {number} has {size} bytes, and may have {MAX_CARD}")
            found += 1
    return counted(found, "card")


@rule(
    "approvals.bound",
    "The request of each approval gives the digest in its `approval.requested` (`asked`), its votes give those of its"
    " `vote.counted` leaves, and its cards those of its `card.shown` leaves, in their order.",
)
def approvals_bound(facts: Facts) -> str:
    """Compare what was asked, shown and said with the digests on the chain."""
    contents = facts.contents
    for name, requested in _requested(contents).items():
        record: dict[str, Any] = contents.read_again(name)
        asked = {member: value for member, value in record.items() if member not in _SAID}
        if _digest(asked) != requested.data.get("asked"):
            raise BrokenError(name, f"what was asked is not what {names.AUDIT} line {requested.seq} binds")
        about = contents.leaves_about.get(str(record["id"]), [])
        votes, cards = _digests(about, VOTE_COUNTED), _digests(about, CARD_SHOWN)
        if sorted(map(_digest, record["votes"])) != sorted(votes):  # two may be of one moment
            raise BrokenError(name, f"its votes are not those that {names.AUDIT} binds")
        if list(map(_digest, record["cards"])) != cards:
            raise BrokenError(name, f"its cards are not those that {names.AUDIT} binds")
    return counted(len(contents.approvals), "approval")


def _digest(value: Any) -> str:
    return canonical.digest_of(canonical.dumps_again(value))


def _digests(leaves: list[Leaf], event: str) -> list[str]:
    return [str(leaf.data.get("digest")) for leaf in leaves if leaf.event == event]


@rule(
    "texts.timeline",
    "`timeline.md` is, byte for byte, what the leaves and the records that they name give.",
)
def timeline_follows(contents: Contents) -> str:
    """Compare the timeline."""
    return _check_text(contents, names.TIMELINE, timeline(contents.material))


@rule("texts.readme", "`README.md` is, byte for byte, what the run and the key's id give.")
def readme_follows(contents: Contents) -> str:
    """Compare README.md."""
    return _check_text(contents, names.README, readme(contents.run, contents.key_id))


@rule(
    "texts.summary",
    "`summary.md` is, byte for byte, what the run, the definition, the leaves, the records and the costs give.",
)
def _summary_follows(facts: Facts) -> str:
    return _check_text(facts.contents, names.SUMMARY, summary(facts.contents.material))


def _check_text(contents: Contents, name: str, text: bytes) -> str:
    if contents.member(name) != text:
        raise BrokenError(name, "is not the text that follows from the records")
    return name


SUMMARY: tuple[Rule[Facts], ...] = (_summary_follows,)
