"""The people's API: what a person sees and does, what admins change, and news as it happens.

It speaks JSON, for pages and programs. An admin's change takes effect while the workspace is used, and the app is told
of it as Slack tells it.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sandbox.core import Sandbox
from sandbox.inputs import ActError
from sandbox.people import Done, People, Target
from sandbox.screen import Screen
from sandbox.state import Data
from sandbox.users import user_object
from sandbox.workspace import User, Workspace

Json = dict[str, Any]
ChannelChange = Literal["archive", "unarchive", "remove_bot", "invite_bot"]
MemberChange = Literal["deactivate", "activate"]
TellApp = Callable[[Json], Awaitable[bool]]
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

    def __init__(self, sandbox: Sandbox, tell: TellApp) -> None:
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


STATIC = Path(__file__).with_name("static")


class _Act(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    user: str


class Click(_Act):
    """Press a button or choose: on the message (channel, ts), or in `view` ``modal`` or ``home``."""

    action: Literal["click"]
    action_id: str
    channel: str = ""
    ts: str = ""
    view: Literal["", "modal", "home"] = ""
    confirmed: bool = False
    chosen: str | list[str] | None = None
    editions_ago: int = Field(default=0, ge=0)
    deliveries: int = Field(default=1, ge=1, le=20)


class Submit(_Act):
    """Send the open modal with these values."""

    action: Literal["submit"]
    values: dict[str, str | list[str]] = {}


class Close(_Act):
    """Dismiss the open modal."""

    action: Literal["close"]


class Say(_Act):
    """Write a message."""

    action: Literal["say"]
    channel: str
    text: str = Field(min_length=1, max_length=12_000)
    thread_ts: str = ""


class Write(_Act):
    """Write without sending."""

    action: Literal["write"]
    text: str = Field(min_length=1, max_length=12_000)


class Command(_Act):
    """Give a slash command."""

    action: Literal["command"]
    channel: str
    text: str = Field(pattern=r"^/\S")


class Shortcut(_Act):
    """Use a global shortcut of the app's, by its callback_id."""

    action: Literal["shortcut"]
    callback_id: str


class MessageShortcut(_Act):
    """Use a shortcut of the app's on the message (channel, ts)."""

    action: Literal["message_shortcut"]
    callback_id: str
    channel: str
    ts: str


class Uninstall(_Act):
    """Take the app out of the workspace, as an admin may."""

    action: Literal["uninstall"]


class ChangeChannel(_Act):
    """Archive a channel, bring it back, or put the bot out of it or in."""

    action: Literal["channel"]
    channel: str
    change: ChannelChange


class ChangeMember(_Act):
    """Deactivate somebody's account, or activate it again."""

    action: Literal["member"]
    member: str
    change: MemberChange


class Regroup(_Act):
    """Come into a user group, or leave it."""

    action: Literal["regroup"]
    usergroup: str


class OpenHome(_Act):
    """Look at the App Home."""

    action: Literal["open_home"]


AdminAct = Uninstall | ChangeChannel | ChangeMember | Regroup
AnyAct = Click | Submit | Close | Say | Write | Command | Shortcut | MessageShortcut | OpenHome | AdminAct
_ACT: TypeAdapter[AnyAct] = TypeAdapter(Annotated[AnyAct, Field(discriminator="action")])


class PeopleApi:
    """The handlers."""

    def __init__(self, sandbox: Sandbox, people: People) -> None:
        self._sandbox = sandbox
        self._people = people

    def _user(self, user_id: str) -> User:
        user = self._sandbox.workspace.user(user_id)
        if user is None:
            raise ActError(f"there is no user {user_id!r}")
        return user

    def _first_person(self) -> str:
        return next((user.id for user in self._sandbox.workspace.users if not user.is_bot), "")

    async def state(self, request: web.Request) -> web.Response:
        """Answer GET /sandbox/state?user=U…: what the person sees, or else the first in the file."""
        try:
            user = self._user(request.query.get("user") or self._first_person())
        except ActError as error:
            return _problem(str(error))
        return web.json_response(Screen(self._sandbox, user).draw())

    async def act(self, request: web.Request) -> web.Response:
        """Answer POST /sandbox/act: do it, then say what came of it."""
        if request.content_type != "application/json":
            return _problem("the body must be application/json")
        try:
            act = _ACT.validate_json(await request.read())
            user = self._user(act.user)
            done = await self._carry_out(act, user, f"{request.scheme}://{request.host}/")
        except ValidationError as error:
            return _problem("; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()))
        except ActError as error:
            return _problem(str(error))
        return web.json_response(_result(done))

    async def _use_shortcut(self, act: Shortcut | MessageShortcut, user: User, base_url: str) -> Done:
        if isinstance(act, Shortcut):
            return await self._people.shortcut(user, act.callback_id)
        target = Target(act.channel, act.ts)
        return await self._people.message_shortcut(user, target, act.callback_id, base_url=base_url)

    async def _speak(self, act: Say | Write | Command, user: User, base_url: str) -> Done:
        match act:
            case Say():
                return await self._people.say(user, act.channel, act.text, act.thread_ts)
            case Write():
                return await self._people.write(user, act.text)
            case Command():
                return await self._people.command(user, act.channel, act.text, base_url=base_url)

    async def _administer(self, act: AdminAct, user: User) -> Done:
        admins = Admins(self._sandbox, self._people.hear)
        match act:
            case Uninstall():
                return Done(ok=await admins.uninstall())
            case ChangeChannel():
                return Done(ok=await admins.change_channel(user, act.channel, act.change))
            case ChangeMember():
                return Done(ok=await admins.change_member(act.member, act.change))
            case Regroup():
                return await self._people.regroup(user, act.usergroup)

    async def _carry_out(self, act: AnyAct, user: User, base_url: str) -> Done:
        people = self._people
        match act:
            case Click():
                target = Target(act.channel, act.ts, act.view, act.editions_ago)
                return await people.click(
                    user,
                    target,
                    act.action_id,
                    base_url=base_url,
                    confirmed=act.confirmed,
                    chosen=act.chosen,
                    deliveries=act.deliveries,
                )
            case Submit():
                return await people.submit(user, act.values)
            case Close():
                return await people.close(user)
            case Say() | Write() | Command():
                return await self._speak(act, user, base_url)
            case Shortcut() | MessageShortcut():
                return await self._use_shortcut(act, user, base_url)
            case OpenHome():
                return await people.open_home(user)
            case admin_act:
                return await self._administer(admin_act, user)

    async def verify_url(self, _: web.Request) -> web.Response:
        """Answer POST /sandbox/verify-url: whether the app repeats a challenge."""
        return web.json_response(_result(await self._people.verify_url()))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /sandbox/events: server-sent events, one revision number per change."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        store = self._sandbox.store
        with store.listening() as changed, suppress(ConnectionError):
            while not store.closed:
                changed.clear()
                await response.write(f"data: {store.revision}\n\n".encode())
                await changed.wait()
        return response

    async def page(self, _: web.Request) -> web.FileResponse:
        """Answer GET / and links to messages."""
        return web.FileResponse(STATIC / "index.html")


def _result(done: Done) -> dict[str, Any]:
    return {
        "ok": done.ok,
        "ack": done.ack.summary() if done.ack else None,
        "errors": dict(done.errors) if done.errors else None,
        "confirm": done.confirm,
    }


def _problem(text: str) -> web.Response:
    return web.json_response({"ok": False, "problem": text}, status=400)
