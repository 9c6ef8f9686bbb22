"""Versions of the policy, which all tenants of a database share, and their activations.

Both are insert-only: the last activation says which version is in force. Each move is on record in the chain of every
tenant. Without a version the database is for development: what OPA serves decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policy.contract import PolicyText
from policy.versions import ReadPolicy, stored_rules
from receipts.acts import Act
from receipts.chain import Actor
from receipts.policy_acts import PolicyActivated
from runtime.store.database.pool import Conn
from runtime.store.records import keep_policy_text
from runtime.store.tenants import POLICY_VERSIONS, policy_proposed, put_act


@dataclass(frozen=True)
class NewPolicyVersion:
    """A version to be added: its text, its signed bundle, and what its author says.

    `tenant` is where its activation is signed. `rules` is the JSON text of the list of its rules, `report` that of its
    backtest, None where none was made.
    """

    text: PolicyText
    bundle: bytes
    rules: str
    tenant: str
    author: str
    comment: str
    report: str | None


@dataclass(frozen=True)
class Activation:
    """The version that comes into force, by whom, and the run that asked for it; None for the first version."""

    version: int
    by: Actor
    run_id: str | None


@dataclass(frozen=True)
class InForce:
    """The version in force, its digest, and the previous version: in force when this one first came into force.

    None for the first version. What is in force again after a rollback has the previous version that it always had.
    """

    version: int
    digest: str
    before: int | None


async def lock_policy_versions(conn: Conn) -> None:
    """Keep all others from adding and activating versions until the caller's transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('policy_versions', 0))")


async def add_version(conn: Conn, new: NewPolicyVersion, by: Actor, now: datetime) -> int:
    """Add a version, and return its number; the caller has locked the versions, and its text is none of theirs."""
    await keep_policy_text(conn, new.tenant, new.text, now)
    row = await conn.read_row("SELECT coalesce(max(version), 0) + 1 AS version FROM policy_versions", ())
    version = int(row["version"]) if row else 1
    await conn.execute(
        "INSERT INTO policy_versions (version, digest, bundle, tenant, author, comment, rules, report, proposed_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (version, new.text.digest, new.bundle, new.tenant, new.author, new.comment, new.rules, new.report, now),
    )
    row = await conn.read_row(f"{POLICY_VERSIONS} WHERE version = %s", (version,))
    if row is not None:
        await _put_acts(conn, policy_proposed(row), by, now)
    return version


async def activate_version(conn: Conn, activation: Activation, now: datetime) -> None:
    """Bring a version into force; the caller has locked the versions.

    The lock at the end waits for transactions that go by the previous version (`policy_in_force`); later ones see this
    one. It is taken last: the transaction that waits for it holds all other locks that it needs.
    """
    row = await conn.read_row("SELECT number, version FROM policy_activations ORDER BY number DESC LIMIT 1", ())
    act = PolicyActivated(
        number=row["number"] + 1 if row else 1,
        version=activation.version,
        replaces=row["version"] if row else None,
        by=activation.by.id,
        run_id=activation.run_id,
    )
    await _put_acts(conn, act, activation.by, now)
    await conn.execute(
        "INSERT INTO policy_activations (number, version, replaces, activated_by, run_id, activated_at)"
        " VALUES (%(number)s, %(version)s, %(replaces)s, %(by)s, %(run_id)s, %(now)s)",
        {**act.model_dump(), "now": now},
    )
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('policy_in_force', 0))")


async def _put_acts(conn: Conn, act: Act, by: Actor, now: datetime) -> None:
    """Put an act on record in the chain of every tenant, in one order for all who do."""
    for row in await conn.read("SELECT tenant FROM tenants ORDER BY tenant", ()):
        await put_act(conn, row["tenant"], act, by, now)


_IN_FORCE = """
    SELECT v.version, v.digest, (SELECT replaces FROM policy_activations f WHERE f.version = v.version
                                  ORDER BY number LIMIT 1) AS before
      FROM policy_activations a JOIN policy_versions v USING (version) ORDER BY a.number DESC LIMIT 1
"""


async def in_force(conn: Conn) -> InForce | None:
    """Return the version in force, None where the database is for development."""
    row = await conn.read_row(_IN_FORCE, ())
    return InForce(**row) if row else None


async def version_of(conn: Conn, digest: str) -> int | None:
    """Return the version that has a text, by its digest."""
    row = await conn.read_row("SELECT version FROM policy_versions WHERE digest = %s", (digest,))
    return int(row["version"]) if row else None


