"""Links to sign with a passkey: handed out to one person; the SHA-256 of a link's token alone is kept."""

import hashlib
import secrets
from dataclasses import dataclass

from runtime.engine import Engine
from runtime.model.limits import error_text
from runtime.model.passkey import SIGNING_LASTS, Link, LinkPurpose
from runtime.model.payloads import ConsoleWord
from runtime.model.person import SlackAccount
from runtime.store.passkeys import add_link


@dataclass(frozen=True)
class SigningWish:
    """A person wants to approve with a passkey what they saw on a card; verified. `account` is the one that clicked.

    Where they saw it in the console, `console` says by which account, and `account` is None.
    With a `ticket` they do so without the others, which uses break-glass.
    """

    approval_id: str
    stamp: str
    reason: str
    person_id: str
    account: SlackAccount | None
    ticket: str = ""
    console: ConsoleWord | None = None


PATH = "/passkeys/"
"""Where the edge has its pages; a token follows."""


@dataclass(frozen=True)
class SigningLinks:
    """Links to sign, of one tenant."""

    engine: Engine
    tenant: str

    async def link(self, wish: SigningWish) -> str | None:
        """Return the address of a page to sign on, for this person and once; None where the edge has no address."""
        if not self.engine.routing.public_url:
            return None
        token, now = secrets.token_urlsafe(32), self.engine.clock()
        link = Link(
            link_id=id_of(token),
            person=wish.person_id,
            purpose=LinkPurpose.SIGN,
            nonce=secrets.token_hex(32),
            expires_at=now + SIGNING_LASTS,
            approval_id=wish.approval_id,
            stamp=wish.stamp,
            reason=error_text(wish.reason),
            ticket=error_text(wish.ticket),
            team=wish.account.team if wish.account else "",
            account=wish.account.user if wish.account else "",
            console=wish.console.model_dump() if wish.console else None,
        )
        async with self.engine.pool.connection() as conn:
            await add_link(conn, self.tenant, link, now)
        return f"{self.engine.routing.public_url}{PATH}{token}"


def id_of(token: str) -> str:
    """Return what a link is kept under."""
    return hashlib.sha256(token.encode()).hexdigest()
