"""What the tests of the KYC pack's handlers share: how an operation is run, and what the stand-ins are told."""

import json
from collections.abc import Mapping

import aiohttp

from runtime.definitions.schemas import violations
from runtime.handlers import Call, Handler, JsonObject
from tests.handled import result_of
from tests.integration.pack_verbs import sync_verbs

Completions = list[tuple[str, str, str, JsonObject]]


async def run(pack: Mapping[str, Handler], operation: str, params: JsonObject, key: str = "") -> JsonObject:
    result = await result_of(pack[operation], call(operation, params, key))
    verb = sync_verbs("kyc").get(operation)
    assert verb is None or violations(verb["output_schema"], result) == []
    return result


def call(operation: str, params: JsonObject, key: str = "", correlation_key: str = "") -> Call:
    token = f"token of {correlation_key}" if correlation_key else ""
    return Call("acme", "run-1", "step", operation, params, "target", key, correlation_key, token)


async def control(base: str, path: str, body: JsonObject | None = None) -> tuple[int, JsonObject]:
    """Ask the stand-in something that its real counterpart does not offer."""
    async with (
        aiohttp.ClientSession() as session,
        session.request("POST" if body else "GET", f"{base}/__standin/{path}", json=body) as response,
    ):
        return response.status, json.loads(await response.read() or b"{}")


async def actions(base: str) -> int:
    count: int = (await control(base, "actions"))[1]["count"]
    return count


DOCUMENTS = (
    "portal::request_documents",
    {
        "case_id": "c",
        "document_types": ["shareholder_register"],
        "contact_email": "client@example.com",
        "message": "Please.",
    },
)
