"""Glass that is broken where a click is not enough: the passkey signs that it is broken, by which ticket, and why."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from webauthn.helpers import bytes_to_base64url

from receipts.passkey_records import SignedWords, challenge_of
from runtime.approvals.webauthn import document_of
from runtime.model.votes import VoteVerdict
from runtime.services.clicks import ClickOutcome
from runtime.services.signing_links import id_of
from runtime.store import approvals
from runtime.store.passkeys import find_link
from tests.bench import TENANT, Bench
from tests.integration.glass_stage import AT_MOST, break_glass, glass_policy
from tests.integration.passkeys_stage import asked, hand_in, open_vault, opened, register, sign


@pytest.fixture
async def vault(dsn: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with glass_policy(tmp_path, "access_vault") as policy, open_vault(dsn, policy) as bench:
        yield bench


def _code(outcome: ClickOutcome) -> str | None:
    return str(outcome.refusal.code) if outcome.refusal else None


async def test_one_person_breaks_the_glass_with_a_passkey_and_is_reviewed(vault: Bench) -> None:
    approval = await asked(vault)
    assert (await sign(vault, "ivy", approval, await register(vault, "ivy"), "INC-7")).counted
    await vault.settle()
    asks = await vault.rows("SELECT kind, status FROM approvals ORDER BY requested_at, kind DESC")
    assert [(row["kind"], row["status"]) for row in asks] == [("effect", "approved"), ("afterwards", "requested")]
    (vote,) = await vault.rows("SELECT break_glass, passkey IS NOT NULL AS signed FROM votes")
    assert vote == {"break_glass": {"ticket": "INC-7", "nth": 1}, "signed": True}


async def test_a_click_alone_breaks_no_glass_that_has_to_be_signed(vault: Bench) -> None:
    assert _code(await break_glass(vault, "ivy", await asked(vault))) == "passkey.needed"


async def test_who_may_not_break_it_does_not_with_a_passkey_either(vault: Bench) -> None:
    approval = await asked(vault)
    assert _code(await sign(vault, "sam", approval, await register(vault, "sam"), "INC-7")) == "vote.not_in_group"


async def test_nobody_breaks_it_with_a_passkey_more_often_than_policy_lets_them(vault: Bench) -> None:
    mine = await register(vault, "ivy")
    *often, once_more = [await asked(vault, str(number)) for number in range(AT_MOST + 1)]
    for approval in often:
        assert (await sign(vault, "ivy", approval, mine, "INC-7")).counted
    assert _code(await sign(vault, "ivy", once_more, mine, "INC-7")) == "break_glass.spent"


@pytest.mark.parametrize(
    "signed",
    [
        SignedWords("Ivy", "seen and checked"),
        SignedWords("Ivy", "seen and checked", "INC-8"),
        SignedWords("Ivy", "because", "INC-7"),
        SignedWords("Ivy Lind", "seen and checked", "INC-7"),
    ],
    ids=["any approval", "another ticket", "another reason", "another name"],
)
async def test_what_was_signed_otherwise_breaks_no_glass(vault: Bench, signed: SignedWords) -> None:
    approval, mine = await asked(vault), await register(vault, "ivy")
    token, _ = await opened(vault, "ivy", approval, "INC-7")
    assert _code(await hand_in(vault, token, mine.sign(await _challenge(vault, approval, token, signed)))) == (
        "passkey.wrong"
    )


async def test_what_was_signed_to_break_the_glass_is_no_other_approval(vault: Bench) -> None:
    approval, mine = await asked(vault), await register(vault, "sam")
    token, _ = await opened(vault, "sam", approval)
    alone = await _challenge(vault, approval, token, SignedWords("Sam", "seen and checked", "INC-7"))
    assert _code(await hand_in(vault, token, mine.sign(alone))) == "passkey.wrong"


async def test_the_page_shows_the_ticket_and_the_reason_as_they_will_be_on_record(vault: Bench) -> None:
    _, page = await opened(vault, "ivy", await asked(vault), " INC-7 ")
    assert (page.ticket, page.reason) == ("INC-7", "seen and checked")


async def _challenge(bench: Bench, approval: str, token: str, said: SignedWords) -> str:
    """Return the challenge of another document than the link's page asks to be signed."""
    async with bench.engine.pool.connection() as conn:
        link, found = await find_link(conn, TENANT, id_of(token)), await approvals.get_approval(conn, approval)
    assert link
    assert found
    return bytes_to_base64url(challenge_of(document_of(found, VoteVerdict.APPROVE, link.nonce, said)))
