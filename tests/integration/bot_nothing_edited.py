"""A counter of edits for a bot of which nobody edits anything."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.model.votes import Refusal
from runtime.services.editing import EditForm, EditWish


class NothingEdited:
    """A counter at which nobody edits anything."""

    async def form(self, approval_id: str) -> EditForm | None:
        raise AssertionError(f"nothing here is edited: {approval_id}")

    def faults(self, form: EditForm, params: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        raise AssertionError(f"nothing here is edited: {form} {params}")

    async def refusal(self, approval_id: str, person_id: str, params: Mapping[str, Any]) -> Refusal | None:
        raise AssertionError(f"nothing here is edited: {approval_id} {person_id} {params}")

    async def record(self, wish: EditWish) -> str:
        raise AssertionError(f"nothing here is edited: {wish}")

    async def apply(self, notification_id: str) -> Refusal | None:
        raise AssertionError(f"nothing here is edited: {notification_id}")
