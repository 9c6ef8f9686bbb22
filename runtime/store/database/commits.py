"""Connections that know when a transaction is committed: what is told of it is told then, and never otherwise."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncTransaction
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow


class TellingConnection(AsyncConnection[DictRow]):
    """Does what `on_commit` is given once the outermost transaction is committed; forgets it if it is rolled back."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._waiting: list[Callable[[], None]] = []

    def on_commit(self, tell: Callable[[], None]) -> None:
        """Do this after the commit."""
        self._waiting.append(tell)

    @asynccontextmanager
    async def transaction(
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # noqa: FBT001, FBT002 - psycopg's
    ) -> AsyncIterator[AsyncTransaction]:
        """Do as psycopg does, and then tell."""
        if self.info.transaction_status != TransactionStatus.IDLE:
            async with super().transaction(savepoint_name, force_rollback) as tx:
                yield tx
            return
        self._waiting.clear()
        async with super().transaction(savepoint_name, force_rollback) as tx:
            yield tx
        waiting, self._waiting = self._waiting, []
        for tell in waiting if not force_rollback else ():
            tell()
