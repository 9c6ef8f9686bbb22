"""Requests in the console: what a page shows of one, and what its reader does with it, by their account and on record.

Nothing counts here that Slack's cards would refuse: votes go the same way, and say by which account of which issuer
they were given, and what the page showed. A form has a key of its own: what it says
twice is one word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from receipts.canonical import digest
from runtime.engine import Engine
from runtime.model.limits import error_text
from runtime.model.metrics import Mark
from runtime.model.payloads import ClaimPayload, ConsoleWord, VotePayload, WithdrawPayload
from runtime.model.states import ApprovalStatus
from runtime.model.votes import ClaimAct, Refusal, RefusalCode, Via, VoteVerdict
from runtime.services.approval_view import Act, ApprovalView
from runtime.services.approvals import ApprovalService, Standing
from runtime.services.clicks import ClickOutcome, record_said
from runtime.services.console_sessions import ConsoleViewer
from runtime.services.request_text import Line, text_of
from runtime.services.signing_links import SigningWish
from runtime.store.metrics import put_mark

CONSOLE_ACTS = frozenset({Act.DECIDE, Act.CHANGES, Act.WITHDRAW, Act.CLAIM, Act.RELEASE})
"""What can be done in the console with a request; the rest in Slack alone."""


class Said(StrEnum):
    """What a form says."""

    APPROVE = "approve"
    REJECT = "reject"
    CHANGES = "changes"
    WITHDRAW = "withdraw"
    CLAIM = "claim"
    RELEASE = "release"


@dataclass(frozen=True)
class RequestPage:
    """A request before its reader: its text, what they may do with it, and why they may not decide it.

    `shown` is the digest of what the page shows, which its forms carry.
    """

    view: ApprovalView
    lines: list[Line]
    shown: str
    acts: frozenset[Act]
    refusal: Refusal | None


@dataclass(frozen=True)
class RequestForm:
    """A form that was sent: what it says of a request, as which page it stood, and its own key."""

    approval_id: str
    says: Said
    reason: str
    stamp: str
    shown: str
    key: str

    @property
    def word(self) -> str:
        """Return what is one word: the same form, saying the same."""
        return digest([self.key, self.approval_id, str(self.says), self.reason, self.stamp])


@dataclass(frozen=True)
class SignHere:
    """A vote that has to be signed with a passkey, at an address."""

    link: str


class PageChangedError(Exception):
    """The page showed something else than it would now; nothing was done."""


@dataclass(frozen=True)
class ConsoleRequests:
    """The requests of one tenant, before people in the console."""

    engine: Engine
    tenant: str

    async def page(self, approval_id: str, viewer: ConsoleViewer) -> RequestPage | None:
        """Return a request before somebody who looks at it, which is noted; None where it is not there."""
        desk = ApprovalService(self.engine, self.tenant)
        found = await desk.standing(approval_id, viewer.person)
        view = await desk.approval(approval_id)
        if found is None or view is None:
            return None
        acts = CONSOLE_ACTS & await desk.answers.acts(approval_id, viewer.person)
        if viewer.is_officer and view.status is ApprovalStatus.REQUESTED:
            async with self.engine.pool.connection() as conn:
                await put_mark(conn, approval_id, Mark.LOOKED, viewer.person, self.engine.clock())
        shown = shown_of(found.view)
        return RequestPage(view, text_of(found.view), digest(shown), acts, found.refusal)

    async def send(self, form: RequestForm, viewer: ConsoleViewer) -> ClickOutcome | SignHere | None:
        """Do what a form says, at most once; return what became of it. None: there is no such request.

        Raise PageChangedError where the request is as it was, and would be shown otherwise now.
        """
        desk = ApprovalService(self.engine, self.tenant)
        found = await desk.standing(form.approval_id, viewer.person)
        if found is None:
            return None
        word = _word(form, found, viewer)
        if form.says is Said.APPROVE and found.view.sign_with and found.refusal is None:
            return await self._sign(desk, form, viewer, word)
        recorded = await record_said(
            self.engine,
            _payload(form, viewer, word),
            by=viewer.person,
            about=f"approval:{form.approval_id}",
            key=f"console:{viewer.session_id}:{form.word}",
            request_id=form.key,
        )
        return await desk.apply(recorded)

    async def _sign(
        self, desk: ApprovalService, form: RequestForm, viewer: ConsoleViewer, word: ConsoleWord
    ) -> ClickOutcome | SignHere:
        wish = SigningWish(form.approval_id, form.stamp, form.reason, viewer.person, account=None, console=word)
        link = await desk.signing.link(wish)
        refused = ClickOutcome(counted=False, refusal=Refusal(RefusalCode.PASSKEY_NEEDED), status=None)
        return SignHere(link) if link else refused


def shown_of(view: ApprovalView) -> dict[str, Any]:
    """Return what evidence keeps of a page: which request it was about, as it was, and its text."""
    text = [f"{label}: {value}" for label, value in text_of(view)]
    return {"id": view.approval_id, "digest": view.digest, "stamp": view.stamp, "text": text}


def _word(form: RequestForm, found: Standing, viewer: ConsoleViewer) -> ConsoleWord:
    shown = shown_of(found.view)
    is_claim = form.says in (Said.CLAIM, Said.RELEASE)  # whose words carry no stamp
    if (form.stamp == found.view.stamp or is_claim) and form.shown != digest(shown):
        raise PageChangedError
    return ConsoleWord(issuer=viewer.issuer, subject=viewer.subject, shown=shown)


def _payload(
    form: RequestForm, viewer: ConsoleViewer, word: ConsoleWord
) -> VotePayload | WithdrawPayload | ClaimPayload:
    who: Mapping[str, Any] = {
        "approval_id": form.approval_id,
        "team": "",
        "user": "",
        "person_id": viewer.person,
        "refusal": None,
        "via": Via.CONSOLE,
        "console": word,
    }
    match form.says:
        case Said.CLAIM | Said.RELEASE:
            return ClaimPayload(**who, act=ClaimAct(form.says))
        case Said.WITHDRAW:
            return WithdrawPayload(**who, stamp=form.stamp, reason=error_text(form.reason))
        case _:
            verdict = VoteVerdict(form.says)
            return VotePayload(**who, stamp=form.stamp, verdict=verdict, reason=error_text(form.reason))
