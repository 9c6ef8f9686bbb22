"""The menu of a request as a person uses it in the sandbox."""

from typing import Any

from sandbox.harness import SandboxUser
from tests.integration.chat_stage import CHANNEL, Chat
from tests.patience import MINUTE, until


def entry(card: dict[str, Any], label: str) -> tuple[str, str]:
    """Return the menu's action and the value of the entry with these words."""
    return next(
        (element["action_id"], option["value"])
        for block in card["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["type"] == "overflow"
        for option in element["options"]
        if option["text"]["text"].startswith(label)
    )


async def choose(person: SandboxUser, card: dict[str, Any], label: str) -> None:
    """Choose an entry of the menu on a card."""
    action, value = entry(card, label)
    await person.click(card, action, chosen=value)


async def newest(chat: Chat, person: SandboxUser) -> dict[str, Any]:
    """Return the newest card of compliance as it is now, once all is done that can be."""
    await chat.bench.settle()
    (card, *_) = await chat.cards()
    assert person.user_id
    return {**card, "channel": CHANNEL}


async def opened(chat: Chat, name: str, label: str) -> SandboxUser:
    """Let a person choose an entry of the newest card; return them before its modal."""
    person = await chat.person(name)
    await choose(person, await newest(chat, person), label)
    await person.find_modal(timeout=MINUTE)
    return person


async def recorded(chat: Chat, event: str, count: int = 1) -> None:
    """Wait until so many leaves of an event are on record, and do all that follows."""

    async def is_so() -> bool:
        rows = await chat.bench.rows("SELECT count(*) AS n FROM audit_leaves WHERE leaf ->> 'event' = %s", event)
        return bool(rows[0]["n"] == count)

    await until(is_so)
    await chat.bench.settle()
