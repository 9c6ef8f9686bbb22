"""The chat.* methods: post, update, delete, ephemeral, permalink, unfurl.

chat.unfurl shows something of the app under its own links, in a message that is posted or is being written. As in
Slack, a message is named by `channel` and `ts`, or by the `unfurl_id` and `source` of the event that told of it, and a
link can be unfurled where the app was told of it. Only blocks are taken, and no attachments of the old form.
"""

import re
from typing import Any

from sandbox.block_kit import check_message_blocks
from sandbox.core import Args, Json, Method, Sandbox
from sandbox.mrkdwn import unescape
from sandbox.slack_errors import GENEROUS, TIER_3, TIER_4, SlackError
from sandbox.state import Ephemeral

LONGEST_TEXT = 40_000
EDITIONS_KEPT = 10


def find_channel(sandbox: Sandbox, wanted: str) -> str:
    """Return the id of a conversation that the app may use; accepts ids and names, not people."""
    workspace = sandbox.workspace
    name = wanted.removeprefix("#")
    channel = workspace.channel(wanted) or next((one for one in workspace.channels if one.name == name), None)
    if channel is None and wanted in sandbox.store.data.direct.values():
        return wanted
    inside = channel is not None and workspace.app.bot_user_id in channel.members
    if channel is None or (channel.is_private and not inside):
        raise SlackError("channel_not_found")
    if not inside:
        raise SlackError("not_in_channel")
    return channel.id


def _speaking_place(sandbox: Sandbox, wanted: str) -> str:
    """Return the id of a conversation in which the app may speak: not in an archived one."""
    found = find_channel(sandbox, wanted)
    channel = sandbox.workspace.channel(found)
    if channel and channel.is_archived:
        raise SlackError("is_archived")
    return found


def _posting_place(sandbox: Sandbox, wanted: str) -> str:
    """Return where to post: as above, or a person's direct conversation."""
    user = sandbox.workspace.user(wanted)
    if user is None:
        return _speaking_place(sandbox, wanted)
    if user.is_bot or user.deleted or not sandbox.visible(user):
        raise SlackError("channel_not_found")
    return sandbox.direct_channel(user.id)


