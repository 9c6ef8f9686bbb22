"""The counter of our links, over the engine."""

from dataclasses import dataclass

from runtime.engine import Engine
from runtime.services.link_addresses import Linked, LinkTo, read_link, request_link
from runtime.store.cards_places import card_of_request_in, card_of_run_in
from runtime.store.posted import Location


@dataclass(frozen=True)
class LinkCounter:
    """The counter of one tenant."""

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
