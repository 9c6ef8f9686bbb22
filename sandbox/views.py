"""The views.* methods: modals and the App Home."""

import secrets
from typing import Any

from sandbox.block_kit import check_view
from sandbox.chat import settle
from sandbox.core import Args, Json, Method, Sandbox
from sandbox.slack_errors import TIER_4, SlackError
from sandbox.state import Modal

STACK = 3


def build_view(sandbox: Sandbox, view: Any, kind: str, was: Json | None = None) -> Json:
    """Check a view and return it as Slack keeps it; `was` is the version that it replaces."""
    checked = settle(check_view(view, kind))
    team = sandbox.workspace.team.id
    external_id = checked.get("external_id", "")
    _check_external_id(sandbox, external_id, was)
    view_id = was["id"] if was else "V" + secrets.token_hex(5).upper()
    return {
        "submit": None,
        "close": None,
        "title": {"type": "plain_text", "text": "View Title", "emoji": True},
        "private_metadata": "",
        "callback_id": "",
        "clear_on_close": False,
        "notify_on_close": False,
        **checked,
        "external_id": external_id,
        "id": view_id,
        "team_id": team,
        "state": {"values": {}},
        "hash": sandbox.next_ts(),
        "root_view_id": was["root_view_id"] if was else view_id,
        "previous_view_id": was["previous_view_id"] if was else None,
        "app_id": sandbox.workspace.app.id,
        "app_installed_team_id": team,
        "bot_id": sandbox.workspace.bot_id,
    }


def _check_external_id(sandbox: Sandbox, external_id: str, was: Json | None) -> None:
    for modal in sandbox.store.data.modals.values():
        if external_id and modal.view["external_id"] == external_id and modal.view["id"] != (was or {}).get("id"):
            raise SlackError("duplicate_external_id")


def push_on(sandbox: Sandbox, user: str, view: Any) -> Json:
    """Put a checked view on a person's stack."""
    stack = sandbox.store.data.stacks.get(user, [])
    if len(stack) >= STACK:
        raise SlackError("push_limit_reached")
    built = build_view(sandbox, view, "modal")
    if stack:
        built["root_view_id"], built["previous_view_id"] = stack[0], stack[-1]
    sandbox.store.push_modal(user, built)
    return built


def replace_modal(sandbox: Sandbox, modal: Modal, view: Any) -> Json:
    """Change an open modal."""
    modal.view = build_view(sandbox, view, "modal", was=modal.view)
    modal.errors = {}
    sandbox.store.changed()
    return modal.view


def open_(sandbox: Sandbox, args: Args) -> Json:
    """views.open: what the person had open is closed."""
    trigger_id, view = args.text("trigger_id"), _view(args)
    check_view(view, "modal")
    user = sandbox.exchange(trigger_id)
    sandbox.store.drop_modal(user)
    return {"view": push_on(sandbox, user, view)}


def push(sandbox: Sandbox, args: Args) -> Json:
    """views.push."""
    trigger_id, view = args.text("trigger_id"), _view(args)
    check_view(view, "modal")
    return {"view": push_on(sandbox, sandbox.exchange(trigger_id), view)}


def update(sandbox: Sandbox, args: Args) -> Json:
    """views.update, by view_id or external_id, guarded by hash."""
    modal = _find(sandbox, args)
    _check_hash(args, modal.view)
    return {"view": replace_modal(sandbox, modal, _view(args))}


def publish(sandbox: Sandbox, args: Args) -> Json:
    """views.publish: the App Home of one person."""
    user = sandbox.workspace.user(args.text("user_id"))
    if user is None or not sandbox.visible(user):
        raise SlackError("user_not_found")
    was = sandbox.store.data.homes.get(user.id)
    _check_hash(args, was)
    view = build_view(sandbox, _view(args), "home", was=was)
    sandbox.store.data.homes[user.id] = view
    sandbox.store.changed()
    return {"view": view}


def _view(args: Args) -> Any:
    view = args.json("view", "invalid_arguments")
    if view is None:
        raise SlackError("invalid_arguments", "missing required field: view [json-pointer:/view]")
    return view


def _check_hash(args: Args, view: Json | None) -> None:
    wanted = args.text("hash", "")
    if wanted and (view is None or view["hash"] != wanted):
        raise SlackError("hash_conflict")


def _find(sandbox: Sandbox, args: Args) -> Modal:
    modals = sandbox.store.data.modals
    view_id, external_id = args.text("view_id", ""), args.text("external_id", "")
    if not view_id and not external_id:
        raise SlackError("invalid_arguments", "missing required field: view_id [json-pointer:/view_id]")
    named = (modal for modal in modals.values() if external_id and modal.view["external_id"] == external_id)
    found = modals.get(view_id) or next(named, None)
    if found is None:
        raise SlackError("not_found")
    return found


METHODS = {
    "views.open": Method(open_, TIER_4),
    "views.push": Method(push, TIER_4),
    "views.update": Method(update, TIER_4),
    "views.publish": Method(publish, TIER_4),
}
