"""A Home says what waits, and how much of it."""

from bot.home.home import SHOWN
from tests.unit.bot_samples import KYC, home_of, shown


def test_home_says_when_nothing_waits_and_how_much_there_is() -> None:
    assert "Nothing is waiting for you" in shown(home_of(KYC, 0))
    words = shown(home_of(KYC, SHOWN, SHOWN + 3))
    assert f"{SHOWN + 3} requests for you" in words
    assert "No card in its channel right now." in words
    assert "<https://s.example/archives/C1/p17|Open the card>" in shown(home_of(KYC, card=("C1", "1.7")))


def test_home_counts_as_far_as_it_counts() -> None:
    assert "500 requests for you" in shown(home_of(KYC, SHOWN, 500))
    assert "500+ requests for you" in shown(home_of(KYC, SHOWN, 501))