_VERSION = """
    SELECT v.version, v.digest, v.tenant, v.author, v.comment, v.proposed_at, encode(sha256(v.bundle), 'hex') AS bundle,
           a.number, a.activated_at, a.activated_by, a.run_id,
           CASE WHEN a.number IS NULL THEN 'draft'
                WHEN a.number = (SELECT max(number) FROM policy_activations) THEN 'active' ELSE 'retired' END AS status
      FROM policy_versions v LEFT JOIN LATERAL (
           SELECT * FROM policy_activations WHERE version = v.version ORDER BY number DESC LIMIT 1) a ON true
"""


async def list_versions(conn: Conn, sought: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return versions, the newest first, below the version `after`.

    They are narrowed by `status`, `since` and `until` (proposed then), where those are not None, to at most `limit`.
    """
    query = f"""
        SELECT * FROM ({_VERSION}) AS v
         WHERE (%(after)s::int IS NULL OR version < %(after)s) AND (%(status)s::text IS NULL OR status = %(status)s)
           AND (%(since)s::timestamptz IS NULL OR proposed_at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR proposed_at < %(until)s)
         ORDER BY version DESC LIMIT %(limit)s
    """  # noqa: S608 - our own words
    return await conn.rows(query, sought)


async def find_version(conn: Conn, version: int) -> dict[str, Any] | None:
    """Return where a version stands, with the report of its backtest and the SHA-256 of that report's text."""
    digest = "encode(sha256(convert_to(p.report::text, 'UTF8')), 'hex') AS report_digest"
    query = f"SELECT v.*, p.report, {digest} FROM ({_VERSION}) AS v"  # noqa: S608 - our own words
    return await conn.row(f"{query} JOIN policy_versions p USING (version) WHERE version = %s", (version,))


async def activations_of(conn: Conn, version: int | None = None) -> list[dict[str, Any]]:
    """Return the activations, of one version or of all, the oldest first."""
    query = "SELECT * FROM policy_activations WHERE %(version)s::int IS NULL OR version = %(version)s ORDER BY number"
    return await conn.rows(query, {"version": version})


async def bundle_of(conn: Conn, version: int) -> bytes:
    """Return the signed bundle of a version; raise LookupError."""
    row = await conn.row("SELECT bundle FROM policy_versions WHERE version = %s", (version,))
    if row is None:
        raise LookupError(f"there is no policy version {version}")
    return bytes(row["bundle"])


async def bundle_in_force(conn: Conn) -> dict[str, Any] | None:
    """Return the version in force and the SHA-256 (hex) of its bundle, whose bytes stay in the database."""
    query = """
        SELECT version, encode(sha256(bundle), 'hex') AS sha256 FROM policy_versions
         WHERE version = (SELECT version FROM policy_activations ORDER BY number DESC LIMIT 1)
    """
    return await conn.row(query)


async def signers_of(conn: Conn, run_id: str) -> Sequence[str]:
    """Return the people whose approval an effect of a run has used up."""
    query = """
        SELECT DISTINCT v.person FROM votes v JOIN approvals a USING (approval_id)
         WHERE a.run_id = %s AND a.kind = 'effect' AND a.consumed_at IS NOT NULL
           AND v.verdict = 'approve' AND v.withdrawn_at IS NULL ORDER BY v.person
    """
    return [row["person"] for row in await conn.rows(query, (run_id,))]


async def read_version(conn: Conn, version: int) -> ReadPolicy:
    """Return the files and rules of a version; raise LookupError."""
    query = "SELECT t.files, v.rules FROM policy_versions v JOIN policy_texts t USING (digest) WHERE version = %s"
    row = await conn.row(query, (version,))
    if row is None:
        raise LookupError(f"there is no policy version {version}")
    return ReadPolicy(row["files"], stored_rules(row["rules"]))


async def tenant_of_rules(conn: Conn) -> str:
    """Return the tenant in which changes of rules are signed: that of the first version; raise LookupError."""
    row = await conn.row("SELECT tenant FROM policy_versions ORDER BY version LIMIT 1")
    if row is None:
        raise LookupError("there is no policy version")
    return str(row["tenant"])


async def is_activated_by(conn: Conn, run_id: str) -> bool:
    """Return whether a run has brought a version into force."""
    return await conn.row("SELECT 1 FROM policy_activations WHERE run_id = %s", (run_id,)) is not None


async def text_of(conn: Conn, version: int) -> PolicyText:
    """Return the text of a version; raise LookupError."""
    query = "SELECT digest, files FROM policy_texts JOIN policy_versions USING (digest) WHERE version = %s"
    row = await conn.row(query, (version,))
    if row is None:
        raise LookupError(f"there is no policy version {version}")
    return PolicyText(**row)
