"""A counter of answers for a bot of which nobody asks anything."""

from collections.abc import Sequence

from runtime.model.questions import Answerers
from runtime.model.votes import CardAct, Refusal
from runtime.services.approval_view import Act
from runtime.services.request_actions import CancelView, CancelWish


class NothingAsked:
    """A counter at which nobody cancels anything."""

    async def may(self, act: CardAct, approval_id: str, person_id: str) -> Refusal | None:
        raise AssertionError(f"nobody here does this: {act} {approval_id} {person_id}")

    async def acts(self, approval_id: str, person_id: str) -> frozenset[Act]:  # noqa: ARG002 - everybody may all
        return frozenset(Act)

    async def acts_of_all(self, approval_ids: Sequence[str], person_id: str) -> list[frozenset[Act]]:
        return [await self.acts(one, person_id) for one in approval_ids]

    async def answerers(self, approval_id: str, person_id: str) -> Answerers:
        raise AssertionError(f"nothing here is asked: {approval_id} {person_id}")

    async def may_reply(self, approval_id: str, question_id: str, person_id: str) -> Refusal | None:
        raise AssertionError(f"nobody here answers anything: {approval_id} {question_id} {person_id}")

    async def may_hand(self, approval_id: str, person_id: str, to_id: str) -> Refusal | None:
        raise AssertionError(f"nobody here hands anything on: {approval_id} {person_id} {to_id}")

    async def cancel_view(self, run_id: str) -> CancelView | None:
        raise AssertionError(f"nothing here is canceled: {run_id}")

    async def ask_cancel(self, wish: CancelWish) -> str:
        raise AssertionError(f"nothing here is canceled: {wish}")

    async def apply_cancel(self, notification_id: str) -> str:
        raise AssertionError(f"nothing here is canceled: {notification_id}")


class CardsUntouched:
    """Cards that nobody edits or deletes in Slack."""

    async def standing_at(self, channel: str, ts: str) -> str | None:  # noqa: ARG002
        return None

    async def tampered(self, approval_id: str, account: str, edit: str) -> None:
        raise NotImplementedError
