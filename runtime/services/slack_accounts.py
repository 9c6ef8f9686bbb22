"""The counter of Slack accounts: which the directory knows, and whose word waits for Slack to confirm who they are."""

from collections.abc import Sequence

from runtime.engine import Engine
from runtime.inbox.confirming import confirm
from runtime.model.actor import SlackAccount
from runtime.model.votes import Refusal
from runtime.services.people_model import Unconfirmed
from runtime.store import directory, notifications


class AccountCounter:
    """The counter over the engine, for one tenant."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def knows(self, user: str) -> bool:
        """Return whether the directory has an account of a Slack user, under whichever team."""
        async with self._engine.pool.connection() as conn:
            return await directory.knows_account(conn, self._tenant, user)

    async def unconfirmed(self) -> Sequence[Unconfirmed]:
        """Return what waits for Slack to confirm who said it, oldest first."""
        async with self._engine.pool.connection() as conn:
            rows = await notifications.unconfirmed(conn, self._tenant)
        return [Unconfirmed(row["notification_id"], SlackAccount(row["team"], row["account"])) for row in rows]

    async def confirm(
        self, notification_id: str, account: SlackAccount, person_id: str | None, refusal: Refusal | None
    ) -> str | None:
        """Record who said what was unconfirmed, or why it cannot count; return the notification to apply."""
        return await confirm(self._engine, notification_id, account, person_id, refusal)
