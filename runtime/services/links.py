"""Links of our own to requests and runs: they hold an id and nothing else, and open nothing by themselves."""

import re
from dataclasses import dataclass
from enum import StrEnum

from runtime.engine import Engine
from runtime.store.cards import Location, card_of_request_in, card_of_run_in

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class LinkTo(StrEnum):
    """What a link leads to; the value stands in its path."""

    REQUEST = "requests"
    RUN = "runs"


@dataclass(frozen=True)
class Linked:
    """What one of our links names, whether it is there or not."""

    to: LinkTo
    id: str


def path_of(to: LinkTo) -> str:
    """Return the path under which the edge has its page; an id follows."""
    return f"/{to}/"


def address_of(public_url: str, linked: Linked) -> str:
    """Return the address; "" where people's browsers do not reach the edge."""
    return f"{public_url}{path_of(linked.to)}{linked.id}" if public_url else ""


def request_link(public_url: str, approval_id: str) -> str:
    """Return the address of a request, or ""."""
    return address_of(public_url, Linked(LinkTo.REQUEST, approval_id))


def run_link(public_url: str, run_id: str) -> str:
    """Return the address of a run, or ""."""
    return address_of(public_url, Linked(LinkTo.RUN, run_id))


def read_link(public_url: str, address: str) -> Linked | None:
    """Return what an address names; None where it is not, to the letter, one that we give out."""
    for to in LinkTo:
        start = f"{public_url}{path_of(to)}"
        if public_url and address.startswith(start) and _ID.fullmatch(address, len(start)):
            return Linked(to, address[len(start) :])
    return None


@dataclass(frozen=True)
class LinkResolver:
    """What our links name, and where people see it already."""

    engine: Engine
    tenant: str

    def read(self, address: str) -> Linked | None:
        """Return what an address names, whether it is there or not; None where it is none of ours."""
        return read_link(self.engine.routing.public_url, address)

    def to_request(self, approval_id: str) -> str:
        """Return our link to a request, "" where browsers do not reach us."""
        return request_link(self.engine.routing.public_url, approval_id)

    async def card_in(self, linked: Linked, channel: str) -> Location | None:
        """Return (channel, ts) of the newest card of it in a conversation, None where none stands there."""
        look = card_of_run_in if linked.to is LinkTo.RUN else card_of_request_in
        async with self.engine.pool.connection() as conn:
            return await look(conn, self.tenant, linked.id, channel)
