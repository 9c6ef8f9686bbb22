"""A database for lint: a directory with people enough for every requirement, their passkeys, and recorded decisions."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from countersign.policy_lint import Lint, Linted
from countersign.settings import Settings
from policy.bundle import PolicyFolders
from policy.lint.rules import FEW
from runtime.store import directory
from tests.databases import superuser
from tests.logins import loading
from tests.opa_server import PACKS, POLICIES, opa_program

TENANT = "acme"
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
GROUPS = ("compliance", "incident-managers", "operators", "payments-owners", "security", "senior-compliance")
SMALL: Mapping[str, tuple[str, ...]] = {"pair": ("pip", "pam"), "solo": ("sol",)}
"""Groups that are too small for most requirements."""
PEOPLE: Mapping[str, Sequence[str]] = {
    **{f"{group}-{nth}": [group] for group in GROUPS for nth in range(4)},
    **{person: [group] for group, people in SMALL.items() for person in people},
}


async def load_people(dsn: str, tenant: str = TENANT, people: Mapping[str, Sequence[str]] = PEOPLE) -> None:
    """Load a directory of these people, each with an account."""
    known = [{"id": one, "kind": "person", "name": one.title(), "groups": groups} for one, groups in people.items()]
    accounts = [("T0ACME", f"U{number}", one) for number, one in enumerate(people)]
    edition = directory.Edition(1, "be" * 32)
    async with loading(dsn) as conn:
        await directory.replace_directory(conn, tenant, edition, known, accounts, NOW)


async def give_passkeys(dsn: str, groups: Iterable[str] = ("operators", "security")) -> None:
    """Register a passkey for each person of these groups."""
    holders = [one for one, of in PEOPLE.items() if set(of) & set(groups)]
    with superuser(dsn) as conn:
        conn.cursor().executemany(
            "INSERT INTO passkeys (tenant, credential_id, person, public_key, cose_key, algorithm, origin, sign_count,"
            " invited_by, reason, registered_at) VALUES (%s, %s, %s, '', '', -7, '', 0, 'nobody', 'a test', %s)",
            [(TENANT, f"key of {one}", one, NOW) for one in holders],
        )


async def record_rules(dsn: str, rules: Sequence[str], decisions: int = FEW) -> None:
    """Put decisions on record that name these rules."""
    answer = json.dumps({"answer": {"rules": list(rules), "reasons": []}})
    with superuser(dsn) as conn:
        conn.execute("INSERT INTO policy_texts VALUES ('p', '{}', %s) ON CONFLICT DO NOTHING", (NOW,))
        conn.cursor().executemany(
            "INSERT INTO policy_decisions (decision_id, run_id, effect_id, seq, outcome, document, policy_digest, at)"
            " VALUES (%s, 'run', 'effect', %s, 'deny', %s, 'p', %s)",
            [(f"dec_{nth}", nth, answer, NOW) for nth in range(decisions)],
        )


async def linted(folders: PolicyFolders, dsn: str | None, **settings: Any) -> Linted:
    """Return what lint finds in files and, if one is named, in a database."""
    given = Settings(database_url=dsn, **settings)
    lint = await asyncio.to_thread(Lint, opa_program(), folders, given, NOW)  # which runs a loop of its own
    found = lint.of_files()
    beside = await lint.of_database(10_000) if dsn else Linted()
    return Linted(sorted([*found.findings, *beside.findings]), [*found.notes, *beside.notes])


SHIPPED = PolicyFolders(POLICIES, PACKS)
