"""A counter of answers for a bot of which nobody asks anything."""

from runtime.desk.answers.model import CancelView, CancelWish


class NothingAsked:
    """A counter at which nobody cancels anything."""

    async def cancel_view(self, run_id: str) -> CancelView | None:
        raise AssertionError(f"nothing here is canceled: {run_id}")

    async def ask_cancel(self, wish: CancelWish) -> str:
        raise AssertionError(f"nothing here is canceled: {wish}")

    async def apply_cancel(self, notification_id: str) -> str:
        raise AssertionError(f"nothing here is canceled: {notification_id}")
