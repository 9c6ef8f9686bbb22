"""What Slack sends, as far as we read it.

Members that we do not read are ignored, because Slack adds to its payloads at will; those that we read must be right.
Bolt is handed what was read and nothing else, because it fails in many ways on members that are not as it expects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Id = Annotated[str, Field(pattern=r"^[A-Z0-9]{2,32}$")]
Short = Annotated[str, Field(max_length=255)]


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class User(_Loose):
    """Who acted, with their own team, which in a shared channel is not the channel's."""

    id: Id
    team_id: Id | None = None


class Option(_Loose):
    """What was chosen."""

    value: Annotated[str, Field(max_length=255)]


class Action(_Loose):
    """The button that was pressed, what was chosen in a menu, or what was typed before Enter, None for nothing."""

    action_id: Short
    action_ts: Short
    value: Annotated[str, Field(max_length=3000)] | None = ""
    selected_option: Option | None = None

    @property
    def chosen(self) -> str:
        """Return the value of what was chosen in a menu, "" where nothing was."""
        return self.selected_option.value if self.selected_option else ""

    @property
    def carried(self) -> str:
        """Return what a button of ours carries."""
        return self.value or ""


class Channel(_Loose):
    """Where the button stood."""

    id: Id


class OpenView(_Loose):
    """The modal or Home tab in which a button stood."""

    id: Short
    hash: Short
    type: Short = ""
    private_metadata: Annotated[str, Field(max_length=3000)] = ""


class Actions(_Loose):
    """A click on a button."""

    type: Literal["block_actions"]
    user: User
    actions: Annotated[list[Action], Field(min_length=1, max_length=1)]
    trigger_id: Short
    channel: Channel | None = None
    view: OpenView | None = None
    response_url: Annotated[str, Field(max_length=500, pattern="^https?://")] | None = None

    @property
    def action(self) -> Action:
        """Return the one button."""
        return self.actions[0]

    @property
    def place(self) -> str | None:
        """Return the channel, or None for a click in a modal or Home tab."""
        return self.channel.id if self.channel else None

    @property
    def modal(self) -> OpenView | None:
        """Return the modal in which the button stood, or None for a click on a card or in the Home tab."""
        return self.view if self.view and self.view.type == "modal" else None


class Input(_Loose):
    """What was typed or chosen; a moment is in seconds since 1970."""

    value: str | None = None
    selected_option: Option | None = None
    selected_user: Short | None = None
    selected_options: Annotated[list[Option], Field(max_length=100)] | None = None
    selected_date: Short | None = None
    selected_date_time: Annotated[int, Field(ge=0, le=253_402_300_799)] | None = None


class State(_Loose):
    """All inputs of a modal, by block and action."""

    values: dict[str, dict[str, Input]]


class SubmittedView(_Loose):
    """A modal that was submitted."""

    type: Literal["modal"]
    id: Short
    callback_id: Short
    private_metadata: Annotated[str, Field(max_length=3000)] = ""
    state: State


class Submission(_Loose):
    """A modal submission."""

    type: Literal["view_submission"]
    user: User
    view: SubmittedView

    @property
    def reason(self) -> str:
        """Return what was typed as the reason."""
        return self.typed("reason")

    def chosen(self, name: str) -> str:
        """Return the user who was chosen in an input, "" for none."""
        chosen = self.view.state.values.get(name, {}).get(name)
        return (chosen.selected_user if chosen else None) or ""

    @property
    def ticked(self) -> list[str]:
        """Return the values of all that is ticked, in the order of the modal."""
        inputs = (one for block in self.view.state.values.values() for one in block.values())
        return [option.value for one in inputs for option in one.selected_options or ()]

    def typed(self, name: str) -> str:
        """Return what was typed into an input."""
        typed = self.view.state.values.get(name, {}).get(name)
        return (typed.value if typed else None) or ""


class Member(_Loose):
    """Somebody as Slack describes them when that has changed."""

    id: Id
    team_id: Id | None = None
    deleted: bool = False


class Revoked(_Loose):
    """Whose tokens are good no more: of people, and of bots."""

    bot: list[Id] = []


class LastHome(_Loose):
    """A Home tab as it was drawn last."""

    hash: Short = ""
    private_metadata: Annotated[str, Field(max_length=3000)] = ""


class SharedLink(_Loose):
    """A link of a domain that is registered as ours."""

    url: Annotated[str, Field(max_length=12_000)]


@dataclass(frozen=True)
class SharedAt:
    """Links in a message that is posted: by whom, where, and which."""

    user: str
    channel: str
    message_ts: str
    urls: Sequence[str]


