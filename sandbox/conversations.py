"""The conversations.* methods: what was said, and where one may talk."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from sandbox.chat import find_channel, public
from sandbox.core import Args, Json, Method, Sandbox
from sandbox.slack_errors import TIER_2, TIER_3, SlackError
from sandbox.workspace import Channel, dm_id


def encode_cursor(position: int) -> str:
    """Return an opaque cursor."""
    return base64.b64encode(f"next:{position}".encode()).decode()


def page(items: list[Any], args: Args, default: int = 100, highest: int = 999) -> tuple[list[Any], Json]:
    """Cut one page out of the items; return it and the response_metadata."""
    start = 0
    if args.text("cursor", ""):
        try:
            word, _, number = base64.b64decode(args.text("cursor"), validate=True).decode("ascii").partition(":")
            start = int(number) if word == "next" else -1
        except (binascii.Error, ValueError):
            start = -1
        if not 0 <= start <= len(items):
            raise SlackError("invalid_cursor")
    end = start + args.number("limit", default, highest)
    return items[start:end], {"next_cursor": encode_cursor(end) if end < len(items) else ""}


def _window(args: Args) -> Callable[[Json], bool]:
    """Return whether a message lies between oldest and latest."""
    try:
        oldest, latest = float(args.text("oldest", "0")), float(args.text("latest", "inf"))
    except ValueError:
        raise SlackError("invalid_ts_oldest") from None
    if args.flag("inclusive"):
        return lambda message: oldest <= float(message["ts"]) <= latest
    return lambda message: oldest < float(message["ts"]) < latest


def _listing(messages: list[Json], args: Args) -> Json:
    messages, metadata = page(messages, args)
    with_metadata = args.flag("include_all_metadata")
    return {
        "messages": [public(message, metadata=with_metadata) for message in messages],
        "has_more": bool(metadata["next_cursor"]),
        "response_metadata": metadata,
    }


def history(sandbox: Sandbox, args: Args) -> Json:
    """conversations.history: newest first, replies left out."""
    channel = find_channel(sandbox, args.text("channel"))
    inside = _window(args)
    messages = sandbox.store.data.messages.get(channel, [])
    top = [one for one in reversed(messages) if one.get("thread_ts", one["ts"]) == one["ts"] and inside(one)]
    return _listing(top, args)


def replies(sandbox: Sandbox, args: Args) -> Json:
    """conversations.replies: the parent, then its replies, oldest first."""
    channel, ts = find_channel(sandbox, args.text("channel")), args.text("ts")
    parent = sandbox.store.find(channel, ts)
    if parent is None:
        raise SlackError("thread_not_found")
    inside = _window(args)
    thread = [one for one in sandbox.store.data.messages[channel] if one.get("thread_ts") == ts and one is not parent]
    return _listing([parent, *filter(inside, thread)], args)


def open_(sandbox: Sandbox, args: Args) -> Json:
    """conversations.open: a direct conversation with one person."""
    if args.has("channel"):
        return {"channel": {"id": find_channel(sandbox, args.text("channel"))}}
    users = args.values.get("users")
    wanted = users if isinstance(users, list) else args.text("users").split(",")
    if len(wanted) != 1:
        raise SlackError("invalid_user_combination")
    user = sandbox.workspace.user(str(wanted[0]))
    if user is None:
        raise SlackError("user_not_found")
    if not sandbox.visible(user):
        raise SlackError("user_not_visible")
    if user.deleted:
        raise SlackError("user_disabled")
    if user.is_bot:
        raise SlackError("cannot_dm_bot")
    known = dm_id(user.id) in sandbox.store.data.direct.values()
    channel = sandbox.direct_channel(user.id)
    return {"channel": {"id": channel}, "no_op": known, "already_open": known}


def _channel_object(sandbox: Sandbox, channel: Channel) -> Json:
    workspace = sandbox.workspace
    members = [user for user in workspace.users if user.id in channel.members]
    shared = any(workspace.is_foreign(user) for user in members)
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": not channel.is_private,
        "is_group": channel.is_private,
        "is_im": False,
        "is_mpim": False,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_general": False,
        "is_shared": shared,
        "is_ext_shared": shared,
        "is_org_shared": False,
        "is_member": workspace.app.bot_user_id in channel.members,
        "context_team_id": workspace.team.id,
        "num_members": len(members),
    }


def _direct_object(sandbox: Sandbox, channel: str) -> Json:
    user = next(user for user, direct in sandbox.store.data.direct.items() if direct == channel)
    return {"id": channel, "is_im": True, "user": user, "is_archived": False, "is_org_shared": False}


def info(sandbox: Sandbox, args: Args) -> Json:
    """conversations.info."""
    wanted = args.text("channel")
    if wanted in sandbox.store.data.direct.values():
        return {"channel": _direct_object(sandbox, wanted)}
    channel = sandbox.workspace.channel(wanted)
    if channel is None or (channel.is_private and sandbox.workspace.app.bot_user_id not in channel.members):
        raise SlackError("channel_not_found")
    return {"channel": _channel_object(sandbox, channel)}


def list_(sandbox: Sandbox, args: Args) -> Json:
    """conversations.list: public channels, unless other types are asked for."""
    types = set(args.text("types", "public_channel").replace(" ", "").split(","))
    if not types <= {"public_channel", "private_channel", "im", "mpim"}:
        raise SlackError("invalid_types")
    bot = sandbox.workspace.app.bot_user_id
    found = [
        _channel_object(sandbox, channel)
        for channel in sandbox.workspace.channels
        if ("private_channel" in types and bot in channel.members if channel.is_private else "public_channel" in types)
    ]
    if "im" in types:
        found += [_direct_object(sandbox, channel) for channel in sandbox.store.data.direct.values()]
    channels, metadata = page(found, args)
    return {"channels": channels, "response_metadata": metadata}


METHODS = {
    "conversations.history": Method(history, TIER_3, "channels:history"),
    "conversations.replies": Method(replies, TIER_3, "channels:history"),
    "conversations.open": Method(open_, TIER_3, "im:write"),
    "conversations.info": Method(info, TIER_3, "channels:read"),
    "conversations.list": Method(list_, TIER_2, "channels:read"),
}
