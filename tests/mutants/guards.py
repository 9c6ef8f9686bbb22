"""The guards on which everything rests, and the tests that fail without each."""

from tests.mutants.console_guards import CONSOLE
from tests.mutants.console_read_guards import CONSOLE_READS
from tests.mutants.guard import Guard
from tests.mutants.limit_guards import LIMITS
from tests.mutants.policy_guards import CANDIDATES, POLICIES, VERSIONS

GATE = (
    Guard(
        "a worker that slept past its lease does not call the connector",
        "_Gate.act",
        "asleep >= min(self.engine.timing.lease, limit)",
        "False",
        ("tests/faults/test_interleavings.py",),
    ),
    Guard(
        "an idempotency key is good for one action",
        "_Gate._look_for_receipt",
        "done.fingerprint == self.attempt.action.digest",
        "True",
        ("tests/integration/test_gate.py",),
    ),
    Guard(
        "an action that was changed is not performed under its old approval",
        "_Gate._refuse_unwanted",
        "attempt.approval_id is not None and attempt.is_changed",
        "False",
        ("tests/faults/test_interleavings.py", "tests/integration/test_gate.py"),
    ),
    Guard(
        "an answer with obligations that the gate does not know allows nothing",
        "_Gate._ask",
        "verdict.answer.notifications()",
        "pass",
        ("tests/faults/test_policy_faults.py",),
    ),
    Guard(
        "an approval that was not used in time is void",
        "_Gate._void_if_expired",
        "attempt.has_expired(now)",
        "False",
        ("tests/integration/test_gate.py", "tests/integration/test_windows.py"),
    ),
    Guard(
        "limits of writes hold for effects that pass the gate side by side",
        "_Gate._counts_otherwise",
        "return await count_writes(passage.tx.conn, self.effect) != self.attempt.facts.writes",
        "return False",
        ("tests/faults/test_interleavings.py",),
    ),
    Guard(
        "what is known of a run counts only as long as the run has not moved on",
        "_KNOWN",
        " AND runs.version = r.version",
        "",
        ("tests/integration/test_snapshots.py",),
    ),
    Guard(
        "an answer of policy that was asked ahead counts for a second",
        "AskedAhead.counts_for",
        "now - self.asked_at <= FRESH",
        "True",
        ("tests/integration/test_asking_ahead.py",),
    ),
    Guard(
        "an answer of an old policy server, which may be of another rule, is none",
        "parse_reply",
        "if parse_version(reply.provenance.version) < OLDEST_OPA:",
        "if False:",
        ("tests/unit/test_policy_answer.py",),
    ),
)

APPROVALS = (
    Guard(
        "an approval is used up before it expires, or not at all",
        "consume",
        " AND %(until)s > %(now)s",
        "",
        ("tests/integration/test_approvals.py",),
    ),
    Guard(
        "an approval is used up once",
        "consume",
        " AND consumed_at IS NULL",
        "",
        ("tests/integration/test_approvals.py",),
    ),
    Guard(
        "the requester of an effect does not sign it",
        "refuse_vote",
        "if person.id in (ballot.requested_by, ballot.submitted_by) or behind & ballot.requester_accounts:",
        "if False:",
        ("tests/unit/test_approval_rules.py",),
    ),
    Guard(
        "one person votes once",
        "refuse_vote",
        "if person.id in ballot.voted or behind & ballot.voted_accounts:",
        "if False:",
        ("tests/unit/test_approval_rules.py",),
    ),
    Guard(
        "one rejection ends a request",
        "tally",
        "if any(ends_request(requirement, vote) for vote in votes):",
        "if False:",
        ("tests/unit/test_approval_rules.py",),
    ),
    Guard(
        "where all groups sign, each has a signer for itself",
        "_is_quorum_met",
        "not asked.all_groups or not without_signer(asked.groups, signers)",
        "True",
        ("tests/unit/test_approval_rules.py",),
    ),
    Guard(
        "each class of signers is complete",
        "is_met",
        "all(is_class_met(one, signers) for one in requirement.classes)",
        "True",
        ("tests/unit/test_signer_classes.py", "tests/integration/test_classes_agree.py"),
    ),
    Guard(
        "where policy gives others the veto, a no ends nothing",
        "Requirement.is_ended_by",
        "not self.veto or not set(self.veto).isdisjoint(groups)",
        "True",
        ("tests/unit/test_signer_classes.py", "tests/integration/test_classes_agree.py"),
    ),
    Guard(
        "a click on a card that has changed since does not count",
        "refuse_stale",
        'payload.stamp not in ("", approval.stamp)',
        "False",
        ("tests/integration/test_gate.py", "tests/integration/test_bot_votes.py", "tests/faults/test_clicks.py"),
    ),
)

