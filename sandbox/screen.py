"""What one person sees: conversations, threads, App Home, modal and warnings, with all text parsed for drawing."""

from typing import Any

from sandbox.chat import public
from sandbox.core import Sandbox
from sandbox.mrkdwn import Node, parse, parse_plain, walk
from sandbox.workspace import User

Json = dict[str, Any]


class Screen:
    """Draws the workspace for one person, as JSON."""

    def __init__(self, sandbox: Sandbox, user: User) -> None:
        self._sandbox = sandbox
        self._user = user

    def draw(self) -> Json:
        """Return everything."""
        sandbox, data = self._sandbox, self._sandbox.store.data
        modal, home = sandbox.store.top_modal(self._user.id), data.homes.get(self._user.id)
        return {
            "revision": sandbox.store.revision,
            "now": sandbox.clock().timestamp(),
            "team": sandbox.workspace.team.model_dump(),
            "me": self._user.id,
            "app": {
                "user": sandbox.workspace.app.bot_user_id,
                "commands": sandbox.workspace.app.commands,
                "shortcuts": sandbox.workspace.app.shortcuts,
                "message_shortcuts": sandbox.workspace.app.message_shortcuts,
            },
            "users": [self._person(user) for user in sandbox.workspace.users],
            "channels": self._channels(),
            "usergroups": self._usergroups(),
            "modal": {**self.view(modal.view), "errors": modal.errors} if modal else None,
            "home": self.view(home) if home else None,
            "draft": public(data.drafts.get(self._user.id, {})),
            "warnings": [notice.model_dump() for notice in data.notices.get(self._user.id, [])],
        }

    def _person(self, user: User) -> Json:
        kinds = {
            "bot": user.is_bot,
            "deactivated": user.deleted,
            "guest": bool(user.is_restricted or user.is_ultra_restricted),
            "external": self._sandbox.workspace.is_foreign(user),
        }
        shown = {"id": user.id, "name": user.name, "real_name": user.real_name, "title": user.title}
        return {**shown, "kinds": [kind for kind, holds in kinds.items() if holds]}

    def _usergroups(self) -> list[Json]:
        return [
            {"id": one.id, "handle": one.handle, "name": one.name, "users": self._sandbox.users_of(one)}
            for one in self._sandbox.workspace.usergroups
            if not one.is_disabled
        ]

    def _channels(self) -> list[Json]:
        me = self._user.id
        rooms = [
            {"id": one.id, "name": one.name, "is_im": False, "is_private": one.is_private, "members": one.members}
            for one in self._sandbox.workspace.channels
            if me in one.members
        ]
        direct = self._sandbox.store.data.direct.get(me)
        if direct:
            bot = self._sandbox.workspace.app.bot_user_id
            name = self._sandbox.name_of(bot)
            rooms.append({"id": direct, "name": name, "is_im": True, "is_private": True, "members": [me, bot]})
        return [{**room, "messages": self._messages(str(room["id"]))} for room in rooms]

    def _messages(self, channel: str) -> list[Json]:
        """Return the channel's messages in order, replies within their parents, the person's ephemerals among them."""
        data = self._sandbox.store.data
        whispers = [one.message for one in data.ephemerals if one.channel == channel and one.user == self._user.id]
        everything = sorted(data.messages.get(channel, []) + whispers, key=lambda message: float(message["ts"]))
        drawn = [self.message(message) for message in everything]
        parents = {
            message["ts"]: message for message in drawn if message.get("thread_ts", message["ts"]) == message["ts"]
        }
        top: list[Json] = []
        for message in drawn:
            parent = parents.get(message.get("thread_ts", ""))
            (top if parent in (None, message) else parent["replies"]).append(message)
        return top

    def message(self, message: Json) -> Json:
        """Return a message with its nodes, and whom it mentions and what it links and unfurls."""
        fallback = message.get("text", "")
        drawn: Json = {**public(message), "nodes": self._mrkdwn(fallback), "replies": []}
        drawn["blocks"] = self._nodes(message.get("blocks", []))
        drawn["attachments"] = self._nodes(message.get("attachments", []))
        nodes = [*drawn["nodes"], *_all_nodes(drawn["blocks"]), *_all_nodes(drawn["attachments"])]
        drawn["mentions"] = [node["id"] for node in walk(nodes) if node["t"] in {"user", "broadcast"}]
        drawn["links"] = [node["url"] for node in walk(nodes) if node["t"] == "link"]
        drawn["unfurls"] = drawn["links"] if message.get("_unfurl") else []
        return drawn

    def view(self, view: Json) -> Json:
        """Return a view with its nodes."""
        drawn: Json = self._nodes(view)
        return drawn

    def _nodes(self, value: Any) -> Any:
        """Return a JSON value in which every text object has its nodes."""
        if isinstance(value, list):
            return [self._nodes(one) for one in value]
        if not isinstance(value, dict):
            return value
        kind, text = value.get("type"), value.get("text")
        if kind == "mrkdwn" and isinstance(text, str):
            return {**value, "nodes": self._mrkdwn(text, verbatim=value.get("verbatim", False))}
        if kind in {"plain_text", "raw_text"} and isinstance(text, str):
            return {**value, "nodes": parse_plain(text, emoji=kind == "plain_text" and value.get("emoji", True))}
        if kind in {"text", "link", "user", "channel", "broadcast", "emoji"}:
            return {**value, "nodes": [self._rich(value)]}
        return {name: self._nodes(member) for name, member in value.items()}

    def _mrkdwn(self, text: str, *, verbatim: bool = False) -> list[Node]:
        return parse(text, self._sandbox.name_of, verbatim=verbatim)

    def _rich(self, element: Json) -> Node:
        """Return the node of a rich text element; its text is data and is never parsed."""
        kind = element["type"]
        if kind == "text":
            return {"t": "text", "v": element["text"]}
        if kind == "link":
            return {"t": "link", "url": element["url"], "v": element.get("text") or element["url"]}
        if kind == "emoji":
            return parse_plain(f":{element['name']}:")[0]
        if kind == "broadcast":
            return {"t": "broadcast", "id": element["range"], "v": "@" + element["range"]}
        some_id = element[f"{kind}_id"]
        sign = "@" if kind == "user" else "#"
        return {"t": kind, "id": some_id, "v": sign + (self._sandbox.name_of(some_id) or some_id)}


def _all_nodes(value: Any) -> list[Node]:
    """Return the nodes of every text object inside."""
    if isinstance(value, list):
        return [node for one in value for node in _all_nodes(one)]
    if not isinstance(value, dict):
        return []
    inside = [node for name, member in value.items() if name != "nodes" for node in _all_nodes(member)]
    return [*value.get("nodes", []), *inside]
