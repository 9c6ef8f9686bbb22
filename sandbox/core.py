"""The sandbox at work: what every method and click needs, and how a Web API method reads its arguments."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from runtime.clock import Clock
from sandbox.slack_errors import RateLimiter, SlackError
from sandbox.state import Store
from sandbox.workspace import User, UserGroup, Workspace, dm_id

Sleep = Callable[[float], Awaitable[None]]
TRIGGER_LIFE = timedelta(seconds=3)
ACK_SECONDS = 3.0


@dataclass
class Trigger:
    """Permission to open one view for one person, for three seconds."""

    user: str
    issued: datetime
    used: bool = False


@dataclass
class Sandbox:
    """A workspace, what happened in it, and its clock."""

    workspace: Workspace
    store: Store
    clock: Clock
    sleep: Sleep
    limiter: RateLimiter
    triggers: dict[str, Trigger] = field(default_factory=dict)

    def new_trigger(self, user: str) -> str:
        """Issue a trigger_id; those long dead are forgotten."""
        now = self.clock()
        self.triggers = {one: t for one, t in self.triggers.items() if now - t.issued < timedelta(hours=1)}
        trigger_id = f"{int(now.timestamp())}.{secrets.randbelow(10**9)}.{secrets.token_hex(16)}"
        self.triggers[trigger_id] = Trigger(user, now)
        return trigger_id

    def exchange(self, trigger_id: str) -> str:
        """Use a trigger_id up and return whose it was."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if self.clock() - trigger.issued > TRIGGER_LIFE:
            raise SlackError("expired_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        trigger.used = True
        return trigger.user

    def next_ts(self) -> str:
        """Return a fresh message timestamp."""
        return self.store.next_ts(self.clock())

    @property
    def verification_token(self) -> str:
        """Return the old-style token that payloads still carry."""
        return sha256(self.workspace.app.signing_secret.encode()).hexdigest()[:24]

    def direct_channel(self, user: str) -> str:
        """Open the direct conversation with a person."""
        channel = dm_id(user)
        if self.store.data.direct.setdefault(user, channel) and channel not in self.store.data.messages:
            self.store.data.messages[channel] = []
            self.store.changed()
        return channel

    def name_of(self, some_id: str) -> str | None:
        """Return the name of a user or channel, or a user group's handle."""
        user, channel = self.workspace.user(some_id), self.workspace.channel(some_id)
        group = self.workspace.usergroup(some_id)
        return user.real_name if user else channel.name if channel else group.handle if group else None

    def users_of(self, group: UserGroup) -> list[str]:
        """Return who is in a user group now: nobody who is deactivated."""
        users = self.store.data.usergroups.get(group.id, group.users)
        return [one for one in users if (user := self.workspace.user(one)) and not user.deleted]

    def visible(self, user: User) -> bool:
        """Say whether the app may see the user: of its own team, or met in a shared channel."""
        return not self.workspace.is_foreign(user) or self.workspace.shares_channel_with_bot(user)


async def within(sleep: Sleep, seconds: float, work: Awaitable[Any]) -> Any:
    """Return what the work gives, or raise TimeoutError when `sleep` comes back first."""
    task, timer = asyncio.ensure_future(work), asyncio.ensure_future(sleep(seconds))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        for one in (task, timer):
            one.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)


Json = dict[str, Any]


@dataclass(frozen=True)
class Args:
    """A call's arguments, from a form, a query or a JSON body alike; `base_url` is how the caller reached us."""

    values: Mapping[str, Any]
    base_url: str

    def has(self, name: str) -> bool:
        """Say whether the argument was given."""
        return self.values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; without a default it is required."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise SlackError("invalid_arguments", f"missing required field: {name} [json-pointer:/{name}]")
            return default
        if not isinstance(value, str):
            raise SlackError("invalid_arguments", f"must be a string [json-pointer:/{name}]")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        value = self.values.get(name)
        return default if value is None else value in (True, "true", "True", "1", 1)

    def number(self, name: str, default: int, highest: int) -> int:
        """Return a positive whole number, capped."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if not str(value).isascii() or not str(value).isdigit() or int(value) < 1:
            raise SlackError("invalid_limit")
        return min(int(value), highest)

    def json(self, name: str, error: str) -> Any:
        """Return a JSON value, parsing it where a form carried it as text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise SlackError(error) from None


@dataclass(frozen=True)
class Method:
    """A method: what it does, how often it may be called a minute, and the scope it needs (`app` token if None)."""

    run: Callable[[Sandbox, Args], Json]
    per_minute: int
    scope: str | None = ""
