"""What people do with a request beside deciding it, as the bot hands it in."""

from runtime.model.person import SlackAccount
from runtime.model.votes import CardAct
from runtime.services.clicks import Click, ClickOutcome
from tests.bench import TEAM, Bench


async def say(
    bench: Bench, person: str, approval_id: str, act: CardAct, words: str, about: str = "", nonce: str = ""
) -> ClickOutcome:
    """Do one such act in Slack; return what became of it."""
    click = Click(
        dedupe_key=f"{approval_id}:{person}:{act}:{words}:{nonce}",
        approval_id=approval_id,
        stamp="",
        verdict=act,
        reason=words,
        account=SlackAccount(TEAM, f"U{person.upper()}"),
        person_id=person,
        refusal=None,
        request_id="req-act",
        about=about,
    )
    return await bench.desk.apply(await bench.desk.record(click))
