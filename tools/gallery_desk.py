"""The desk of a person for the gallery: its sections, and the lists of several requests."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from aiohttp import web

from bot.cards.home import came_of, several
from bot.cards.home.home import Seen, home
from bot.cards.home.state import HomeState, Section
from bot.cards.request.signing import signing_modal
from bot.slack.client import SlackClient
from runtime.desk.held.model import HeldView, HeldWaiting
from runtime.desk.home.model import AskedFor, Choices, Entry, Standing, Waiting
from runtime.desk.model import ApprovalView, ClickOutcome
from runtime.model.approvals.votes import Refusal, RefusalCode, VoteVerdict
from runtime.model.home.pages import Edge, Page
from runtime.model.states import ApprovalStatus

_PLACES = ("Network", "Service Desk", "Hardware", "Database", "Printing", "Telephony")


def _requests(asked: ApprovalView) -> list[ApprovalView]:
    """Return requests that are alike but for number, group and target."""
    return [
        replace(
            asked,
            approval_id=f"apr-{number}",
            reference=f"INC00100{number:02}",
            target=f"incident:{number:032x}",
            digest=f"{number:02x}" * 32,
            declared=replace(asked.declared, title=f"Assign INC00100{number:02} to {place}"),
            fields=(replace(asked.fields[0], after=place), *asked.fields[1:]),
        )
        for number, place in enumerate(_PLACES, 1)
    ]


def homes(asked: ApprovalView, done: ApprovalView) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each Home by its name."""
    now, choices = asked.requested_at, Choices(["incident-triage", "kyc-onboarding"], ["desk-leads"])
    nothing = HeldWaiting(0, ())
    held = HeldWaiting(1, (HeldView("run_1", "labels", 3, "Incident triage (INC0010001)", "answered 403", "refused"),))
    edge = Edge(now, "apr-1", back=True)

    def seen(section: Section, found: Any, held: HeldWaiting = nothing, **narrowed: Any) -> dict[str, Any]:
        state = HomeState(section=section, **narrowed)
        return home(Seen(state, found, choices, held, "https://meridian.slack.com/"), now=now)

    def page(*entries: Any, more: bool = False) -> Page[Any]:
        return Page(entries, has_before=False, has_after=more, first=edge, last=replace(edge, back=False))

    entries = [Entry(view, ("C0ROOM00", "1.1")) for view in _requests(asked)]
    yield "home-waiting", seen(Section.WAITING, Waiting(501, page(*entries, more=True)), held)
    yield "home-narrowed", seen(Section.WAITING, Waiting(1, page(entries[0])), text="INC0010001", tier="medium")
    yield "home-nothing", seen(Section.WAITING, Waiting(0, page()))
    waits = AskedFor("run_7f1c", "INC0010001", asked.run_title, "waiting_approval", "", now, entries[0], 1)
    ended = AskedFor("run_8a2d", "INC0010007", asked.run_title, "assigned", "", now, None, 0)
    yield "home-mine", seen(Section.MINE, page(waits, ended))
    yield "home-decided", seen(Section.DECIDED, page(Entry(done, None, VoteVerdict.APPROVE)))


def lists(asked: ApprovalView) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the modals of several requests by their names."""
    entries = [Entry(view, None) for view in _requests(asked)]
    yield "home-choose", several.choose_modal(entries, 40, HomeState())
    stale = Refusal(RefusalCode.CLOSED, (str(ApprovalStatus.REJECTED),))
    standings = [Standing(one.view.approval_id, one, None) for one in entries[:5]]
    standings.append(Standing(entries[5].view.approval_id, entries[5], stale))
    yield "home-before-vote", several.decide_modal(several.sort(standings, VoteVerdict.APPROVE), VoteVerdict.APPROVE)
    counted = ClickOutcome(counted=True, refusal=None, status=ApprovalStatus.REQUESTED)
    late = ClickOutcome(counted=False, refusal=Refusal(RefusalCode.STALE), status=ApprovalStatus.REQUESTED)
    ids = [one.view.approval_id for one in entries[:4]]
    yield "to-sign-link", signing_modal(asked, "https://countersign.example/passkeys/8Fq2")
    alone = signing_modal(asked, "https://countersign.example/passkeys/8Fq2", breaks_glass=True)
    yield "to-sign-alone", alone
    yield "home-came-of", came_of.done_modal(entries[:4], ids, [counted, counted, late, counted])


class Showing:
    """An app that answers whatever is clicked with the modal that is to be looked at."""

    def __init__(self) -> None:
        self.client: SlackClient | None = None
        self.modal: dict[str, Any] | None = None
        self.app = web.Application()
        self.app.router.add_post("/", self.answer)

    async def answer(self, request: web.Request) -> web.Response:
        """Take what Slack sends, and open the modal for who clicks."""
        sent = json.loads(str((await request.post()).get("payload", "{}")))
        if sent.get("type") == "block_actions" and self.client:
            await self.client.views_open(trigger_id=sent["trigger_id"], view=self.modal or {})
        return web.Response(text="")
