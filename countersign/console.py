"""The console of a system: who signs in to it, by what, and who is signed out."""

import logging
from functools import partial
from urllib.parse import urlsplit

from fastapi import FastAPI

from bot.doctor import Fact
from console.app import Desks, build_console
from console.pages import ROOT
from console.provider import Provider, ProviderError
from console.sign_in import CALLBACK, SignIn
from countersign.archive import make_archive
from countersign.connection import connected, naming
from countersign.parts import ServeError
from countersign.setting_secrets import make_privacy
from countersign.settings import Settings
from countersign.system import System
from runtime.clock import utc_now
from runtime.services.console_acts import ConsoleActs
from runtime.services.console_pages import ConsolePages
from runtime.services.console_requests import ConsoleRequests
from runtime.services.console_sessions import ConsoleSessions, end_sessions
from runtime.services.legal_holds import LegalHolds

log = logging.getLogger(__name__)


def make_console(system: System) -> FastAPI | None:
    """Return the console, where there is a way in; raise ServeError where a link to it would not be a sandbox's."""
    settings, engine = system.settings, system.engine
    link, origin = settings.console_link, settings.public_url
    if link is not None and (origin is None or urlsplit(origin).hostname != "localhost"):
        raise ServeError(
            "COUNTERSIGN_CONSOLE_LINK lets who has it be anybody, so COUNTERSIGN_PUBLIC_URL must be http://localhost"
        )
    provider = make_provider(settings)
    if origin is None or (link is None and provider is None):
        log.warning("the console is not served: nobody could sign in without COUNTERSIGN_CONSOLE_CLIENT_SECRET")
        return None
    sessions = ConsoleSessions(
        engine.pool,
        engine.clock,
        settings.tenant,
        settings.console_groups,
        domains=frozenset(settings.console_domains),
        issuer=provider.issuer if provider else None,
        has_link=link is not None,
    )
    door = SignIn(sessions, origin, link=link.get_secret_value() if link else None, provider=provider)
    desks = Desks(
        ConsolePages(engine, settings.tenant),
        ConsoleRequests(engine, settings.tenant),
        ConsoleActs(engine, settings.tenant),
        LegalHolds(engine.pool, engine.clock, settings.tenant, engine.privacy),
        partial(make_archive, settings, engine.clock),
    )
    return build_console(door, desks)


def make_provider(settings: Settings) -> Provider | None:
    """Return the identity provider with whose accounts people sign in, where the settings have the client's secret."""
    issuer, client, secret = settings.console_issuer, settings.console_client_id, settings.console_client_secret
    if issuer is None or client is None or secret is None:  # who has the secret has the others
        return None
    return Provider(issuer, client, secret.get_secret_value(), f"{settings.public_url}{ROOT}{CALLBACK}")


async def sign_out(settings: Settings, person: str, by: str, reason: str) -> int:
    """End all sessions of a person in the console, on record; return how many went on. Raise OperateError."""
    async with connected(settings) as conn:
        with naming():
            return await end_sessions(conn, settings.tenant, person, by, reason, make_privacy(settings), utc_now())


async def check_provider(settings: Settings) -> list[Fact]:
    """Say whether the identity provider of the console describes itself; nothing where the settings name none."""
    provider = make_provider(settings)
    if provider is None:
        return []
    try:
        await provider.begin()
    except ProviderError as error:
        remedy = "Set COUNTERSIGN_CONSOLE_ISSUER to what the provider itself says as `issuer`, and let it be reached."
        return [Fact("console sign-in", ok=False, detail=f"{provider.issuer}: {error}", remedy=remedy)]
    return [Fact("console sign-in", ok=True, detail=provider.issuer)]
