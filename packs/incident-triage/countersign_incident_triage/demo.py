"""The pack's demo: an outage that an incident manager has to sign for, and an incident that is triaged alone."""

from collections.abc import Awaitable, Callable

from countersign_connector.standin import ask

from countersign_incident_triage import standins
from countersign_incident_triage.standins import OUTAGE_INCIDENT, VPN_INCIDENT
from runtime.handlers import Caller, Demo, Example, JsonObject

SERVICENOW = "servicenow"
TRIGGER = "servicenow.incident"


async def _reported_again(base: str, sys_id: str) -> JsonObject:
    """Have another incident like this one reported at the stand-in; return what the webhook says about it."""
    record = await ask(f"{base}/__standin/incidents", {"like": sys_id})
    told = {name: record[name] for name in ("sys_id", "number", "short_description")}
    return {**told, "priority": int(record["priority"])}


async def _vpn(base: str) -> JsonObject:
    return await _reported_again(base, VPN_INCIDENT)


async def _outage(base: str) -> JsonObject:
    return await _reported_again(base, OUTAGE_INCIDENT)


def _example(name: str, title: str, then: str, payload: Callable[[str], Awaitable[JsonObject]]) -> Example:
    return Example(
        name=name,
        title=title,
        then=then,
        trigger_type=TRIGGER,
        caller=SERVICENOW,
        on_behalf_of=None,
        payload=payload,
        reply=None,
    )


def _settings(base: str, edge: str) -> dict[str, str]:
    del edge  # the pack waits for nobody
    return standins.settings(base)


DEMO = Demo(
    standins=standins.__name__,
    settings=_settings,
    callers=(Caller(id=SERVICENOW, name="ServiceNow", triggers=(TRIGGER,), on_behalf=False, completes=()),),
    examples=(
        _example(
            "outage",
            "the booking database does not answer: priority 1",
            "Ivan signs the assignment and the labels in #incidents",
            _outage,
        ),
        _example("vpn", "a VPN drops every few minutes: priority 3", "nobody has to decide; it is triaged", _vpn),
    ),
    story=None,
)
