"""The payloads that Slack sends to apps, in the shapes that its documentation gives."""

import secrets
import uuid
from typing import Any

from sandbox.chat import public
from sandbox.core import Sandbox
from sandbox.users import usergroup_object
from sandbox.workspace import User, UserGroup, is_whole

Json = dict[str, Any]


def common(sandbox: Sandbox, user: User) -> Json:
    """Return what every interaction carries: `team` is the host's, even when the user is another team's."""
    team = sandbox.workspace.team
    team_of_user = sandbox.workspace.team_of(user)
    return {
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": team_of_user},
        "api_app_id": sandbox.workspace.app.id,
        "token": sandbox.verification_token,
        "team": {"id": team.id, "domain": team.domain},
        "enterprise": {"id": team.enterprise_id} if team.enterprise_id else None,
        "is_enterprise_install": is_whole(sandbox.workspace),
    }


def action(sandbox: Sandbox, block: Json, element: Json, answer: Json) -> Json:
    """Return the entry of `actions` for one element."""
    shown: Json = {name: element[name] for name in ("text", "value", "style", "placeholder") if name in element}
    identity = {"action_id": element["action_id"], "block_id": block["block_id"], "type": element["type"]}
    return {**identity, **shown, **answer, "action_ts": sandbox.next_ts()}


def message_place(sandbox: Sandbox, channel: str, message: Json) -> Json:
    """Return container, channel and message of a click on a message; an ephemeral one is not quoted."""
    hidden = bool(message.get("is_ephemeral"))
    container = {"type": "message", "message_ts": message["ts"], "channel_id": channel, "is_ephemeral": hidden}
    if "thread_ts" in message:
        container["thread_ts"] = message["thread_ts"]
    known = sandbox.workspace.channel(channel)
    place = {"container": container, "channel": {"id": channel, "name": known.name if known else "directmessage"}}
    return place if hidden else {**place, "message": public(message)}


def view_place(view: Json) -> Json:
    """Return container and view of a click in a modal or App Home."""
    return {"container": {"type": "view", "view_id": view["id"]}, "view": view}


def slash_command(sandbox: Sandbox, user: User, channel: str, command: str, text: str) -> Json:
    """Return the form of a slash command."""
    team, known = sandbox.workspace.team, sandbox.workspace.channel(channel)
    return {
        "token": sandbox.verification_token,
        "team_id": team.id,
        "team_domain": team.domain,
        "channel_id": channel,
        "channel_name": known.name if known else "directmessage",
        "user_id": user.id,
        "user_name": user.name,
        "command": command,
        "text": text,
        "api_app_id": sandbox.workspace.app.id,
        "is_enterprise_install": "true" if is_whole(sandbox.workspace) else "false",
        **({"enterprise_id": team.enterprise_id} if team.enterprise_id else {}),
    }


def event(sandbox: Sandbox, inner: Json) -> Json:
    """Return an event in its envelope."""
    app, team = sandbox.workspace.app, sandbox.workspace.team
    authorization = {
        "enterprise_id": team.enterprise_id,
        "team_id": team.id,
        "user_id": app.bot_user_id,
        "is_bot": True,
        "is_enterprise_install": is_whole(sandbox.workspace),
    }
    return {
        "token": sandbox.verification_token,
        "team_id": team.id,
        "api_app_id": app.id,
        "event": {**inner, "event_ts": sandbox.next_ts()},
        "type": "event_callback",
        "event_id": "Ev" + secrets.token_hex(5).upper(),
        "event_time": int(sandbox.clock().timestamp()),
        "authorizations": [authorization],
        "is_ext_shared_channel": False,
    }


def regrouped(sandbox: Sandbox, group: UserGroup, user: str, *, has_left: bool) -> list[Json]:
    """Return the events that say that somebody has left a user group, or come into it."""
    now, joined, left = int(sandbox.clock().timestamp()), [] if has_left else [user], [user] if has_left else []
    changed = {
        "type": "subteam_members_changed",
        "subteam_id": group.id,
        "team_id": sandbox.workspace.team.id,
        "date_previous_update": now,
        "date_update": now,
        "added_users": joined,
        "added_users_count": str(len(joined)),
        "removed_users": left,
        "removed_users_count": str(len(left)),
    }
    return [changed, {"type": "subteam_updated", "subteam": usergroup_object(sandbox, group, with_users=True)}]


def link_shared(sandbox: Sandbox, channel: str, message: Json, links: list[Json]) -> Json:
    """Return the event that tells of links in a message, and note there what it tells."""
    unfurl_id = f"{channel}.{message['ts']}.{secrets.token_hex(32)}"
    message["_links"] = {"id": unfurl_id, "urls": [link["url"] for link in links], "shown": {}}
    return {
        "type": "link_shared",
        "channel": channel,
        "is_bot_user_member": sandbox.workspace.app.bot_user_id in sandbox.workspace.members(channel),
        "user": message["user"],
        "message_ts": message["ts"],
        "unfurl_id": unfurl_id,
        "source": "conversations_history",
        "links": links,
        **({"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}),
    }


def link_written(user: User, draft: Json, links: list[Json]) -> Json:
    """Return the event that tells of links in what somebody is writing, which has no place yet."""
    unfurl_id = f"{user.id}-{uuid.uuid4()}-{secrets.token_hex(16)}"
    draft["_links"] = {"id": unfurl_id, "urls": [link["url"] for link in links], "shown": {}}
    place = {"channel": "COMPOSER", "is_bot_user_member": True, "message_ts": unfurl_id}
    told = {"user": user.id, "unfurl_id": unfurl_id, "source": "composer", "links": links}
    return {"type": "link_shared", **place, **told}


def spoken(sandbox: Sandbox, user: User, text: str) -> Json:
    """Return a message that a person wrote."""
    team = sandbox.workspace.team_of(user)
    return {
        "type": "message",
        "user": user.id,
        "ts": sandbox.next_ts(),
        "client_msg_id": str(uuid.uuid4()),
        "text": text,
        "team": team,
    }
