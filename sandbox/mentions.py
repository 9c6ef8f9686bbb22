"""What a person types after an at sign is a mention of the app, as Slack's own editor makes one."""

import re

from sandbox.workspace import Workspace


def mentioning(workspace: Workspace, text: str) -> tuple[str, bool]:
    """Return a text in which the app's name is a mention of it, and whether it is there."""
    bot = workspace.user(workspace.app.bot_user_id)
    if bot is None:
        return text, False
    named = re.compile(rf"(?<!\w)@(?:{re.escape(bot.real_name)}|{re.escape(bot.name)})(?!\w)", re.IGNORECASE)
    changed, count = named.subn(f"<@{bot.id}>", text)
    return changed, count > 0
