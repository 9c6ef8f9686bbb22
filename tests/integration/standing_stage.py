"""A directory in which people come and go while requests are open."""

from collections.abc import Collection

from runtime.store import directory
from tests.bench import PEOPLE, TEAM, TENANT, Bench
from tests.logins import loading


async def load_directory(bench: Bench, version: int, without: Collection[str] = ()) -> None:
    """Load a directory of the bench's people without some of them, and do what follows."""
    known = {name: groups for name, groups in PEOPLE.items() if name not in without}
    people = [{"id": i, "kind": "person", "name": i.title(), "groups": g, "grants": {}} for i, g in known.items()]
    agent = {"id": "portal-bot", "kind": "agent", "name": "Portal", "groups": [], "grants": {}}
    accounts = [(TEAM, f"U{i.upper()}", i) for i in known]
    edition = directory.Edition(version, f"{version:064x}")
    async with loading(bench.superuser) as conn:
        await directory.replace_directory(conn, TENANT, edition, [*people, agent], accounts, bench.clock())
    await bench.later(seconds=5)
