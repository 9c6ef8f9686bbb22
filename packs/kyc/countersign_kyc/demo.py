"""The pack's demo: an onboarding whose owners are known, one whose are not, and the client who uploads documents."""

import uuid

from countersign_connector.standin import ask

from countersign_kyc import seed_data, standins
from runtime.handlers import Caller, Demo, Example, JsonObject, Reply, Signature, Story

PORTAL = "onboarding-portal"
TRIGGER = "kyc.onboarding"
_DOCUMENTS = ("certificate_of_incorporation", "shareholder_register")


def _payload_of(lei: str) -> JsonObject:
    company = seed_data.COMPANIES[lei]
    return {
        "case_id": str(uuid.uuid4()),
        "lei": lei,
        "legal_name": company.name,
        "contact_email": "onboarding@client.example",
        "jurisdiction": company.jurisdiction,
    }


async def _complete_client(base: str) -> JsonObject:
    del base
    return _payload_of(seed_data.CLIENT)


async def _incomplete_client(base: str) -> JsonObject:
    del base
    return _payload_of(seed_data.INCOMPLETE)


async def _upload(base: str, payload: JsonObject) -> JsonObject | None:
    """Return the portal's word that the client has uploaded what this case asked for."""
    requests = (await ask(f"{base}/__standin/portal/requests"))["requests"]
    asked = next((one for one in reversed(requests) if one["case_id"] == payload["case_id"]), None)
    if asked is None:
        return None
    documents = [{"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64} for kind in _DOCUMENTS]
    return {
        "id": asked["request_id"],
        "type": "completed",
        "correlation_key": asked["correlation_key"],
        "token": asked["token"],
        "result": {"documents": documents},
    }


_CLIENT = Reply("client", "uploads the two documents that were asked for", "documents", _upload)

ONBOARDING = Example(
    name="onboarding",
    title="Halvorsen Seefracht wants an account; who owns it can be found out",
    then="Anna or Boris review the report in #compliance; then both sign its filing with the register",
    trigger_type=TRIGGER,
    caller=PORTAL,
    on_behalf_of="rita",
    payload=_complete_client,
    reply=_CLIENT,
)

INCOMPLETE = Example(
    name="incomplete",
    title="Pelican Reach Trading wants an account; its owners cannot be found out",
    then="the client is asked to fill the gaps; nobody has to decide yet",
    trigger_type=TRIGGER,
    caller=PORTAL,
    on_behalf_of="rita",
    payload=_incomplete_client,
    reply=_CLIENT,
)

STORY = Story(
    example=ONBOARDING.name,
    reviews=(Signature("review", "boris"),),
    step="filing",
    operation="register::file_report",
    rule="a filing with the register is high tier: two people of compliance have to sign",
    ineligible=(("eve", "is of another company"), ("gil", "is a guest"), ("rita", "asked for it herself")),
    rejection=Signature("filing", "anna", "The share register is from 2019, please get the current one."),
    signatures=(
        Signature("filing", "anna", "Checked against the register extract."),
        Signature("filing", "boris", "Second signature."),
    ),
    done="the report was filed, once",
    not_done="nothing was filed",
)


def _settings(base: str, edge: str) -> dict[str, str]:
    return {**standins.settings(base), "callback_url": f"{edge}/v1/notifications"}


DEMO = Demo(
    standins=standins.__name__,
    settings=_settings,
    callers=(
        Caller(
            id=PORTAL,
            name="Onboarding portal",
            triggers=(TRIGGER,),
            on_behalf=True,
            completes=("request_client_documents", "request_additional_information"),
        ),
    ),
    examples=(ONBOARDING, INCOMPLETE),
    story=STORY,
)
