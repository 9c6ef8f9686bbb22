"""chat.unfurl: what the app has shown under links of its own, in a message that is posted or is being written.

As in Slack, a message is named by `channel` and `ts`, or by the `unfurl_id` and `source` of the event that told of it,
and a link can be unfurled where the app was told of it. Only blocks are taken, and no attachments of the old form.
"""

from typing import Any

from sandbox.blocks import check_message_blocks
from sandbox.calls import Args, Json, Method
from sandbox.chat import settle
from sandbox.core import Sandbox
from sandbox.errors import SlackError
from sandbox.limits import TIER_3
from sandbox.mrkdwn import unescape


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


METHODS = {"chat.unfurl": Method(unfurl, TIER_3, "links:write")}