class Edited(_Loose):
    """Who edited a message last, and when."""

    user: Id
    ts: Short


class ChangedMessage(_Loose):
    """A message as it is after a change."""

    ts: Short
    edited: Edited | None = None


class Event(_Loose):
    """The inner event; which members it has depends on its type."""

    type: Short
    user: Id | Member | None = None
    tab: Short | None = None
    view: LastHome | None = None
    channel: Id | Channel | None = None
    tokens: Revoked | None = None
    text: Annotated[str, Field(max_length=40_000)] = ""
    ts: Short | None = None
    thread_ts: Short | None = None
    links: Annotated[list[SharedLink], Field(max_length=1000)] = []
    message_ts: Short | None = None
    source: Short | None = None
    # of messages that were changed or deleted
    subtype: Short | None = None
    deleted_ts: Short | None = None
    message: ChangedMessage | None = None

    @property
    def place(self) -> str | None:
        """Return the channel that it is about, or None."""
        return self.channel.id if isinstance(self.channel, Channel) else self.channel

    @property
    def shared(self) -> SharedAt | None:
        """Return the links of a posted message; None of one that is still being written, which has no place."""
        if self.source == "composer" or not isinstance(self.user, str) or not self.place or not self.message_ts:
            return None
        return SharedAt(self.user, self.place, self.message_ts, [link.url for link in self.links])


class EventCallback(_Loose):
    """An event of the Events API. `event_time` is in seconds since 1970."""

    type: Literal["event_callback"]
    team_id: Id
    event: Event
    event_time: Annotated[int, Field(ge=0, le=253_402_300_799)] | None = None


class AppRateLimited(_Loose):
    """Slack's word that it has kept events from us, since there were too many in an hour; seconds since 1970."""

    type: Literal["app_rate_limited"]
    team_id: Id
    minute_rate_limited: Annotated[int, Field(ge=0, le=253_402_300_799)]


class SslCheck(_Loose):
    """Slack's look at our certificate; it comes as a form, without a `type`."""

    ssl_check: Literal["1"]


class UrlVerification(_Loose):
    """Slack's question whether the request URL is ours."""

    type: Literal["url_verification"]
    challenge: str


class Command(_Loose):
    """A slash command; it alone comes without a `type`, and over HTTP as a form of its own."""

    command: Literal["/countersign"]
    text: Annotated[str, Field(max_length=12_000)] = ""
    team_id: Id
    user_id: Id
    channel_id: Id
    trigger_id: Short


class Shortcut(_Loose):
    """A global shortcut of ours."""

    type: Literal["shortcut"]
    callback_id: Literal["countersign_new_request"]
    user: User
    trigger_id: Short
    action_ts: Short


class Quoted(_Loose):
    """A message that somebody chose."""

    text: Annotated[str, Field(max_length=40_000)] = ""


class MessageShortcut(_Loose):
    """A shortcut of ours on a message."""

    type: Literal["message_action"]
    callback_id: Literal["countersign_ask_approval"]
    user: User
    trigger_id: Short
    action_ts: Short
    channel: Channel
    message: Quoted


Typed = Actions | Shortcut | MessageShortcut | Submission | EventCallback | UrlVerification | AppRateLimited
Payload = Typed | Command | SslCheck
_PAYLOAD: TypeAdapter[Typed] = TypeAdapter(Annotated[Typed, Field(discriminator="type")])


def parse_payload(body: Any) -> Payload:
    """Return a payload that we handle, or raise pydantic's ValidationError."""
    if isinstance(body, dict) and "command" in body and "type" not in body:
        return Command.model_validate(body)
    return _PAYLOAD.validate_python(body)


def parse_request(content_type: str, body: str) -> Payload:
    """Return the payload of a request: JSON, or a form that is a command, a look at our certificate, or has JSON.

    Raise ValueError.
    """
    if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return _PAYLOAD.validate_json(body)
    form = parse_qs(body, keep_blank_values=True)
    if "payload" not in form and "ssl_check" in form:
        return SslCheck.model_validate({"ssl_check": form["ssl_check"][0]})
    if "payload" not in form and "command" in form:
        return Command.model_validate({name: values[0] for name, values in form.items()})
    return _PAYLOAD.validate_json(form.get("payload", [""])[0])


def as_read(payload: Payload) -> dict[str, Any]:
    """Return a payload as JSON again, with the members that were read and no others."""
    return payload.model_dump(mode="json", exclude_none=True)
