"""A counter of what people are told for a bot whose people are told everything at any time."""

from runtime.model.delivery import AnswerTurn, DeliveryTurn, Gathering, Notice, SendAlone


class NothingCounted:
    """A counter that gathers nothing."""

    async def take_turn(self, notice: Notice) -> DeliveryTurn:
        assert notice.key
        return SendAlone()

    async def gathering(self, gathering_id: str) -> Gathering | None:
        raise AssertionError(f"nothing here is gathered: {gathering_id}")

    async def posted(self, gathering_id: str, channel: str, ts: str) -> None:
        raise AssertionError(f"nothing here is gathered: {gathering_id} {channel} {ts}")

    async def begin_answer(self, account: str, occasion: str, words: str) -> AnswerTurn:
        assert account, (occasion, words)
        return AnswerTurn.OURS

    async def end_answer(self, account: str, occasion: str, words: str, *, is_given: bool) -> None:
        assert account, (occasion, words, is_given)
