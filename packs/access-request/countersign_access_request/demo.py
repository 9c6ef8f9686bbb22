"""The pack's demo: access to the payments system for a while, which its owner and security sign."""

from countersign_access_request import standins
from runtime.handlers import Caller, Demo, Example, JsonObject

PORTAL = "access-portal"
TRIGGER = "access.request"


async def _payload(base: str) -> JsonObject:
    del base
    return {
        "system": "payments",
        "account": "rita",
        "role": "operator",
        "minutes": 1,
        "justification": "A payment of Halvorsen Seefracht is stuck; I have to release it by hand.",
    }


def _settings(base: str, edge: str) -> dict[str, str]:
    del edge  # the pack waits for nobody
    return standins.settings(base)


DEMO = Demo(
    standins=standins.__name__,
    settings=_settings,
    callers=(Caller(id=PORTAL, name="Access portal", triggers=(TRIGGER,), on_behalf=True, completes=()),),
    examples=(
        Example(
            name="payments",
            title="Rita asks for access to the payments system for a minute",
            then="Olga, who owns it, and Sam of security sign in #approvals; a minute later access is taken back",
            trigger_type=TRIGGER,
            caller=PORTAL,
            on_behalf_of="rita",
            payload=_payload,
            reply=None,
        ),
    ),
    story=None,
)
