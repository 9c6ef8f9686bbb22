"""The Home tab: people open it, turn its pages, narrow it, see metrics and decide several requests at once.

Homes are published one after another, each with the state at that moment. A process remembers for a while whose Home it
published and what that Home shows, and publishes it again after a vote from elsewhere. For everybody else this costs a
dictionary lookup. A publication names the view that it replaces by its hash. Where another process has published
meanwhile, Slack refuses it, and the Home is published once more: an older view never stays on top of a newer one.
"""

import asyncio
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from slack_bolt.async_app import AsyncAck

from bot.client import FAILURES, error_code, slack_logger
from bot.listeners.bulk_votes import BulkVotes
from bot.listeners.card_watch import CardChecks
from bot.listeners.clicks import DEADLINE, Listener, ListenerContext, ModalListener
from bot.payloads import Actions, EventCallback, Submission, User
from bot.views import command_replies as words
from bot.views import home_state as states
from bot.views.home import ATTENTION_SHOWN, SHOWN, HomeContent, home, home_refusal
from bot.views.home_state import Corner, HomeState, Section, state_of
from bot.views.metrics import metrics_modal
from runtime.model.person import Person
from runtime.model.search import Page
from runtime.services.approval_view import Act
from runtime.services.cards import StoredCards
from runtime.services.home import AskedFor, Entry, Waiting
from runtime.services.refusal_words import refusal_words
from runtime.services.step_repair import StepsNeedingAttention

AT_ONCE = 2
"""Homes that are drawn at the same time: they share what clicks need, and clicks don't wait for them."""

_REMEMBERED = 1000
_NO_STEP_WAITS = StepsNeedingAttention(0, ())


class HomePublisher(Listener):
    """Knows what Homes show, and has them drawn."""

    def __init__(self, context: ListenerContext, ledger: StoredCards) -> None:
        super().__init__(context)
        self._cards = CardChecks(context.client, ledger, context.clock)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._shown: dict[str, tuple[User, HomeState]] = {}
        self._hashes: dict[str, str] = {}  # of what is in the Homes of those, as far as it is known here
        self._wanted: set[str] = set()
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._renewing: set[asyncio.Task[None]] = set()

    def renew(self, user_id: str) -> None:
        """Have the Home of somebody who has just decided something drawn anew, if it was drawn here before."""
        if user_id not in self._shown:
            return
        task = asyncio.create_task(self._draw(user_id))
        self._renewing.add(task)
        task.add_done_callback(self._renewing.discard)

    async def show(self, user: User, state: HomeState, replaces: str = "") -> None:
        """Draw the Home of somebody who looks at it, and remember what it shows; `replaces` is the hash of theirs."""
        self._shown.pop(user.id, None)
        self._shown[user.id] = (user, state)
        if replaces:
            self._hashes[user.id] = replaces
        while len(self._shown) > _REMEMBERED:
            oldest = next(iter(self._shown))
            del self._shown[oldest]
            self._hashes.pop(oldest, None)
        await self._draw(user.id)

    async def _draw(self, user_id: str) -> None:
        """Draw what is to be shown by now, in turn; who waits for their turn already is drawn once."""
        if user_id in self._wanted:
            return
        self._wanted.add(user_id)
        async with self._drawing.setdefault(user_id, asyncio.Lock()), self._turn:
            self._wanted.discard(user_id)
            known = self._shown.get(user_id)
            entries = await self._publish(*known) if known else []
        await self._cards.look_after(entries)

    async def _publish(self, user: User, state: HomeState) -> list[Entry]:
        """Draw a Home; return the requests on it."""
        replaces = self._hashes.pop(user.id, None)  # before the view is read: what is drawn after that is newer
        view, entries = await self._view(user, state)
        try:
            drawn = await self._client.views_publish(user_id=user.id, view=view, hash=replaces)
            self._hashes[user.id] = drawn["view"]["hash"]
        except FAILURES as error:
            if replaces and error_code(error) == "hash_conflict":
                self._hashes.pop(user.id, None)
                return await self._publish(user, state)
            slack_logger().warning("a Home was not drawn: %s", error_code(error))
        return entries

    async def _view(self, user: User, state: HomeState) -> tuple[dict[str, Any], list[Entry]]:
        identity = await self._identity(user)
        if identity.refusal or identity.person is None:
            return home_refusal(refusal_words(identity.refusal) if identity.refusal else ""), []
        seen = await self._seen(identity.person, state)
        page = seen.found.page if isinstance(seen.found, Waiting) else seen.found
        return home(seen, now=self._clock()), [entry for entry in page.entries if isinstance(entry, Entry)]

    async def _seen(self, person: Person, state: HomeState) -> HomeContent:
        found = await self._found(person, state)
        page = found.page if isinstance(found, Waiting) else found
        if state.corner is not None and not page.entries:  # all of that page is decided by now
            return await self._seen(person, state.turned())
        if isinstance(found, Waiting):
            found = await self._with_acts(person, found)
        choices = await self._front.home.choices(person.id)
        is_first = state.section is Section.WAITING and state.corner is None
        attention = await self._desk.step_repair.waiting(person, ATTENTION_SHOWN) if is_first else _NO_STEP_WAITS
        leads = await self._desk.metrics.leads(person)
        return HomeContent(state, found, choices, attention, (await self._installation.known()).address, leads)

    async def _with_acts(self, person: Person, found: Waiting) -> Waiting:
        """Have each request say what its one reader may do with it now."""
        ids = [one.view.approval_id for one in found.page.entries]
        acts = await self._desk.answers.acts_of_all(ids, person.id)
        entries = [
            replace(one, view=replace(one.view, may=may, can_edit=Act.EDIT in may))
            for one, may in zip(found.page.entries, acts, strict=True)
        ]
        return replace(found, page=replace(found.page, entries=entries))

    async def _found(self, person: Person, state: HomeState) -> Waiting | Page[AskedFor] | Page[Entry]:
        look = state.look(SHOWN)
        if state.section is Section.MINE:
            return await self._front.home.asked_for(person.id, look)
        if state.section is Section.DECIDED:
            return await self._front.home.decided(person.id, look)
        return await self._front.home.waiting(person.id, look)