def settle(value: Any) -> Any:
    """Return text objects as Slack stores them: bare characters as entities, flags spelled out."""
    if isinstance(value, list):
        return [settle(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind, text = value.get("type"), value.get("text")
    if kind == "plain_text" and isinstance(text, str):
        return {**value, "text": _entities(text, angles=True), "emoji": value.get("emoji", True)}
    if kind == "mrkdwn" and isinstance(text, str):
        return {**value, "text": _entities(text, angles=False), "verbatim": value.get("verbatim", False)}
    return {name: settle(member) for name, member in value.items()}


def _entities(text: str, *, angles: bool) -> str:
    text = re.sub(r"&(?!amp;|lt;|gt;)", "&amp;", text)
    return text.replace("<", "&lt;").replace(">", "&gt;") if angles else text


def body(args: Args) -> Json:
    """Check a message's text, blocks and metadata; only what was given is in the result."""
    found: Json = {}
    text = args.values.get("text")
    if text is not None:
        if not isinstance(text, str):
            raise SlackError("invalid_arguments", "must be a string [json-pointer:/text]")
        if len(text) > LONGEST_TEXT:
            raise SlackError("msg_too_long")
        found["text"] = _entities(text, angles=False)
    blocks = args.json("blocks", "invalid_blocks_format")
    if blocks is not None:
        found["blocks"] = settle(check_message_blocks(blocks))
    metadata = args.json("metadata", "invalid_metadata_format")
    if metadata is not None:
        found["metadata"] = _check_metadata(metadata)
    return found


def _check_metadata(metadata: Any) -> Json:
    fits = isinstance(metadata, dict) and set(metadata) <= {"event_type", "event_payload"}
    if not fits or (metadata and not isinstance(metadata.get("event_type"), str)):
        raise SlackError("invalid_metadata_format")
    if metadata and not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format")
    return dict(metadata)


def compose(sandbox: Sandbox, content: Json) -> Json:
    """Return a new message of the app's."""
    app, team = sandbox.workspace.app, sandbox.workspace.team
    bot = sandbox.workspace.user(app.bot_user_id)
    profile = {"id": sandbox.workspace.bot_id, "app_id": app.id, "name": bot.real_name if bot else "", "deleted": False}
    return {
        "type": "message",
        "user": app.bot_user_id,
        "ts": sandbox.next_ts(),
        "bot_id": sandbox.workspace.bot_id,
        "app_id": app.id,
        "text": "",
        "team": team.id,
        "bot_profile": {**profile, "team_id": team.id},
        **content,
    }


def _thread(sandbox: Sandbox, channel: str, args: Args) -> Json:
    """Return the thread_ts member, if the message is a reply."""
    thread_ts = args.text("thread_ts", "")
    if not thread_ts:
        return {}
    parent = sandbox.store.find(channel, thread_ts)
    if parent is None or parent.get("thread_ts", thread_ts) != thread_ts:
        raise SlackError("cannot_reply_to_message")
    return {"thread_ts": thread_ts}


def _require_content(content: Json) -> None:
    if not content.get("text") and not content.get("blocks"):
        raise SlackError("no_text")


def _unfurl(args: Args) -> Json:
    """Keep whether links may unfurl: Slack's default unfurls media only."""
    return {"_unfurl": args.flag("unfurl_links") or args.flag("unfurl_media", default=True)}


def post_message(sandbox: Sandbox, args: Args) -> Json:
    """chat.postMessage."""
    channel = _posting_place(sandbox, args.text("channel"))
    content = body(args)
    _require_content(content)
    content |= _thread(sandbox, channel, args)
    sandbox.limiter.post(channel)
    message = compose(sandbox, content)
    sandbox.store.add(channel, {**message, **_unfurl(args)})
    return {"channel": channel, "ts": message["ts"], "message": message}


def update(sandbox: Sandbox, args: Args) -> Json:
    """chat.update: what is not given is kept."""
    channel = _speaking_place(sandbox, args.text("channel"))
    message = sandbox.store.find(channel, args.text("ts"))
    if message is None:
        raise SlackError("message_not_found")
    if message.get("bot_id") != sandbox.workspace.bot_id:
        raise SlackError("cant_update_message")
    content = body(args)
    if "text" not in content and "blocks" not in content:
        raise SlackError("no_text")
    edit(sandbox, message, content)
    return {"channel": channel, "ts": message["ts"], "text": message["text"], "message": public(message)}


def delete(sandbox: Sandbox, args: Args) -> Json:
    """chat.delete: one of the app's own messages."""
    channel = find_channel(sandbox, args.text("channel"))
    message = sandbox.store.find(channel, args.text("ts"))
    if message is None:
        raise SlackError("message_not_found")
    if message.get("bot_id") != sandbox.workspace.bot_id:
        raise SlackError("cant_delete_message")
    sandbox.store.data.messages[channel].remove(message)
    sandbox.store.changed()
    return {"channel": channel, "ts": message["ts"]}


def edit(sandbox: Sandbox, message: Json, content: Json) -> None:
    """Change a message in place; how it looked before is kept for those who click what they still see."""
    earlier = message.setdefault("_earlier", [])
    earlier.append({name: value for name, value in message.items() if name != "_earlier"})
    del earlier[:-EDITIONS_KEPT]
    message.update(content)
    message["edited"] = {"user": sandbox.workspace.app.bot_user_id, "ts": sandbox.next_ts()}
    sandbox.store.changed()


def public(message: Json, *, metadata: bool = True) -> Json:
    """Return the message without what only the sandbox notes, and without metadata unless wanted."""
    return {k: v for k, v in message.items() if not k.startswith("_") and (metadata or k != "metadata")}


def post_ephemeral(sandbox: Sandbox, args: Args) -> Json:
    """chat.postEphemeral."""
    channel = _speaking_place(sandbox, args.text("channel"))
    user = args.text("user")
    if user not in sandbox.workspace.members(channel):
        raise SlackError("user_not_in_channel")
    content = body(args)
    _require_content(content)
    message = whisper(sandbox, channel, user, content | _thread(sandbox, channel, args))
    return {"message_ts": message["ts"]}


def whisper(sandbox: Sandbox, channel: str, user: str, content: Json) -> Json:
    """Show a message to one person."""
    message = {**compose(sandbox, content), "is_ephemeral": True}
    sandbox.store.data.ephemerals.append(Ephemeral(user=user, channel=channel, message=message))
    sandbox.store.changed()
    return message


def get_permalink(sandbox: Sandbox, args: Args) -> Json:
    """chat.getPermalink: the link opens the message on the sandbox's page."""
    channel, ts = find_channel(sandbox, args.text("channel")), args.text("message_ts")
    message = sandbox.store.find(channel, ts)
    if message is None:
        raise SlackError("message_not_found")
    thread = message.get("thread_ts", ts)
    suffix = f"?thread_ts={thread}&cid={channel}" if thread != ts else ""
    link = f"{args.base_url}archives/{channel}/p{ts.replace('.', '')}{suffix}"
    return {"channel": channel, "permalink": link}


METHODS = {
    "chat.postMessage": Method(post_message, GENEROUS, "chat:write"),
    "chat.update": Method(update, TIER_3, "chat:write"),
    "chat.delete": Method(delete, TIER_3, "chat:write"),
    "chat.postEphemeral": Method(post_ephemeral, TIER_4, "chat:write"),
    "chat.getPermalink": Method(get_permalink, GENEROUS),
}


def unfurl(sandbox: Sandbox, args: Args) -> Json:
    """Attach what is given to the links, or change what was attached before."""
    unfurls = _unfurls(args)
    message = _message(sandbox, args)
    links = message.get("_links", {"urls": [], "shown": {}})
    for url in unfurls:
        if url not in links["urls"]:
            raise SlackError("cannot_unfurl_url" if url in unescape(message["text"]) else "cannot_unfurl_message")
    links["shown"].update({url: _attachment(sandbox, url, given) for url, given in unfurls.items()})
    message["attachments"] = [{"id": number, **one} for number, one in enumerate(links["shown"].values(), 1)]
    sandbox.store.changed()
    return {}


def _unfurls(args: Args) -> Json:
    unfurls = args.json("unfurls", "invalid_unfurls_format")
    if unfurls is None:
        raise SlackError("missing_unfurls")
    if not isinstance(unfurls, dict):
        raise SlackError("invalid_unfurls_format")
    return unfurls


def _message(sandbox: Sandbox, args: Args) -> Json:
    """Return the message that is meant; `_links` in it notes the links that the app was told of."""
    if args.has("unfurl_id") or args.has("source"):
        return _by_event(sandbox, args.text("unfurl_id"), args.text("source"))
    if not args.has("channel"):
        raise SlackError("missing_channel")
    if not args.has("ts"):
        raise SlackError("missing_ts")
    if args.text("channel") not in sandbox.store.data.messages:
        raise SlackError("cannot_find_channel")
    message = sandbox.store.find(args.text("channel"), args.text("ts"))
    if message is None:
        raise SlackError("cannot_find_message")
    return message


def _by_event(sandbox: Sandbox, unfurl_id: str, source: str) -> Json:
    data = sandbox.store.data
    if source not in ("composer", "conversations_history"):
        raise SlackError("invalid_arguments", "value must be one of: composer, conversations_history")
    posted = (message for messages in data.messages.values() for message in messages)
    written = data.drafts.values() if source == "composer" else posted
    found = next((one for one in written if one.get("_links", {}).get("id") == unfurl_id), None)
    if found is None:
        raise SlackError("cannot_find_message")
    return found


def _attachment(sandbox: Sandbox, url: str, given: Any) -> Json:
    if not isinstance(given, dict) or not set(given) <= {"blocks", "preview"} or "blocks" not in given:
        raise SlackError("cannot_parse_attachment")
    app = sandbox.workspace.app
    return {
        "from_url": url,
        "app_unfurl_url": url,
        "is_app_unfurl": True,
        "app_id": app.id,
        "bot_id": sandbox.workspace.bot_id,
        "fallback": "[no preview available]",
        "blocks": settle(check_message_blocks(given["blocks"])),
    }


UNFURL_METHODS = {"chat.unfurl": Method(unfurl, TIER_3, "links:write")}
