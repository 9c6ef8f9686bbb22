"""The menu itself: hands what was chosen, and what its modal says, to the act's own listener."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.acting import MoreAct
from bot.listeners.canceling import Canceling
from bot.listeners.editing import Editing
from bot.listeners.glass import BreakingGlass
from bot.listeners.handing import Handing
from bot.listeners.installation import InstallationWatch
from bot.listeners.private import PrivateAnswers
from bot.listeners.replying import Replying
from bot.listeners.saying import SayingAct
from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.more import MoreRef, known_act
from bot.views.saying import ASK, CHANGES, HAND, WITHDRAW
from runtime.services.desk_model import Desk


class _Named(BaseModel):
    """The one member of a modal's metadata that says whose modal it is."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    act: Annotated[str, AfterValidator(known_act)]


class More:
    """The listeners for the menu and its modals; raise ValidationError for what is none of ours."""

    def __init__(
        self, client: AsyncWebClient, desk: Desk, installation: InstallationWatch, answers: PrivateAnswers
    ) -> None:
        parts = (client, desk, installation, answers)
        self.canceling = Canceling(*parts)
        self.replying = Replying(*parts)
        said = {saying.act: SayingAct(saying, *parts) for saying in (ASK, CHANGES, WITHDRAW)}
        own: dict[str, MoreAct] = {
            "edit": Editing(*parts),
            "hand": Handing(HAND, *parts),
            "break_glass": BreakingGlass(*parts),
            "cancel": self.canceling,
        }
        self._acts: dict[str, MoreAct] = {**said, **own}

    async def on_chosen(self, payload: Actions, ack: AsyncAck) -> None:
        """Handle a choice in the menu."""
        ref = MoreRef.model_validate_json(payload.action.chosen)
        await self._acts[ref.act].on_chosen(payload, ref, ack)

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Handle a modal that an entry opened, or the button beside a question."""
        if payload.view.callback_id == references.REPLY_MODAL:
            await self.replying.on_submission(payload, ack)
            return
        act = _Named.model_validate_json(payload.view.private_metadata).act
        await self._acts[act].on_submission(payload, ack)
