"""What the edge sees of passkeys: pages to show, and what came of them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from runtime.services.approval_view import ApprovalView


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
    """What is signed by whom, and how the authenticator is asked; `ticket` is "" where no glass is broken."""

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
