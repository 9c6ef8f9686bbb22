"""The whole product on this machine for the gallery: embedded mode in a folder of its own, people who sign in, cases.

People sign in at a provider (OpenID Connect) as in production: one of them only looks at pages, one audits, two answer
requests, one operates.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import yaml
from psycopg.conninfo import make_conninfo

from console.pages import ROOT
from countersign.embedded.case import Case
from countersign.embedded.children import Child, Supervisor
from countersign.embedded.packs import callers, demos, example_of
from countersign.embedded.system import FILES, Embedded, Ports, embedded
from countersign.settings import Settings
from runtime.model.console import ConsoleRole
from tests.integration.oidc_stage import CLIENT, RealProvider, real_provider

PEOPLE = {
    ConsoleRole.VIEWER: "vera",
    ConsoleRole.AUDITOR: "aldo",
    ConsoleRole.OFFICER: "anna",
    ConsoleRole.OPERATOR: "omar",
}
"""Who looks at pages as each role, and has no other, but a viewer's."""
SECOND = "boris"
"""Another officer."""
_GROUPS = {
    ConsoleRole.VIEWER: ["readers"],
    ConsoleRole.AUDITOR: ["auditors"],
    ConsoleRole.OFFICER: ["compliance"],
    ConsoleRole.OPERATOR: ["operators"],
}
_MORE_PEOPLE = (
    {"id": "vera", "name": "Vera Lund", "groups": ["readers"]},
    {"id": "aldo", "name": "Aldo Ricci", "groups": ["auditors"]},
)
_ROLES = ("edge", "bot", "worker", "sweeps", "console")
_QUIET = ("edge", "console")
"""What serves pages while nothing goes on."""

# Troubles that would take other systems that fail for hours. No worker runs from then on, so they stay.
_TROUBLE = """
    SET session_replication_role = replica;
    UPDATE effects SET status = 'in_doubt', error = 'The connection broke after the request was sent.'
     WHERE run_id = %(access)s AND effect_id = (SELECT min(effect_id) FROM effects WHERE run_id = %(access)s);
    UPDATE effects SET status = 'pending', tries = 3, error = '503: the register is down for maintenance.',
                       next_try_at = now() + interval '9 minutes'
     WHERE effect_id = (SELECT max(effect_id) FROM effects WHERE run_id = %(access)s);
    UPDATE effects SET status = 'blocked', error = 'is_archived: the channel #incidents is archived'
     WHERE effect_id = (SELECT max(effect_id) FROM effects WHERE run_id = %(incident)s);
    UPDATE steps SET status = 'needs_attention', error = '403: no right to change this incident.'
     WHERE run_id = %(incident)s AND path = (SELECT max(path) FROM steps WHERE run_id = %(incident)s AND verb <> '');
    UPDATE notifications SET status = 'dead_letter', outcome = '{"reason": "Nothing waits for this answer."}'
     WHERE notification_id = (SELECT min(notification_id) FROM notifications);
    UPDATE evidence_bundles SET status = 'stuck', stored_at = NULL, sha256 = NULL, tries = 9,
                                error = 'the archive refuses it: no space is left'
     WHERE run_id = %(stuck)s
"""
_STEP = "SELECT path FROM steps WHERE run_id = %(incident)s AND status = 'needs_attention'"
_EFFECT = "SELECT effect_id FROM effects WHERE run_id = %(access)s AND status = 'pending' AND tries = 3"
_LETTER = "SELECT notification_id FROM notifications WHERE status = 'dead_letter'"


@dataclass(frozen=True)
class Trouble:
    """What went wrong: a step of a run, an effect that is tried again, and a dead letter."""

    run: str
    step: str
    effect: str
    letter: str


@dataclass(frozen=True)
class House:
    """Embedded mode, the provider at which people sign in, and the superuser's login of its database."""

    system: Embedded
    provider: RealProvider
    supervisor: Supervisor

    @property
    def url(self) -> str:
        """Return where the console stands."""
        return f"{self.system.env['COUNTERSIGN_PUBLIC_URL']}{ROOT}"

    @property
    def link(self) -> str:
        """Return the secret of the link that opens the console once."""
        return self.system.env["COUNTERSIGN_CONSOLE_LINK"]

    @asynccontextmanager
    async def serving(self, *, works: bool) -> AsyncIterator[None]:
        """Serve the console, with workers or without any."""
        env = {
            "COUNTERSIGN_CONSOLE_ISSUER": self.provider.issuer,
            "COUNTERSIGN_CONSOLE_CLIENT_ID": CLIENT,
            "COUNTERSIGN_CONSOLE_CLIENT_SECRET": "a-secret-of-the-console",
        }
        roles = _ROLES if works else _QUIET
        program: Child = self.system.serve("countersign" if works else "console", *roles, **env)
        async with self.supervisor.running(program):
            await self.supervisor.until_answers(program)
            yield

    async def bring_in(self, pack: str, name: str | None = None) -> Case:
        """Bring in a case, and answer what is asked outside."""
        case = await self.system.outside.bring_in(pack, example_of(self.system.demos, pack, name))
        await case.replied()
        return case

    def rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """Run SQL as a superuser; return the rows."""
        dsn = make_conninfo(self.system.env["COUNTERSIGN_DATABASE_URL"], user="postgres")
        with psycopg.connect(dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as conn:
            for statement in filter(str.strip, query.split(";")):
                found = conn.execute(statement, values)
            return found.fetchall() if found.description else []

    def trouble(self, access: str, incident: str, stuck: str) -> Trouble:
        """Have something of every kind that needs attention, in these runs."""
        runs = {"access": access, "incident": incident, "stuck": stuck}
        self.rows(_TROUBLE, **runs)
        found = [self.rows(query, **runs)[0] for query in (_STEP, _EFFECT, _LETTER)]
        return Trouble(incident, *(str(next(iter(row.values()))) for row in found))


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[House]:
    """Start everything but the program itself, in a folder."""
    supervisor = Supervisor()
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(real_provider())
        own = {"home": home / "home", "directory": _directory(home, provider.issuer), "console_groups": _GROUPS}
        settings = Settings().model_copy(update=own)
        system = await stack.enter_async_context(embedded(settings, Ports.tried("127.0.0.1", 0, 0), supervisor))
        for person in (*PEOPLE.values(), SECOND):
            await provider.knows(person)
        yield House(system, provider, supervisor)


def _directory(home: Path, issuer: str) -> Path:
    """Write the sandbox's directory with accounts at the provider; return its place."""
    known = yaml.safe_load((FILES / "people.yaml").read_text(encoding="utf-8"))["people"]
    people = [{**one, "sign_in": [{"issuer": issuer, "subject": one["id"]}]} for one in (*known, *_MORE_PEOPLE)]
    whole = {"people": people, "agents": list(callers(demos(Settings()).values()))}
    path = home / "directory.yaml"
    path.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")
    return path


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