_MENUS = {states.RUNBOOK: "runbook", states.TIER: "tier", states.GROUP: "group"}


class HomeTab:
    """The listener for what opens a Home, and for its own buttons, menus and modals."""

    def __init__(self, drawing: HomePublisher, several: BulkVotes) -> None:
        self._drawing = drawing
        self._several = several

    async def on_opened(self, body: dict[str, Any]) -> None:
        """Show the person who looks what they looked at last, from its first page."""
        payload = EventCallback.model_validate(body)
        if not isinstance(payload.event.user, str) or payload.event.tab != "home":
            return
        # The envelope names the team of the installation; the profile corrects it to the user's own.
        user = User(id=payload.event.user, team_id=payload.team_id)
        view = payload.event.view
        before, replaces = (view.private_metadata, view.hash) if view else ("", "")
        await self._drawing.show(user, state_of(before).turned(), replaces)

    async def on_action(self, payload: Actions, ack: AsyncAck) -> None:
        """Show another section or page, narrow it, or open the list to choose from. Nothing is recorded by any."""
        if payload.action.action_id == states.SEVERAL:
            await self._several.on_click(payload, ack)
            return
        before = state_of(payload.view.private_metadata if payload.view else "")
        after = _turned(before, payload)
        await ack()
        await self._drawing.show(payload.user, after, payload.view.hash if payload.view else "")

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Go on with several requests; once they are decided, the Home is drawn anew."""
        await self._several.on_submission(payload, ack)
        self.renew(payload.user.id)

    def renew(self, user_id: str) -> None:
        """Have the Home of somebody who has just decided something drawn anew, if it was drawn here before."""
        self._drawing.renew(user_id)


def _turned(state: HomeState, payload: Actions) -> HomeState:
    """Return what is to be shown after a click; raise ValidationError on a button that is not ours."""
    action = payload.action
    if action.action_id in states.SECTIONS:
        return state.turned(section=states.SECTIONS[action.action_id])
    if action.action_id in _MENUS:
        chosen = action.selected_option.value if action.selected_option else states.ALL
        return state.turned(**{_MENUS[action.action_id]: "" if chosen == states.ALL else chosen})
    if action.action_id == states.SEARCH:
        return state.turned(text=action.carried.strip()[: states.LONGEST_TEXT])
    if action.action_id in states.TURNS:
        return state.turned(corner=Corner.model_validate_json(action.carried))
    return HomeState(section=state.section)


class MetricsButton(ModalListener):
    """The listener for the button. Who leads nobody any more is told so."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Show the metrics of the last 30 days."""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            found = await self._desk.metrics.metrics(identity.person) if identity.person else None
        await ack()
        if found:
            await self._open(payload, metrics_modal(found))
        else:
            await self._tell(payload, refusal_words(identity.refusal) if identity.refusal else words.LEADS_NOBODY)
