"""Passkey ceremonies of one tenant: a link is used once, and what comes by it is its person's word."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from webauthn.helpers import bytes_to_base64url

from receipts.chain import Actor
from receipts.passkey_records import challenge_of, rp_id_of
from runtime.approvals.webauthn import document_of
from runtime.inbox import inbox
from runtime.inbox.votes import statement_of
from runtime.model.commands import RegisterPasskeyPayload
from runtime.model.notification import Addressed
from runtime.model.passkey import Assertion, Attestation, Link, LinkPurpose
from runtime.model.payloads import ConsoleWord, VotePayload
from runtime.model.states import NotificationStatus
from runtime.model.votes import Via, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.clicks import ClickOutcome
from runtime.services.signing_links import id_of
from runtime.store import approvals, directory, notifications, passkeys


class Closed(StrEnum):
    """Why a link leads nowhere."""

    UNKNOWN = "unknown"
    USED = "used"  # to sign, or to register
    EXPIRED = "expired"


@dataclass(frozen=True)
class Ceremony:
    """What the browser's authenticator is asked: challenge (base64url), relying party, and passkeys of the person."""

    challenge: str
    rp_id: str
    credential_ids: tuple[str, ...]


@dataclass(frozen=True)
class SigningPage:
    """What is signed by whom, and how the authenticator is asked; `ticket` is "" where break-glass is not used."""

    view: ApprovalView
    person_name: str
    reason: str
    ticket: str
    until: datetime
    ceremony: Ceremony


@dataclass(frozen=True)
class RegistrationPage:
    """Who registers a passkey, on whose invitation, and how the authenticator is asked."""

    person_id: str
    person_name: str
    invited_by: str
    until: datetime
    ceremony: Ceremony


Page = SigningPage | RegistrationPage


@dataclass(frozen=True)
class PasskeyCeremonies:
    """Opens the pages for passkeys and takes what people do there; `public_url` is their origin."""

    desk: ApprovalService
    public_url: str

    async def open(self, token: str) -> Page | Closed:
        """Return what the link's page shows, until somebody has signed or registered by it; programs may look, too."""
        link = await self._link(token)
        if isinstance(link, Closed):
            return link
        async with self.desk.engine.pool.connection() as conn:
            if await notifications.find_recorded(conn, _key_of(link)):
                return Closed.USED
            await passkeys.note_opening(conn, self.desk.tenant, link.link_id, self.desk.engine.clock())
            person = await directory.actor(conn, self.desk.tenant, link.person)
            known = await passkeys.usable_passkeys(conn, self.desk.tenant, link.person)
        name = str(person["name"]) if person else link.person
        if link.purpose is LinkPurpose.SIGN:
            return await self._signing_page(link, name, tuple(known))
        ceremony = Ceremony(bytes_to_base64url(bytes.fromhex(link.nonce)), self._rp_id, tuple(known))
        return RegistrationPage(link.person, name, link.invited_by, link.expires_at, ceremony)

    async def sign(self, token: str, assertion: Assertion) -> ClickOutcome | Closed:
        """Record what was signed as its person's vote, and apply it; a repeat returns the same outcome."""
        link = await self._link(token)
        if isinstance(link, Closed) or link.purpose is not LinkPurpose.SIGN or link.approval_id is None:
            return link if isinstance(link, Closed) else Closed.UNKNOWN
        payload = VotePayload(
            approval_id=link.approval_id,
            team=link.team,
            user=link.account,
            person_id=link.person,
            refusal=None,
            stamp=link.stamp,
            verdict=VoteVerdict.APPROVE,
            reason=link.reason,
            ticket=link.ticket,
            assertion=assertion.model_copy(update={"nonce": link.nonce}),
            via=Via.CONSOLE if link.console else Via.SLACK,
            console=ConsoleWord.model_validate(link.console) if link.console else None,
        )
        return await self.desk.apply(await self._record(link, f"approval:{link.approval_id}", payload))

    async def register(self, token: str, attestation: Attestation) -> str | Closed:
        """Record the passkey that was made, and apply it; return why it is not registered, "" where it is."""
        link = await self._link(token)
        if isinstance(link, Closed) or link.purpose is not LinkPurpose.REGISTER:
            return link if isinstance(link, Closed) else Closed.UNKNOWN
        payload = RegisterPasskeyPayload(
            link_id=link.link_id,
            origin=self.public_url,
            attestation=attestation.model_copy(update={"nonce": link.nonce}),
        )
        facts = await inbox.apply(self.desk.engine, await self._record(link, link.link_id, payload))
        return "" if facts["status"] == NotificationStatus.APPLIED else str(facts["reason"])

    @property
    def _rp_id(self) -> str:
        return rp_id_of(self.public_url)

    async def _link(self, token: str) -> Link | Closed:
        async with self.desk.engine.pool.connection() as conn:
            link = await passkeys.find_link(conn, self.desk.tenant, id_of(token))
        if link is None:
            return Closed.UNKNOWN
        return Closed.EXPIRED if self.desk.engine.clock() >= link.expires_at else link

    async def _signing_page(self, link: Link, name: str, known: tuple[str, ...]) -> SigningPage | Closed:
        view = await self.desk.approval(str(link.approval_id))
        async with self.desk.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, str(link.approval_id))
        if view is None or approval is None:
            return Closed.UNKNOWN
        async with self.desk.engine.run_tx(approval.run_id) as tx:
            said = await statement_of(tx, name, link.reason, link.ticket)
        challenge = challenge_of(document_of(approval, VoteVerdict.APPROVE, link.nonce, said))
        ceremony = Ceremony(bytes_to_base64url(challenge), self._rp_id, known)
        return SigningPage(view, name, said.reason, said.ticket, link.expires_at, ceremony)

    async def _record(self, link: Link, subject: str, payload: VotePayload | RegisterPasskeyPayload) -> str | Addressed:
        """Write it into the inbox, durably: what comes by one link is one word."""
        engine, by = self.desk.engine, Actor(id=link.person, kind="person")
        new = engine.notification(payload, by=by, about=subject, key=_key_of(link), request_id=link.link_id[:32])
        return await inbox.record_addressed(engine, new)


def _key_of(link: Link) -> str:
    """Return the key under which the one word that comes by a link is recorded."""
    return f"passkey:{link.link_id}"
