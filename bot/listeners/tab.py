"""What people do on their Home tab: open it, turn it, and decide several requests at once."""

from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.home import state as states
from bot.home.state import Corner, HomeState, state_of
from bot.listeners.drawing import Drawing
from bot.listeners.several import Several
from bot.payloads import Actions, EventCallback, Submission, User

_MENUS = {states.RUNBOOK: "runbook", states.TIER: "tier", states.GROUP: "group"}


class HomeTab:
    """The listener for what opens a Home, and for its own buttons, menus and modals."""

    def __init__(self, drawing: Drawing, several: Several) -> None:
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
