"""What people do here: click, submit, close, speak, give commands, look at the App Home."""

import asyncio
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox import payloads
from sandbox.block_kit import elements
from sandbox.chat import public
from sandbox.core import Sandbox
from sandbox.delivery import Ack, Courier
from sandbox.inputs import ActError, answer, faults, mentioning, state
from sandbox.mrkdwn import escape, shared_links
from sandbox.response_urls import apply_response, issue
from sandbox.slack_errors import SlackError
from sandbox.state import Modal
from sandbox.views import push_on, replace_modal
from sandbox.workspace import User

Json = dict[str, Any]
TROUBLE = {
    "operation_timeout": "The app did not answer within 3 seconds (operation_timeout).",
    "dispatch_failed": "The app could not be reached (dispatch_failed).",
    "http_service_error": "The app answered with an error (http_service_error).",
}


@dataclass(frozen=True)
class Target:
    """Where a person clicks: on a message as it looked `editions_ago` edits before, or else in the open view."""

    channel: str = ""
    ts: str = ""
    view: str = ""
    editions_ago: int = 0


@dataclass(frozen=True)
class Done:
    """What came of an act: whether the app took it, its acknowledgement, faults under inputs, a dialog to confirm."""

    ok: bool
    ack: Ack | None = None
    errors: Mapping[str, str] | None = None
    confirm: Json | None = None


