"""What people see in the sandbox: private answers, and cards."""

from typing import Any

from sandbox.harness import SandboxUser, messages


def whispers(state: dict[str, Any]) -> list[str]:
    """Return the private answers that a person has got."""
    return [m["text"] for channel in state["channels"] for m in channel["messages"] if m.get("is_ephemeral")]


async def whispered(user: SandboxUser, words: str) -> str:
    """Wait for a private answer that contains these words."""

    def look(state: dict[str, Any]) -> str | None:
        return next((text for text in whispers(state) if words in text), None)

    found: str = await user.wait_for(look)
    return found


def card_of(state: dict[str, Any], ts: str) -> dict[str, Any]:
    """Return a message that a person sees, with its channel."""
    return next(one for one in messages(state) if one["ts"] == ts)


def actions(card: dict[str, Any]) -> list[str]:
    """Return what the buttons of a card do, in their order."""
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]
