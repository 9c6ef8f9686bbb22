"""Evidence holds any card that the bot makes: a verifier takes cards of eight times the bytes of the largest."""

from dataclasses import replace

import pytest

from bot.views.card import card
from receipts import canonical
from receipts.chain import MAX_CARD
from runtime.model.states import ApprovalStatus
from tests.unit.bot_samples import HOSTILE, NOW, everywhere


@pytest.mark.parametrize("text", [*HOSTILE, "\x01" * 5000, "\\" * 5000, "😀" * 5000], ids=range(len(HOSTILE) + 3))
@pytest.mark.parametrize("status", ApprovalStatus)
def test_no_card_has_an_eighth_of_the_bytes_that_a_verifier_takes(text: str, status: ApprovalStatus) -> None:
    shown = card(replace(everywhere(text, 60), status=status), now=NOW)
    assert len(canonical.dumps(shown.json())) < MAX_CARD // 8
