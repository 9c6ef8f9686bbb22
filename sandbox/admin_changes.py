"""What admins change in a workspace while it is used, and what the app hears of it."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from sandbox.answers import ActError
from sandbox.core import Sandbox
from sandbox.state import Data
from sandbox.web_api_people import user_object
from sandbox.workspace import User, Workspace

Json = dict[str, Any]
ChannelChange = Literal["archive", "unarchive", "remove_bot", "invite_bot"]
MemberChange = Literal["deactivate", "activate"]
Tell = Callable[[Json], Awaitable[bool]]
"""Brings an event to the app; returns whether it was acknowledged."""


def as_changed(workspace: Workspace, data: Data) -> Workspace:
    """Return a workspace as its file has it, with what admins have changed since."""
    bot = workspace.app.bot_user_id
    channels = [
        one.model_copy(
            update={
                "is_archived": data.archived.get(one.id, one.is_archived),
                "members": [
                    *(member for member in one.members if member != bot),
                    *([bot] if data.with_bot.get(one.id, bot in one.members) else []),
                ],
            }
        )
        for one in workspace.channels
    ]
    users = [one.model_copy(update={"deleted": data.deactivated.get(one.id, one.deleted)}) for one in workspace.users]
    return workspace.model_copy(update={"channels": channels, "users": users})


class Admins:
    """Carries out what an admin does, and tells the app."""

    def __init__(self, sandbox: Sandbox, tell: Tell) -> None:
        self._sandbox = sandbox
        self._tell = tell

    async def uninstall(self) -> bool:
        """Take the app out of the workspace: its tokens are good no more. Return whether the app took notice."""
        data, bot = self._sandbox.store.data, self._sandbox.workspace.app.bot_user_id
        data.uninstalled = True
        for token in data.tokens.values():
            token.revoked = token.revoked or "account_inactive"
        self._sandbox.store.changed()
        revoked = await self._tell({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot]}})
        return await self._tell({"type": "app_uninstalled"}) and revoked

    async def change_channel(self, by: User, channel_id: str, change: ChannelChange) -> bool:
        """Archive a channel, bring it back, or put the bot out or in."""
        channel = self._sandbox.workspace.channel(channel_id)
        if channel is None:
            raise ActError(f"there is no channel {channel_id!r}")
        kind, data = "group" if channel.is_private else "channel", self._sandbox.store.data
        if change in ("archive", "unarchive"):
            data.archived[channel_id] = change == "archive"
            told: Json = {"type": f"{kind}_{change}", "channel": channel_id, "user": by.id}
        else:
            data.with_bot[channel_id] = change == "invite_bot"
            bot = self._sandbox.workspace.app.bot_user_id
            told = {"type": f"{kind}_left", "channel": channel_id, "actor_id": by.id}
            if change == "invite_bot":
                told = {"type": "member_joined_channel", "user": bot, "channel": channel_id, "inviter": by.id}
        self._apply()
        return await self._tell(told)

    async def change_member(self, member: str, change: MemberChange) -> bool:
        """Deactivate an account, or activate it again."""
        if self._sandbox.workspace.user(member) is None:
            raise ActError(f"there is no user {member!r}")
        self._sandbox.store.data.deactivated[member] = change == "deactivate"
        self._apply()
        user = self._sandbox.workspace.user(member)
        assert user is not None  # noqa: S101 - it was there
        now = int(self._sandbox.clock().timestamp())
        return await self._tell({"type": "user_change", "user": user_object(self._sandbox, user), "cache_ts": now})

    def _apply(self) -> None:
        self._sandbox.workspace = as_changed(self._sandbox.workspace, self._sandbox.store.data)
        self._sandbox.store.changed()
