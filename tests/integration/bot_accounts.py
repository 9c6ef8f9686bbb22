"""Who has an account on the stage of the bot's tests, what waits for Slack to confirm one, and how Slack signs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bot.signature import sign
from runtime.clock import Clock
from runtime.model.person import SlackAccount
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.signing_links import SigningWish
from runtime.services.slack_people import Unconfirmed


def is_unconfirmed(click: Click) -> bool:
    """Return whether a click waits for Slack's word on who made it."""
    return click.refusal is not None and click.refusal.code is RefusalCode.UNCONFIRMED


@dataclass(frozen=True)
class MemoryAccounts:
    """The accounts of a desk that keeps its clicks in memory."""

    inbox: dict[str, Click]
    outcomes: Mapping[str, ClickOutcome]
    reach: Callable[[str], None]

    async def unconfirmed(self) -> list[Unconfirmed]:
        self.reach("people")
        waiting = [key for key, click in self.inbox.items() if key not in self.outcomes and is_unconfirmed(click)]
        return [Unconfirmed(key, self.inbox[key].account) for key in waiting]

    async def confirm(
        self, notification_id: str, account: SlackAccount, person_id: str | None, refusal: Refusal | None
    ) -> str | None:
        click = self.inbox[notification_id]
        self.inbox[notification_id] = replace(click, account=account, person_id=person_id, refusal=refusal)
        return notification_id if is_unconfirmed(click) else None


@dataclass
class Links:
    """Links to sign, as they were asked for; there are none where the edge has no `address`."""

    address: str | None = "https://countersign.example/passkeys/"
    wishes: list[SigningWish] = field(default_factory=list)

    async def link(self, wish: SigningWish) -> str | None:
        self.wishes.append(wish)
        return self.address and f"{self.address}{len(self.wishes)}"


def headers_of(secret: str, clock: Clock, body: bytes, content_type: str) -> dict[str, str]:
    """Return the headers with which Slack would send a body now."""
    stamp = str(int(clock().timestamp()))
    signature = sign(secret, stamp.encode(), body).decode()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature, "Content-Type": content_type}
