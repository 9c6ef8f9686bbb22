"""The Home of a person for the gallery: its sections, and the lists of several requests."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.views import bulk_votes
from bot.views.home import HomeContent, home
from bot.views.home_state import HomeState, Section
from runtime.model.search import Page, PageEdge
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.clicks import ClickOutcome
from runtime.services.home import AskedFor, Choices, Concerns, Entry, HomeStanding, Waiting
from runtime.services.step_repair import StepRepairView, StepsNeedingAttention
from tools.samples import ANNA

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
    nothing = StepsNeedingAttention(0, ())
    attention = StepsNeedingAttention(
        1, (StepRepairView("run_1", "labels", 3, "Incident triage (INC0010001)", "answered 403", "refused"),)
    )
    edge = PageEdge(now, "apr-1", back=True)

    def seen(
        section: Section, found: Any, attention: StepsNeedingAttention = nothing, **narrowed: Any
    ) -> dict[str, Any]:
        state = HomeState(section=section, **narrowed)
        return home(HomeContent(state, found, choices, attention, "https://meridian.slack.com/", leads=True), now=now)

    def page(*entries: Any, more: bool = False, before: bool = False) -> Page[Any]:
        return Page(entries, has_before=before, has_after=more, first=edge, last=replace(edge, back=False))

    entries = [Entry(view, ("C0ROOM00", "1.1")) for view in _requests(asked)]
    yield "home-waiting", seen(Section.WAITING, Waiting(501, page(*entries, more=True)))
    yield "home-narrowed", seen(Section.WAITING, Waiting(1, page(entries[0])), text="INC0010001", tier="medium")
    yield "home-attention", seen(Section.WAITING, Waiting(1, page(entries[0])), attention)
    yield "home-nothing", seen(Section.WAITING, Waiting(0, page()))
    waits = AskedFor("run_7f1c", "INC0010001", asked.run_title, "waiting_approval", "", now, entries[0], 1)
    ended = AskedFor("run_8a2d", "INC0010007", asked.run_title, "assigned", "", now, None, 0)
    yield "home-mine", seen(Section.MINE, page(waits, ended))
    yield "home-late", seen(Section.LATE, Waiting(2, page(*entries[:2])))
    yield "home-turned", seen(Section.WAITING, Waiting(23, page(*entries[:3], before=True)))
    yield "home-decided", seen(Section.DECIDED, page(Entry(done, None, VoteVerdict.APPROVE)))


def lists(asked: ApprovalView) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the modals of several requests by their names."""
    entries = [Entry(view, None) for view in _requests(asked)]
    yield "home-choose", bulk_votes.choose_modal(entries, 40, HomeState())
    stale = Refusal(RefusalCode.CLOSED, (str(ApprovalStatus.REJECTED),))
    standings = [HomeStanding(one.view.approval_id, one, None) for one in entries[:5]]
    standings[0] = replace(standings[0], concerns=Concerns(own_question=True, edited_by=("Anna Berg",)))
    standings.append(HomeStanding(entries[5].view.approval_id, entries[5], stale))
    chosen = bulk_votes.sort(standings, VoteVerdict.APPROVE)
    yield "home-before-vote", bulk_votes.decide_modal(chosen, VoteVerdict.APPROVE, asked.requested_at)
    counted = ClickOutcome(counted=True, refusal=None, status=ApprovalStatus.REQUESTED)
    late = ClickOutcome(counted=False, refusal=Refusal(RefusalCode.STALE), status=ApprovalStatus.REQUESTED)
    ids = [one.view.approval_id for one in entries[:4]]
    after = [replace(one, view=replace(one.view, votes=(ANNA,))) for one in entries[:4]]
    yield "home-came-of", bulk_votes.done_modal(after, ids, [counted, counted, late, counted])
