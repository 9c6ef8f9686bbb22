"""The manifest asks for what the code uses, and for nothing else."""

import re
from pathlib import Path

import yaml

import bot
from bot.listeners.card_watch import EVENTS as CARD_EVENTS
from bot.listeners.commands import NAME
from bot.listeners.forms import ASK_APPROVAL, NEW_REQUEST
from bot.listeners.installation import EVENTS
from bot.listeners.unfurls import EVENT as SHARED_EVENT
from bot.listeners.user_groups import CHANGED
from bot.slack.doctor import SCOPES
from countersign.slack import manifest_of

ROOT = Path(bot.__file__).parent
# Which scopes a method that we call needs; methods that need none are not named.
NEEDS = {
    "chat_postMessage": {"chat:write"},
    "chat_update": {"chat:write"},
    "chat_unfurl": {"links:write"},
    "chat_postEphemeral": {"chat:write"},
    "conversations_history": {"channels:history", "groups:history", "im:history"},
    "conversations_info": {"channels:read", "groups:read"},
    "conversations_replies": {"channels:history", "groups:history", "im:history"},
    "conversations_open": {"im:write"},
    "users_info": {"users:read"},
    "bots_info": {"users:read"},
    "usergroups_list": {"usergroups:read"},
    "usergroups_users_list": {"usergroups:read"},
}
NEED_NONE = {"auth_test", "apps_connections_open", "chat_getPermalink", "api_call"} | {  # api_call: oauth.v2.access
    f"views_{act}" for act in ("open", "push", "update", "publish")
}

OF_FEATURES = {"commands", "app_mentions:read", "links:read"}
"""Scopes that no method needs: for what people bring to us."""


def called() -> set[str]:
    source = "".join(path.read_text() for path in ROOT.rglob("*.py"))
    return set(re.findall(r"client\.([a-z]+_[A-Za-z_]+)\(", source))


def test_the_manifest_asks_for_exactly_the_scopes_that_the_methods_need() -> None:
    assert called() == set(NEEDS) | NEED_NONE
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    asked = set(manifest["oauth_config"]["scopes"]["bot"])
    assert asked == set().union(*NEEDS.values(), OF_FEATURES) == SCOPES


def test_the_manifest_names_the_command_and_the_shortcut_that_the_bot_answers() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    assert [one["command"] for one in manifest["features"]["slash_commands"]] == [NAME]
    assert [one["callback_id"] for one in manifest["features"]["shortcuts"]] == [NEW_REQUEST, ASK_APPROVAL]


def test_the_manifest_asks_for_the_events_that_the_bot_takes() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {
        "app_home_opened",
        "app_mention",
        SHARED_EVENT,
        *EVENTS,
        *CHANGED,
        *CARD_EVENTS,
    }


def test_the_manifest_is_printed_with_the_domain_of_our_links_where_there_are_any() -> None:
    as_it_is = (ROOT / "manifest.yaml").read_text()
    assert manifest_of(None) == as_it_is
    printed = yaml.safe_load(manifest_of("https://countersign.example:8443"))
    assert printed["features"].pop("unfurl_domains") == ["countersign.example"]
    assert printed == yaml.safe_load(as_it_is)
