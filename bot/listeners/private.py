"""Answers that only the person who is interacting sees. They are conversation, not effects, and may fail."""

import aiohttp
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.cards.blocks import section
from bot.cards.text import mrkdwn, short
from bot.slack.client import slack_logger

NOT_RECORDED = (
    "Something went wrong on our side, and your click may not have been recorded. Please look at the card in a "
    "moment: if it has not changed, click again."
)
REASON_NOT_RECORDED = (
    "Something went wrong on our side, and your decision may not have been recorded. Please look at the card: if it "
    "has not changed, submit this again."
)
NOT_YET_COUNTED = "Your click is recorded, but could not be counted yet. The card will change as soon as it is."
UNKNOWN_BUTTON = "Countersign does not know this button any more. Nothing was done."
NOT_OPENED = "This could not be opened. Nothing was recorded. Please click again."

_LIMIT = 2500


async def tell(client: AsyncWebClient, user: str, channel: str | None, text: str) -> None:
    """Answer in the channel, visible to the person alone; where there is no channel, in the direct conversation."""
    blocks = [section(short(text, _LIMIT, lines=50))]
    fallback = mrkdwn(text[:_LIMIT])
    try:
        if channel is not None:
            await client.chat_postEphemeral(channel=channel, user=user, text=fallback, blocks=blocks)
        else:
            direct = await client.conversations_open(users=user)
            await client.chat_postMessage(
                channel=direct["channel"]["id"], text=fallback, blocks=blocks, unfurl_links=False, unfurl_media=False
            )
    except (SlackClientError, aiohttp.ClientError, TimeoutError) as error:
        slack_logger().warning("a private answer could not be delivered: %s", type(error).__name__)
