"""Grants of an access system over REST and JSON, as docs/packs.md describes it: who may use what, and until when.

The access system counts the time from the moment at which it grants, ends a grant by itself when that is over, and acts
once under an idempotency key. A grant that has ended stays ended, so revoking it again changes nothing.
"""

from typing import Annotated, Literal

from countersign_connector.http import Request, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import Field

from runtime.handlers import Answer, Call, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched

LONGEST = 43_200
"""Minutes that a grant may last: thirty days."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
GrantId = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]


class ReadParams(Params):
    """Whose access to which system."""

    system: Name
    account: Name


class GrantParams(ReadParams):
    """What access, for how many minutes, and why."""

    role: Name
    minutes: int = Field(ge=1, le=LONGEST)
    justification: str


class RevokeParams(ReadParams):
    """Which grant to end; the rest is for people and policy, and is compared with the grant."""

    role: Name
    grant_id: GrantId


class Grant(Remote):
    """Access of an account to a system in a role. Times are RFC 3339; `ended_at` is empty while it is active."""

    grant_id: GrantId
    system: Name
    account: Name
    role: Name
    granted_at: str
    expires_at: str
    ended_at: str
    state: Literal["active", "expired", "revoked"]


class _Grants(Remote):
    grants: list[Grant]


def handlers(access: Service) -> dict[str, Handler]:
    """Return the operations of the connector `access`."""

    async def read(call: Call) -> Answer:
        params = read_params(ReadParams, call)
        async with access.connect() as client:
            found = await client.get(_Grants, "/grants", _of(params))
            return client.answer(_shown(found))

    async def present(call: Call) -> JsonObject:
        """Return what access the account has to the system now."""
        async with access.connect() as client:
            return _shown(await client.get(_Grants, "/grants", _of(read_params(GrantParams, call))))

    async def grant(call: Call) -> JsonObject:
        body = read_params(GrantParams, call).model_dump()
        request = Request("POST", "/grants", body=body, headers={"Idempotency-Key": call.key})
        async with access.connect() as client:
            return (await client.send(Grant, request)).model_dump()

    async def find_grant(call: Call) -> Reconciled:
        async with access.connect() as client:
            found = await client.get(_Grants, "/grants", {"idempotency_key": call.key})
        return Done(found.grants[0].model_dump()) if found.grants else Untouched()

    async def named(call: Call) -> Grant:
        """Return the grant that a call names; refuse where it is another's than the call says."""
        params = read_params(RevokeParams, call)
        async with access.connect() as client:
            found = await client.get(Grant, f"/grants/{params.grant_id}")
        if (found.system, found.account, found.role) != (params.system, params.account, params.role):
            raise RefusedError(f"grant {params.grant_id} is not {params.account}'s as {params.role} of {params.system}")
        return found

    async def standing(call: Call) -> JsonObject:
        """Return the state of the grant now."""
        return {"state": (await named(call)).state}

    async def revoke(call: Call) -> JsonObject:
        grant_id = (await named(call)).grant_id
        request = Request("POST", f"/grants/{grant_id}/revoke", body={}, headers={"Idempotency-Key": call.key})
        async with access.connect() as client:
            return (await client.send(Grant, request)).model_dump()

    async def find_end(call: Call) -> Reconciled:
        found = await named(call)
        return Untouched() if found.state == "active" else Done(found.model_dump())

    return {
        "access::read": Handler(read, writes=False),
        "access::grant": Handler(grant, reconcile=find_grant, before=present),
        "access::revoke": Handler(revoke, reconcile=find_end, before=standing),
    }


def _of(params: ReadParams) -> dict[str, str]:
    return {"system": params.system, "account": params.account, "state": "active"}


def _shown(found: _Grants) -> JsonObject:
    return {"grants": [grant.model_dump() for grant in found.grants]}
