"""The messages that ask about held steps: they say in the end what came of it, and lose their buttons."""

from slack_sdk.errors import SlackApiError

from bot.slack.card_posts import FINAL
from bot.slack.client import error_code
from bot.slack.posts import Posts
from bot.views.blocks import Block
from runtime.handlers import TransientError
from runtime.services.desk_model import Desk


class Questions:
    """What was asked in the chat, by the effects that posted it."""

    def __init__(self, posts: Posts, desk: Desk) -> None:
        self._posts = posts
        self._desk = desk

    async def close(self, effect_id: str, text: str, blocks: list[Block]) -> bool:
        """Return whether the message shows this now: not where it is gone, or may not be edited.

        Raise TransientError before it is posted.
        """
        question = await self._desk.held.question(effect_id)
        if question.place is None and question.may_come:
            raise TransientError("the message is not posted yet")
        return question.place is not None and await self._edit(*question.place, text, blocks)

    async def _edit(self, channel: str, ts: str, text: str, blocks: list[Block]) -> bool:
        try:
            await self._posts.edit(channel, ts, text, blocks)
        except SlackApiError as error:
            if error_code(error) not in FINAL:
                raise
            return False
        return True
