"""Steps 5 to 10 of the verifier's procedure: whether the records agree with each other. Each returns what it found."""

from evidence import names
from evidence.statement import sha256
from evidence.verify.authority import acted, check_authority, check_consent, check_votes
from evidence.verify.binding import check_bound, check_told
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.reads import check_reads
from receipts import canonical
from receipts.chain import (
    APPROVAL_ENDED,
    APPROVAL_REQUESTED,
    DECISION_RECORDED,
    READ_RECORDED,
    RECEIPT_WRITTEN,
    VOTE_COUNTED,
    ChainError,
    Head,
    Leaf,
    verify_chain,
)
from receipts.model import Receipt

_FOLDERS = {DECISION_RECORDED: names.DECISIONS, RECEIPT_WRITTEN: names.RECEIPTS, READ_RECORDED: names.READS}
_BEFORE_DECISION = {APPROVAL_REQUESTED, VOTE_COUNTED, "approval.approved"}


def definition(contents: Contents) -> str:
    """Step 5: the statement, run.json and definition.json speak of the same run and the same definition."""
    run, predicate = contents.run, contents.statement.predicate
    for what, of_run, of_statement in (
        ("run_id", run.run_id, predicate.run_id),
        ("tenant", run.tenant, predicate.tenant),
        ("definition.digest", run.definition.digest, predicate.definition_digest),
        ("sealed_seq", run.sealed_seq, predicate.sealed_seq),
        ("audit_head", run.audit_head, predicate.audit_head),
    ):
        if of_run != of_statement:
            raise BrokenError(names.RUN, f"{what} is {of_run}, where the statement says {of_statement}")
    if sha256(contents.member(names.DEFINITION)) != run.definition.digest:
        raise BrokenError(
            names.DEFINITION, f"its SHA-256 is not the digest that {names.RUN} names, {run.definition.digest}"
        )
    return f"run {run.run_id} executed {run.definition.name} version {run.definition.version}, and ended {run.status}"


def chain(contents: Contents) -> str:
    """Step 6: the audit leaves are the whole chain of this run, from genesis to the sealed head."""
    run = contents.run
    try:
        verify_chain(contents.leaves, Head(run.sealed_seq, run.audit_head))
    except ChainError as error:
        raise BrokenError(names.AUDIT, str(error)) from error
    if contents.leaves[0].run_id != run.run_id:
        raise BrokenError(names.AUDIT, f"is the chain of run {contents.leaves[0].run_id}")
    check_told(contents)
    return f"{run.sealed_seq} audit leaves, unbroken to {run.audit_head}"


def on_record(contents: Contents) -> str:
    """Step 7: the chain names each decision, receipt, approval and vote, with its digest, and there are no others."""
    _check_named(contents, DECISION_RECORDED, "decision_id", {n: d.id for n, d in contents.decisions.items()})
    _check_named(contents, RECEIPT_WRITTEN, "receipt_id", {n: r.receipt_id for n, r in contents.receipts.items()})
    _check_named(contents, READ_RECORDED, "read_id", {n: r.read_id for n, r in contents.reads.items()})
    _check_run(contents)
    check_reads(contents)
    for name, decision in contents.decisions.items():
        if decision.outcome != decision.answer.outcome:
            raise BrokenError(name, f"outcome is {decision.outcome}, and its answer says {decision.answer.outcome}")
    requested = {
        names.approval(str(leaf.data.get("approval_id"))): leaf for leaf in contents.leaves_of(APPROVAL_REQUESTED)
    }
    for name in sorted(requested.keys() | contents.approvals.keys()):
        if name not in requested:
            raise BrokenError(name, f"no line of {names.AUDIT} names it")
        _check_approval(contents, name, requested[name])
        check_bound(contents, name, requested[name])
    votes = sum(len(approval.votes) for approval in contents.approvals.values())
    reads = f"{len(contents.reads)} reads, " if contents.version > 1 else ""
    return (
        f"{len(contents.decisions)} decisions, {len(contents.receipts)} receipts, {reads}{len(contents.approvals)} "
        f"approvals and {votes} votes are those that the chain names"
    )


