"""What people are told of cards."""

from typing import Literal

from runtime.model.message import Message, RunName


class CardTampered(Message):
    """Somebody else than the program edited a card by hand."""

    kind: Literal["card_tampered"] = "card_tampered"
    run: RunName
    step: str
    person: str
