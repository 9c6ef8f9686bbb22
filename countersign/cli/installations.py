"""Slack installations: links to install, the workspaces that have the app, and new keys for stored tokens."""

from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any

from countersign.cli.operate import perform
from countersign.connection import connected, naming
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings, required
from countersign.slack import make_vault
from receipts.vault import VaultError
from runtime.clock import utc_now
from runtime.model.commands import InstallLinkPayload
from runtime.services.installations import rekey
from runtime.services.people import person_of


async def make_link(settings: Settings, by: str, reason: str, hours: int) -> dict[str, Any]:
    """Ask for leave to install the app, and return the link with what became of that; raise OperateError."""
    secret = token_urlsafe(32)
    wish = InstallLinkPayload(
        secret_sha256=sha256(secret.encode()).hexdigest(),
        expires_at=utc_now() + timedelta(hours=hours),
        reason=reason,
    )
    facts = await perform(settings, lambda desk: desk.install_link(by, wish))
    return {**facts, "link": f"{required(settings, 'public_url').rstrip('/')}/slack/install?link={secret}"}


async def rekey_tokens(settings: Settings, by: str) -> tuple[str, int]:
    """Put all tokens under the first key; return its id, and of how many installations. Raise OperateError."""
    vault = make_vault(settings)
    async with connected(settings) as conn:
        with naming():
            actor = await person_of(conn, settings.tenant, by)
        try:
            return vault.key_id, await rekey(conn, settings.tenant, vault, actor, utc_now())
        except VaultError as error:
            raise OperateError(f"nothing was changed: {error}") from error