def authority(contents: Contents) -> str:
    """Step 8: whatever acted, or may have, was allowed for that very effect, by the people who had to be asked."""
    receipts = acted(contents)
    for name, receipt in receipts.items():
        check_authority(contents, name, receipt)
    for name, approval in contents.approvals.items():
        if approval.status == "approved":
            check_consent(contents, name, approval)
    for name, decision in contents.decisions.items():
        check_votes(contents, name, decision)
    approved = sum(receipt.approval_id is not None for receipt in receipts.values())
    return f"{len(receipts)} effects were allowed by policy, {approved} of them approved by people"


def policies(contents: Contents) -> str:
    """Step 9: each decision's policy is in the bundle, and its text gives its digest."""
    texts: dict[str, dict[str, str]] = {}
    for name in contents.folder(names.POLICIES):
        _, digest, file = name.split("/", 2) if name.count("/") > 1 else ("", "", name)
        try:
            texts.setdefault(digest, {})[file] = contents.members[name].decode()
        except UnicodeDecodeError as error:
            raise BrokenError(name, "is not UTF-8 text") from error
    for digest, files in texts.items():
        if canonical.digest(files) != digest:
            raise BrokenError(f"{names.POLICIES}/{digest}", "its files do not give the digest that it is named after")
    for name, decision in contents.decisions.items():
        if decision.policy_digest not in texts:
            raise BrokenError(name, f"its policy {decision.policy_digest} is not in the bundle")
    for digest in sorted(texts.keys() - {decision.policy_digest for decision in contents.decisions.values()}):
        raise BrokenError(f"{names.POLICIES}/{digest}", "no decision was made by it")
    return f"{len(texts)} policies, in the words that decided"


def order(contents: Contents) -> str:
    """Step 10: votes came before the decision, the decision before the act; no key acted twice or for two effects."""
    for name, receipt in contents.receipts.items():
        if receipt.started_at > receipt.finished_at:
            raise BrokenError(name, "finished before it started")
    decided = {leaf.data.get("decision_id"): leaf for leaf in contents.leaves_of(DECISION_RECORDED)}
    written = {leaf.data.get("receipt_id"): leaf.seq for leaf in contents.leaves_of(RECEIPT_WRITTEN)}
    by_key: dict[str, Receipt] = {}
    for name, receipt in acted(contents).items():
        _check_key(name, receipt, by_key.get(receipt.idempotency_key))
        by_key[receipt.idempotency_key] = receipt
        decision = decided[receipt.decision_id]
        if decision.seq > written[receipt.receipt_id] or decision.at > receipt.started_at:
            raise BrokenError(name, f"acted before its decision {receipt.decision_id}")
        for leaf in contents.leaves_about.get(str(receipt.approval_id), []):
            if leaf.event in _BEFORE_DECISION and leaf.seq > decision.seq:
                raise BrokenError(name, f"{leaf.event} (leaf {leaf.seq}) came after its decision {receipt.decision_id}")
    return f"{len(by_key)} idempotency keys, each for one effect, which came after its decision and its votes"


def _check_key(name: str, receipt: Receipt, earlier: Receipt | None) -> None:
    """Raise if the key of a receipt had served another effect, or had succeeded already."""
    if earlier is None:
        return
    if earlier.fingerprint != receipt.fingerprint:
        raise BrokenError(name, f"its idempotency key had served another effect, in receipt {earlier.receipt_id}")
    if earlier.outcome == "success":
        raise BrokenError(name, f"acted again after the success in receipt {earlier.receipt_id}")


def _check_named(contents: Contents, event: str, key: str, identifiers: dict[str, str]) -> None:
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


def _check_run(contents: Contents) -> None:
    """Raise unless each receipt is of this run and its tenant."""
    for name, receipt in contents.receipts.items():
        if (receipt.run_id, receipt.tenant) != (contents.run.run_id, contents.run.tenant):
            raise BrokenError(name, f"is of run {receipt.run_id} of tenant {receipt.tenant}")


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
        if of_file != of_chain:
            raise BrokenError(name, f"{what}: the file says {of_file}, and {names.AUDIT} says {of_chain}")
