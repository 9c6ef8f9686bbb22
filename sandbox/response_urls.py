"""response_url: five answers within thirty minutes to the interaction that it came with."""

import json
import secrets
from typing import Any

from aiohttp import web

from sandbox.chat import body, compose, edit, whisper
from sandbox.core import Args, Json, Sandbox
from sandbox.slack_errors import SlackError
from sandbox.state import ResponseUrl

LIFE_SECONDS, USES = 30 * 60, 5


def issue(
    sandbox: Sandbox, base_url: str, *, user: str, channel: str, message_ts: str = "", thread_ts: str = ""
) -> str:
    """Return a new response_url; dead ones are forgotten."""
    data, now = sandbox.store.data, sandbox.clock().timestamp()
    data.response_urls = {key: one for key, one in data.response_urls.items() if now - one.issued <= LIFE_SECONDS}
    key = secrets.token_urlsafe(18)
    data.response_urls[key] = ResponseUrl(
        channel=channel, user=user, message_ts=message_ts, thread_ts=thread_ts, issued=now
    )
    sandbox.store.changed()
    return f"{base_url}actions/{sandbox.workspace.team.id}/{key}"


async def handle(request: web.Request, sandbox: Sandbox) -> web.Response:
    """Serve a POST to a response_url."""
    link = sandbox.store.data.response_urls.get(request.match_info["key"])
    if link is None or sandbox.clock().timestamp() - link.issued > LIFE_SECONDS:
        return _refuse("expired_url", 404)
    if link.uses >= USES:
        return _refuse("used_url", 404)
    try:
        reply = json.loads(await request.text())
        if not isinstance(reply, dict):
            return _refuse("invalid_payload", 400)
        link.uses += 1
        apply_response(sandbox, link.user, link.channel, reply, link)
    except ValueError:
        return _refuse("invalid_payload", 400)
    except SlackError as error:
        return _refuse(error.code, 404 if error.code == "message_not_found" else 400)
    return web.Response(text="ok")


def _refuse(code: str, status: int) -> web.Response:
    return web.json_response({"ok": False, "error": code}, status=status)


def apply_response(
    sandbox: Sandbox, user: str, channel: str, reply: dict[str, Any], link: ResponseUrl | None = None
) -> None:
    """Replace or delete the original, or post anew: to the person alone unless ``in_channel``."""
    if reply.get("delete_original") or reply.get("replace_original"):
        _change_original(sandbox, link, reply)
        return
    content = body(Args(reply, ""))
    if not content.get("text") and not content.get("blocks"):
        raise SlackError("no_text")
    thread_ts = reply.get("thread_ts") or (link.thread_ts if link else "")
    content |= {"thread_ts": thread_ts} if thread_ts else {}
    if reply.get("response_type") == "in_channel":
        sandbox.store.add(channel, compose(sandbox, content))
    else:
        whisper(sandbox, channel, user, content)


def _change_original(sandbox: Sandbox, link: ResponseUrl | None, reply: Json) -> None:
    store = sandbox.store
    ephemeral = store.ephemeral(link.channel, link.message_ts) if link else None
    message = ephemeral.message if ephemeral else store.find(link.channel, link.message_ts) if link else None
    if link is None or message is None:
        raise SlackError("message_not_found")
    if not reply.get("delete_original"):
        edit(sandbox, message, body(Args(reply, "")))
        return
    if ephemeral:
        store.data.ephemerals.remove(ephemeral)
    else:
        store.data.messages[link.channel].remove(message)
    store.changed()