ROWS = (
    Guard(
        "a worker writes under its lease alone",
        "_IS_OURS",
        " AND effects.attempt = r.attempt",
        "",
        ("tests/integration/test_gate.py",),
    ),
    Guard(
        "a worker extends its own leases alone",
        "extend_leases",
        "WHERE e.lease_owner = %s AND e.status = 'leased' FOR NO KEY UPDATE OF e SKIP LOCKED",
        "WHERE %s::text IS NOT NULL AND e.status = 'leased' FOR NO KEY UPDATE OF e SKIP LOCKED",
        ("tests/integration/test_leases.py",),
    ),
    Guard(
        "a dead letter says why",
        "_bury",
        "NotificationStatus.DEAD_LETTER, facts, engine.clock()",
        "NotificationStatus.DEAD_LETTER, {}, engine.clock()",
        ("tests/faults/test_interleavings.py",),
    ),
    Guard(
        "what is named like a secret is hidden",
        "_member",
        "if _is_secret(name, item):",
        "if False:",
        ("tests/unit/test_receipts_redaction.py",),
    ),
    Guard(
        "what a declared pointer leads to is hidden",
        "_is_end",
        "return any(tree is _ALL for tree in trees)",
        "return False",
        ("tests/unit/test_receipts_redaction.py",),
    ),
    Guard(
        "a leaf of another moment than the first of its row keeps its own",
        "_brief",
        'leaf["at"] != stored.at',
        "False",
        ("tests/unit/test_leaf_sets.py",),
    ),
    Guard(
        "a leaf of another request than the first of its row keeps its own",
        "_brief",
        'about["request_id"] != stored.request_id',
        "False",
        ("tests/unit/test_leaf_sets.py",),
    ),
)

DOORS = (
    Guard(
        "a request of Slack's that is older than five minutes is refused",
        "claimed",
        "abs(now.timestamp() - int(timestamp)) > WINDOW.total_seconds() or ",
        "",
        ("tests/unit/test_bot_identity.py",),
    ),
    Guard(
        "a caller's request with another signature is refused",
        "is_signed",
        "return hmac.compare_digest(expected.encode(), claim.signature)",
        "return True",
        ("tests/unit/test_edge_signing.py",),
    ),
    Guard(
        "policies are previewed for their authors alone",
        "add_policy_preview",
        "if not caller.grants.previews:",
        "if False:",
        ("tests/integration/test_edge_policy_preview.py",),
    ),
    Guard(
        "foreign Rego sees the configuration of no other tenant",
        "candidate",
        " if name == tenant",
        "",
        ("tests/integration/test_edge_policy_preview.py",),
    ),
    Guard(
        "foreign Rego has no more memory than it is given",
        "_CONFINE",
        'ulimit -d "$1" && ',
        "",
        ("tests/integration/test_policy_confined.py",),
    ),
    Guard(
        "foreign Rego has no more CPU time than it is given",
        "_CONFINE",
        'ulimit -t "$0" && ',
        "",
        ("tests/integration/test_policy_confined.py",),
    ),
)

VERIFIER = (
    Guard(
        "a member has the SHA-256 that was signed",
        "match",
        "if sha256(members[name]) != signed[name]:",
        "if False:",
        ("tests/unit/test_evidence_verify.py",),
    ),
    Guard(
        "the leaves are one unbroken chain",
        "unbroken",
        "verify_chain(contents.leaves, Head(run.sealed_seq, run.audit_head), contents.lines())",
        "pass",
        ("tests/unit/test_evidence_verify.py", "tests/unit/test_evidence_forgeries.py"),
    ),
    Guard(
        "the verifier counts the quorum again",
        "check_quorum",
        "if len(approving) < requirement.quorum:",
        "if False:",
        ("tests/integration/test_evidence_lies.py",),
    ),
    Guard(
        "the verifier counts each class of signers again",
        "_check_class",
        "if len(approving) < one.quorum:",
        "if False:",
        ("tests/integration/test_evidence_lies.py",),
    ),
    Guard(
        "the verifier takes no approval against a veto",
        "_rejections",
        "if any(ends[:-1]):",
        "if False:",
        ("tests/integration/test_evidence_lies.py",),
    ),
    Guard(
        "a proof of inclusion leads to the root",
        "verify_inclusion",
        "if root != head.root:",
        "if False:",
        ("tests/unit/test_log_proofs.py",),
    ),
)

GUARDS = (
    *(*GATE, *APPROVALS, *ROWS, *DOORS, *POLICIES, *VERSIONS, *LIMITS, *VERIFIER, *CANDIDATES),
    *(*CONSOLE, *CONSOLE_READS),
)