class People:
    """Carries out what a person does and brings it to the app."""

    def __init__(self, sandbox: Sandbox, courier: Courier) -> None:
        self._sandbox = sandbox
        self._courier = courier

    async def click(
        self,
        user: User,
        target: Target,
        action_id: str,
        *,
        base_url: str,
        confirmed: bool,
        chosen: Any,
        deliveries: int,
    ) -> Done:
        """Press a button, choose an option, or type and press Enter.

        `deliveries` above one repeats the very same payload at once.
        """
        place, blocks = self._place(user, target)
        block, element = _find_element(blocks, action_id)
        if block["type"] == "input" and not block.get("dispatch_action"):
            raise ActError(f"{action_id} is sent with its form, and not by itself")
        if "confirm" in element and not confirmed:
            return Done(ok=False, confirm=element["confirm"])
        action = payloads.action(self._sandbox, block, element, answer(element, chosen))
        payload = {
            "type": "block_actions",
            **payloads.common(self._sandbox, user),
            **place,
            "trigger_id": self._sandbox.new_trigger(user.id),
            "state": {"values": state(blocks, {})},
            "actions": [action],
        }
        if "channel" in place:
            container = place["container"]
            origin = {"message_ts": container["message_ts"], "thread_ts": container.get("thread_ts", "")}
            link = issue(self._sandbox, base_url, user=user.id, channel=target.channel, **origin)
            payload["response_url"] = link
        sent = (self._courier.send("interactive", payload) for _ in range(deliveries))
        ack = (await asyncio.gather(*sent))[0]
        return self._done(user, ack)

    async def submit(self, user: User, values: Mapping[str, Any]) -> Done:
        """Press the open modal's submit button."""
        modal = self._modal(user)
        entered = state(modal.view["blocks"], values)
        modal.errors = faults(modal.view["blocks"], entered)
        self._sandbox.store.changed()
        if modal.errors:
            return Done(ok=False, errors=modal.errors)
        payload = {
            "type": "view_submission",
            **payloads.common(self._sandbox, user),
            "trigger_id": self._sandbox.new_trigger(user.id),
            "view": {**modal.view, "state": {"values": entered}},
            "response_urls": [],
        }
        ack = await self._courier.send("interactive", payload)
        done = self._done(user, ack)
        if ack.ok:
            return self._after_submit(user, modal, ack)
        modal.errors = {"": "We had some trouble connecting. Try again?"}
        return Done(ok=False, ack=done.ack, errors=modal.errors)

    def _after_submit(self, user: User, modal: Modal, ack: Ack) -> Done:
        """Do with the modal what the app answered."""
        reply = ack.body if isinstance(ack.body, dict) else {}
        action = reply.get("response_action")
        try:
            if action == "errors":
                modal.errors = {str(block): str(text) for block, text in dict(reply.get("errors") or {}).items()}
                self._sandbox.store.changed()
                return Done(ok=False, ack=ack, errors=modal.errors)
            if action == "update":
                replace_modal(self._sandbox, modal, reply.get("view"))
            elif action == "push":
                push_on(self._sandbox, user.id, reply.get("view"))
            else:
                self._sandbox.store.drop_modal(user.id, None if action == "clear" else modal.view["id"])
        except SlackError as error:
            self._warn(user, error.code, f"The app's answer cannot be shown: {error.code} {'; '.join(error.messages)}")
            return Done(ok=False, ack=ack)
        return Done(ok=True, ack=ack)

    async def close(self, user: User) -> Done:
        """Dismiss the open modal, and tell the app if it wants to know."""
        view = self._modal(user).view
        self._sandbox.store.drop_modal(user.id, None if view["clear_on_close"] else view["id"])
        if not view["notify_on_close"]:
            return Done(ok=True)
        closed = {"type": "view_closed", "view": view, "is_cleared": view["clear_on_close"]}
        return self._done(user, await self._courier.send("interactive", payloads.common(self._sandbox, user) | closed))

    async def say(self, user: User, channel: str, text: str, thread_ts: str) -> Done:
        """Write a message; the app hears of its links, and of one that mentions it where it is in the channel."""
        self._require_member(user, channel)
        text, is_mention = mentioning(self._sandbox.workspace, escape(text))
        message = payloads.spoken(self._sandbox, user, text)
        if thread_ts:
            if self._sandbox.store.find(channel, thread_ts) is None:
                raise ActError(f"there is no thread {thread_ts} in {channel}")
            message["thread_ts"] = thread_ts
        self._sandbox.store.add(channel, message)
        if is_mention and self._is_heard(channel):
            await self.hear({**message, "type": "app_mention", "channel": channel})
        self._sandbox.store.data.drafts.pop(user.id, None)
        if links := self._links(text):
            await self.hear(payloads.link_shared(self._sandbox, channel, message, links))
        return Done(ok=True)

    async def write(self, user: User, text: str) -> Done:
        """Write without sending; the app hears of its links, but on Enterprise Grid, where Slack does not tell."""
        draft: Json = {"user": user.id, "text": escape(text)}
        self._sandbox.store.data.drafts[user.id] = draft
        links = [] if self._sandbox.workspace.team.enterprise_id else self._links(draft["text"])
        if links:
            await self.hear(payloads.link_written(user, draft, links))
        return Done(ok=True)

    def _links(self, text: str) -> list[Json]:
        """Return the links of which the app hears, wherever they are shared."""
        app = self._sandbox.workspace.app
        return shared_links(app.unfurl_domains, text) if "links:read" in app.scopes else []

    def _is_heard(self, channel: str) -> bool:
        app = self._sandbox.workspace.app
        return "app_mentions:read" in app.scopes and app.bot_user_id in self._sandbox.workspace.members(channel)

    async def command(self, user: User, channel: str, line: str, *, base_url: str) -> Done:
        """Give a slash command; what the app answers is shown."""
        self._require_member(user, channel)
        command, _, text = line.strip().partition(" ")
        if self._sandbox.workspace.is_foreign(user):
            raise ActError(f"{command} is not available to people of other organisations")
        if command not in self._sandbox.workspace.app.commands:
            raise ActError(f"{command} is not a valid command")
        payload = payloads.slash_command(self._sandbox, user, channel, command, text.strip())
        payload["response_url"] = issue(self._sandbox, base_url, user=user.id, channel=channel)
        payload["trigger_id"] = self._sandbox.new_trigger(user.id)
        ack = await self._courier.send("slash_commands", payload)
        if ack.ok and ack.body:
            reply = ack.body if isinstance(ack.body, dict) else {"text": str(ack.body)}
            self._show_reply(user, channel, reply)
        return self._done(user, ack)

    async def shortcut(self, user: User, callback_id: str) -> Done:
        """Use a global shortcut of the app's."""
        if self._sandbox.workspace.is_foreign(user):
            raise ActError("shortcuts are not available to people of other organisations")
        if callback_id not in self._sandbox.workspace.app.shortcuts:
            raise ActError(f"there is no shortcut {callback_id!r}")
        payload = {
            "type": "shortcut",
            **payloads.common(self._sandbox, user),
            "callback_id": callback_id,
            "trigger_id": self._sandbox.new_trigger(user.id),
            "action_ts": self._sandbox.next_ts(),
        }
        return self._done(user, await self._courier.send("interactive", payload))

    async def message_shortcut(self, user: User, target: Target, callback_id: str, *, base_url: str) -> Done:
        """Use a shortcut of the app's on a message."""
        if self._sandbox.workspace.is_foreign(user):
            raise ActError("shortcuts are not available to people of other organisations")
        if callback_id not in self._sandbox.workspace.app.message_shortcuts:
            raise ActError(f"there is no shortcut {callback_id!r}")
        message = self._message(user, target)
        place = payloads.message_place(self._sandbox, target.channel, message)
        payload = {
            "type": "message_action",
            **payloads.common(self._sandbox, user),
            "callback_id": callback_id,
            "trigger_id": self._sandbox.new_trigger(user.id),
            "action_ts": self._sandbox.next_ts(),
            "message_ts": message["ts"],
            "channel": place["channel"],
            "message": public(message),
            "response_url": issue(self._sandbox, base_url, user=user.id, channel=target.channel),
        }
        return self._done(user, await self._courier.send("interactive", payload))

    def _show_reply(self, user: User, channel: str, reply: Json) -> None:
        try:
            apply_response(self._sandbox, user.id, channel, reply)
        except SlackError as error:
            self._warn(user, error.code, f"The app's answer cannot be shown: {error.code}")

    async def regroup(self, user: User, group_id: str) -> Done:
        """Come into a user group, or leave it; the app hears of it, as those who may see user groups do."""
        group = self._sandbox.workspace.usergroup(group_id)
        if group is None or group.is_disabled:
            raise ActError(f"there is no user group {group_id!r}")
        if user.is_bot or self._sandbox.workspace.is_foreign(user):
            raise ActError(f"{user.id} cannot be in a user group")
        users = self._sandbox.users_of(group)
        is_in = user.id in users
        others = [one for one in users if one != user.id]
        self._sandbox.store.data.usergroups[group.id] = others if is_in else [*others, user.id]
        self._sandbox.store.changed()
        if "usergroups:read" not in self._sandbox.workspace.app.scopes:
            return Done(ok=True)
        events = payloads.regrouped(self._sandbox, group, user.id, has_left=is_in)
        acks = [await self._courier.send("events_api", payloads.event(self._sandbox, one)) for one in events]
        return self._done(user, next((ack for ack in acks if ack.error), acks[0]))

    async def open_home(self, user: User) -> Done:
        """Look at the app's Home tab."""
        channel = self._sandbox.direct_channel(user.id)
        inner = {"type": "app_home_opened", "user": user.id, "channel": channel, "tab": "home"}
        view = self._sandbox.store.data.homes.get(user.id)
        event = payloads.event(self._sandbox, inner | ({"view": view} if view else {}))
        return self._done(user, await self._courier.send("events_api", event))

    async def hear(self, inner: Json) -> bool:
        """Bring an event to the app; return whether it was acknowledged."""
        return (await self._courier.send("events_api", payloads.event(self._sandbox, inner))).ok

    async def verify_url(self) -> Done:
        """Ask the app's request URL to repeat a challenge, as Slack does when one is entered."""
        challenge = secrets.token_urlsafe(32)
        request = {"token": self._sandbox.verification_token, "challenge": challenge, "type": "url_verification"}
        ack = await self._courier.send("events_api", request)
        repeated = ack.body.get("challenge") if isinstance(ack.body, dict) else ack.body
        return Done(ok=ack.ok and repeated == challenge, ack=ack)

    def _place(self, user: User, target: Target) -> tuple[Json, list[Json]]:
        """Return the payload's members about the place, and the blocks there."""
        store = self._sandbox.store
        if target.view == "home":
            view = store.data.homes.get(user.id)
            if view is None:
                raise ActError("there is no App Home yet")
            return payloads.view_place(view), view["blocks"]
        if target.view == "modal":
            view = self._modal(user).view
            return payloads.view_place(view), view["blocks"]
        message = self._message(user, target)
        return payloads.message_place(self._sandbox, target.channel, message), message.get("blocks", [])

    def _message(self, user: User, target: Target) -> Json:
        self._require_member(user, target.channel)
        message = self._sandbox.store.find(target.channel, target.ts)
        if message is None:
            ephemeral = self._sandbox.store.ephemeral(target.channel, target.ts)
            message = ephemeral.message if ephemeral and ephemeral.user == user.id else None
        if message is None:
            raise ActError(f"there is no message {target.ts} in {target.channel} for {user.id}")
        editions: list[Json] = [*message.get("_earlier", []), message]
        if target.editions_ago >= len(editions):
            raise ActError(f"message {target.ts} has only {len(editions)} editions")
        return editions[-1 - target.editions_ago]

    def _require_member(self, user: User, channel: str) -> None:
        if user.id not in self._sandbox.workspace.members(channel):
            raise ActError(f"{user.id} is not in {channel}")

    def _modal(self, user: User) -> Modal:
        modal = self._sandbox.store.top_modal(user.id)
        if modal is None:
            raise ActError(f"{user.id} has no modal open")
        return modal

    def _done(self, user: User, ack: Ack) -> Done:
        """Warn the person where the app did not acknowledge."""
        if ack.error:
            self._warn(user, ack.error, TROUBLE[ack.error])
        return Done(ok=ack.ok, ack=ack)

    def _warn(self, user: User, code: str, text: str) -> None:
        self._sandbox.store.warn(user.id, self._sandbox.clock().isoformat(), code, text)


def _find_element(blocks: list[Json], wanted: str) -> tuple[Json, Json]:
    """Return the (block, element) of an action_id, or of ``block_id/action_id``."""
    found = [(block, one) for block in blocks for one in elements(block)]
    hits = [(b, e) for b, e in found if wanted in (e["action_id"], f"{b['block_id']}/{e['action_id']}")]
    if len(hits) != 1:
        offered = ", ".join(re.sub(r"\s", " ", one["action_id"]) for _, one in found) or "nothing"
        raise ActError(f"{len(hits)} elements have action_id {wanted!r}; there is {offered}")
    return hits[0]
