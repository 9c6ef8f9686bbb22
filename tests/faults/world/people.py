"""The people and agents of the world, as its directory has them."""

from collections.abc import Sequence
from typing import Any

from tests.faults.world import chat, upstream
from tests.faults.world.policies import AUTHOR


def directory(client: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Return the directory, in which a client triggers runs of some kinds."""

    def account(name: str) -> list[dict[str, str]]:
        return [{"team": chat.TEAM, "user": chat.user_of(name)}]

    groups = ["compliance", *chat.DESKS]
    officers = [{"id": name, "name": name.title(), "groups": groups, "slack": account(name)} for name in chat.PEOPLE]
    operator = {"id": chat.OPERATOR, "name": "Omar", "groups": ["operators"], "slack": account(chat.OPERATOR)}
    author = {"id": AUTHOR, "name": AUTHOR.title(), "groups": ["policy-authors"], "slack": []}
    return {
        "version": 1,
        "people": [*officers, operator, author],
        "agents": [
            {"id": client, "name": "Client", "triggers": [f"world.{kind}" for kind in kinds]},
            {"id": upstream.CALLER, "name": "Upstream", "completes": ["ask_client"]},
        ],
    }
