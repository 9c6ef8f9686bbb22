"""What has happened in the workspace: messages, modals, App Homes. In memory, and in a JSON file if one is given."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.slack_errors import WorkspaceError

Json = dict[str, Any]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Modal(_Part):
    """An open modal: whose it is, the view, and what the app said about its inputs."""

    user: str
    view: Json
    errors: dict[str, str] = Field(default_factory=dict)


class Ephemeral(_Part):
    """A message that one person sees."""

    user: str
    channel: str
    message: Json


class ResponseUrl(_Part):
    """A link back to the interaction it came with: five uses in thirty minutes. `issued` is in seconds."""

    channel: str
    user: str
    message_ts: str
    thread_ts: str
    issued: float
    uses: int = 0


class Token(_Part):
    """A bot token that OAuth granted, with the refresh token that gives another. Moments in seconds.

    Slack revokes a refresh token when what it gave is used: `gave` is that access token.
    """

    refresh: str = ""
    expires: float | None = None
    gave: str = ""
    revoked: str = ""  # why, as Slack says it


class Code(_Part):
    """What somebody who allowed the app brings back to it: good once, for ten minutes."""

    user: str
    redirect_uri: str
    issued: float


class Notice(_Part):
    """Something Slack tells the person who clicked, such as that the app did not answer."""

    at: str
    code: str
    text: str


class Data(_Part):
    """Everything that survives a restart."""

    last_micro: int = 0
    messages: dict[str, list[Json]] = Field(default_factory=dict)
    ephemerals: list[Ephemeral] = Field(default_factory=list)
    direct: dict[str, str] = Field(default_factory=dict)
    drafts: dict[str, Json] = Field(default_factory=dict)  # by user: what they are writing
    usergroups: dict[str, list[str]] = Field(default_factory=dict)
    homes: dict[str, Json] = Field(default_factory=dict)
    modals: dict[str, Modal] = Field(default_factory=dict)
    stacks: dict[str, list[str]] = Field(default_factory=dict)
    notices: dict[str, list[Notice]] = Field(default_factory=dict)
    response_urls: dict[str, ResponseUrl] = Field(default_factory=dict)
    tokens: dict[str, Token] = Field(default_factory=dict)
    codes: dict[str, Code] = Field(default_factory=dict)
    uninstalled: bool = False
    archived: dict[str, bool] = Field(default_factory=dict)  # by channel, where that was changed
    with_bot: dict[str, bool] = Field(default_factory=dict)  # the same
    deactivated: dict[str, bool] = Field(default_factory=dict)  # by user


class Store:
    """Holds the data, tells listeners of every change, and keeps the file up to date."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._saved = 0
        self._listeners: set[asyncio.Event] = set()
        self.revision = 0
        self.closed = False
        self.data = _read(path) if path else Data()

    def changed(self) -> None:
        """Note a change and wake everybody who looks on."""
        self.revision += 1
        for listener in self._listeners:
            listener.set()

    async def close(self, _: object = None) -> None:
        """Send everybody who looks on away."""
        self.closed = True
        self.changed()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Give an event that is set at every change."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            yield event
        finally:
            self._listeners.discard(event)

    def save(self) -> None:
        """Write the file if anything changed: whole or not at all."""
        if self._path is None or self._saved == self.revision:
            return
        fresh = self._path.with_name(self._path.name + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(self.data.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._saved = self.revision

    def next_ts(self, now: datetime) -> str:
        """Return a timestamp that no message has, later than all before it."""
        self.data.last_micro = max(round(now.timestamp() * 1_000_000), self.data.last_micro + 1)
        seconds, micro = divmod(self.data.last_micro, 1_000_000)
        return f"{seconds}.{micro:06d}"

    def add(self, channel: str, message: Json) -> None:
        """Append a message; a reply also counts on its parent."""
        self.data.messages.setdefault(channel, []).append(message)
        parent = self.find(channel, message.get("thread_ts", ""))
        if parent is not None and parent is not message:
            users = parent.setdefault("reply_users", [])
            if message["user"] not in users:
                users.append(message["user"])
            parent.update(
                thread_ts=parent["ts"],
                reply_count=parent.get("reply_count", 0) + 1,
                reply_users_count=len(users),
                latest_reply=message["ts"],
            )
        self.changed()

    def find(self, channel: str, ts: str) -> Json | None:
        """Return the message at (channel, ts)."""
        return next((one for one in self.data.messages.get(channel, []) if one["ts"] == ts), None)

    def ephemeral(self, channel: str, ts: str) -> Ephemeral | None:
        """Return the ephemeral message at (channel, ts)."""
        found = (one for one in self.data.ephemerals if one.channel == channel and one.message["ts"] == ts)
        return next(found, None)

    def top_modal(self, user: str) -> Modal | None:
        """Return the modal that the person sees."""
        stack = self.data.stacks.get(user)
        return self.data.modals[stack[-1]] if stack else None

    def push_modal(self, user: str, view: Json) -> None:
        """Put a view on top of the person's stack."""
        self.data.modals[view["id"]] = Modal(user=user, view=view)
        self.data.stacks.setdefault(user, []).append(view["id"])
        self.changed()

    def drop_modal(self, user: str, view_id: str | None = None) -> None:
        """Take one view off the person's stack, or all of them."""
        stack = self.data.stacks.get(user, [])
        for gone in [one for one in stack if view_id in (None, one)]:
            stack.remove(gone)
            del self.data.modals[gone]
        self.changed()

    def warn(self, user: str, at: str, code: str, text: str) -> None:
        """Tell a person that something did not work."""
        self.data.notices.setdefault(user, []).append(Notice(at=at, code=code, text=text))
        self.changed()


def _read(path: Path) -> Data:
    with suppress(FileNotFoundError):
        try:
            return Data.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise WorkspaceError(
                f"{path} is not a state file of this version ({where}: {first['msg']}); delete it to begin anew"
            ) from error
    return Data()
