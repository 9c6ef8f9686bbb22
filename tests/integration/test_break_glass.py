"""Break-glass: one person acts without the others, bounded, told, reviewed, and signed by passkey.

In an emergency one person does without the others: named by policy, bounded, told at once, and reviewed after.

Glass that is broken where a click is not enough: the passkey signs that it is broken, by which ticket, and why.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest
from webauthn.helpers import bytes_to_base64url

from countersign.cli.audit import vote_row
from countersign.cli.run_view import show_run
from countersign.doctor.unsealed import why
from evidence.verify.verify import verify
from receipts.passkey_records import SignedWords, challenge_of
from receipts.signing import public_path
from runtime.approvals.webauthn import document_of
from runtime.inbox.break_glass import tell_of_late_reviews
from runtime.model.search import EvidenceState, RunFilter, Sought
from runtime.model.votes import VoteVerdict
from runtime.services.bundles import find_votes
from runtime.services.clicks import ClickOutcome
from runtime.services.run_in_full import find_run
from runtime.services.signing_links import id_of
from runtime.store import approvals
from runtime.store.break_glass import lock_break_glass_count
from runtime.store.bundle_search import find_runs
from runtime.store.database.buffered_connection import BufferedConnection
from runtime.store.passkeys import find_link
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import open_office
from tests.integration.policies_stage import (
    AT_MOST,
    asked,
    break_glass,
    filing,
    glass_bench,
    glass_policy,
    hand_in,
    open_vault,
    opened,
    record_break,
    register,
    sign,
)
from tests.patience import until


@pytest.fixture
async def bench(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    async with glass_bench(dsn, targets, tmp_path) as found:
        yield found


async def code_of(bench: Bench, person: str, approval: str, reason: str = "the bank is down") -> str | None:
    refusal = (await break_glass(bench, person, approval, reason)).refusal
    return None if refusal is None else str(refusal.code)


async def test_one_person_whom_policy_names_does_without_the_others_and_it_is_done_once(
    bench: Bench, targets: Targets
) -> None:
    run_id, approval = await filing(bench)
    assert (await break_glass(bench, "ivy", approval)).counted
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert (await bench.run(run_id))["status"] == "succeeded"
    (vote,) = await bench.rows("SELECT person, break_glass FROM votes")
    assert vote == {"person": "ivy", "break_glass": {"ticket": "INC-7", "nth": 1}}


async def test_nobody_else_does(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    assert await code_of(bench, "ann", approval) == "vote.not_in_group", "she signs, and is not named for this"
    assert await code_of(bench, "rita", approval) == "vote.requester", "though her group is named"
    assert await code_of(bench, "ivy", approval, " ") == "vote.reason_missing"
    await bench.settle()
    assert targets.file.calls == []
    refused = [leaf.event for leaf in await bench.chain((await bench.rows("SELECT run_id FROM runs"))[0]["run_id"])]
    assert refused.count("vote.refused") == 3


async def test_without_a_glass_in_the_requirement_nothing_is_broken(bench: Bench) -> None:
    await bench.start("bench.review", {"case": "C1"})
    await bench.settle()
    assert await code_of(bench, "ivy", await bench.approval_id("task")) == "break_glass.none"


async def test_a_card_that_has_changed_is_looked_at_first(bench: Bench) -> None:
    _, approval = await filing(bench)
    refusal = (await break_glass(bench, "ivy", approval, stamp="0" * 16)).refusal
    assert refusal is not None
    assert refusal.code == "vote.stale"


async def test_nobody_does_so_more_often_than_policy_lets_them_and_may_again_later(bench: Bench) -> None:
    for number in range(AT_MOST):
        assert await code_of(bench, "ivy", (await filing(bench, str(number)))[1]) is None
    _, third = await filing(bench, "third")
    assert await code_of(bench, "ivy", third) == "break_glass.spent"
    bench.clock.move(hours=25)
    _, later = await filing(bench, "later")
    assert await code_of(bench, "ivy", later) is None


async def test_two_at_once_do_not_pass_the_bound_together(bench: Bench) -> None:
    assert await code_of(bench, "ivy", (await filing(bench, "first"))[1]) is None
    asked = [(await filing(bench, ref))[1] for ref in ("a", "b", "c")]
    recorded = [await record_break(bench, "ivy", one, "the bank is down", "INC-8", "") for one in asked]
    outcomes = await asyncio.gather(*map(bench.desk.apply, recorded))
    assert sorted(outcome.counted for outcome in outcomes) == [False, False, True]


async def test_who_breaks_it_in_two_processes_at_once_does_not_pass_the_bound(bench: Bench) -> None:
    assert await code_of(bench, "ivy", (await filing(bench, "first"))[1]) is None
    elsewhere, here = [(await filing(bench, ref))[1] for ref in ("a", "b")]
    other, own = [await record_break(bench, "ivy", one, "the bank is down", "INC-8", "") for one in (elsewhere, here)]
    async with await BufferedConnection.connect(bench.superuser) as conn, conn.transaction():
        await lock_break_glass_count(conn, "acme", "ivy")
        said = json.dumps({"approval_id": elsewhere, "notification_id": other})
        await conn.execute("INSERT INTO votes SELECT (jsonb_populate_record(v, %s)).* FROM votes v", (said,))
        applying = asyncio.create_task(bench.desk.apply(own))
        await until(lambda: _waits_or_is_done(bench, applying))
    refusal = (await applying).refusal
    assert refusal is not None
    assert refusal.code == "break_glass.spent"


async def _waits_or_is_done(bench: Bench, task: asyncio.Task[ClickOutcome]) -> bool:
    waiting = await bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    return task.done() or bool(waiting)


async def test_who_watches_over_it_and_who_asked_are_told_at_once(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    told = [call for call in bench.chat.said("direct_message") if "used break-glass" in call["text"]]
    assert {call["user"] for call in told} == {"USAM", "UPAM", "URITA"}
    assert all("INC-7" in call["text"] and "the bank is down" in call["text"] for call in told)


async def test_who_asked_and_watches_over_it_is_told_once(bench: Bench, dsn: str) -> None:
    with psycopg.connect(dsn, options="-c session_replication_role=replica") as conn:
        conn.execute("""UPDATE actors SET groups = '["onboarding", "security"]' WHERE actor_id = 'rita'""")
    _, approval = await filing(bench)
    assert (await break_glass(bench, "ivy", approval)).counted
    await bench.settle()
    told = [call["user"] for call in bench.chat.said("direct_message") if "used break-glass" in call["text"]]
    assert sorted(told) == ["UPAM", "URITA", "USAM"]


async def test_another_person_says_afterwards_whether_it_was_right(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    review = await bench.approval_id("afterwards")
    for person, code in (("ivy", "vote.excluded"), ("rita", "vote.requester"), ("ann", "vote.not_in_group")):
        refusal = (await bench.click(person, review)).refusal
        assert refusal is not None
        assert refusal.code == code
    await bench.later(days=400)
    assert (await bench.click("sue", review, "reject", "there was no emergency")).counted, "it is asked until answered"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded", "what was done stays done"


async def test_a_rejection_and_an_end_close_the_glass(bench: Bench) -> None:
    _, approval = await filing(bench)
    assert (await bench.click("ann", approval, "reject", "not like this")).counted
    assert await code_of(bench, "ivy", approval) == "vote.closed"


async def test_a_second_delivery_breaks_it_once(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    for _ in range(3):
        assert (await break_glass(bench, "ivy", approval)).counted
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert len(await bench.rows("SELECT 1 FROM approvals WHERE kind = 'afterwards'")) == 1
    assert len([one for one in bench.chat.said("direct_message") if one["user"] == "USAM"]) == 1


async def test_nobody_does_without_a_ticket(bench: Bench) -> None:
    _, approval = await filing(bench)
    for ticket in (" ", "\t"):
        refusal = (await break_glass(bench, "ivy", approval, ticket=ticket)).refusal
        assert refusal is not None
        assert refusal.code == "break_glass.ticket"
    assert await bench.rows("SELECT 1 FROM votes") == []


async def test_a_review_is_not_sent_back(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    review = await bench.approval_id("afterwards")
    refusal = (await bench.click("sue", review, "changes", "another report")).refusal
    assert refusal is not None
    assert refusal.code == "vote.in_doubt"


def _late(bench: Bench) -> list[str]:
    return sorted(
        call["user"] for call in bench.chat.said("direct_message") if "Break-glass review overdue" in call["text"]
    )


async def test_a_review_that_is_late_is_told_of_once_each_time_and_can_still_be_given(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.later(days=2)
    assert _late(bench) == [], "there is time"
    await bench.later(days=1)
    once = ["UIVY", "UPAM", "USAM", "USUE"]
    assert _late(bench) == once
    await bench.later(hours=1)
    assert _late(bench) == once, "the next time that it has passed"
    await bench.later(days=3)
    assert _late(bench) == sorted(once * 2)
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "reject", "no emergency")).counted
    await bench.later(days=3)
    assert _late(bench) == sorted(once * 2)


async def test_two_sweeps_tell_of_a_late_review_once(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    bench.clock.move(days=3)
    await asyncio.gather(*(tell_of_late_reviews(bench.engine) for _ in range(4)))
    await bench.settle()
    assert _late(bench) == ["UIVY", "UPAM", "USAM", "USUE"]


async def test_evidence_waits_for_the_review_and_holds(bench: Bench, dsn: str, tmp_path: Path) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    office = open_office(bench, tmp_path, dsn)
    assert not await office.sealer()
    assert "by break-glass, and nobody has reviewed it yet" in (await office.listed())[run_id]
    async with bench.engine.pool.connection() as conn:
        (listed,) = await find_runs(conn, "acme", Sought(states=[EvidenceState.UNSEALED], limit=10))
    assert "by break-glass, and nobody has reviewed it yet" in why(listed)
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "approve", "the bank was down")).counted
    await bench.settle()
    while await office.sealer():
        pass
    file = office.folder / f"{run_id}.zip"
    assert verify(file, public_path(office.settings.key_path)).run_id == run_id
    with ZipFile(file) as bundle:
        summary, timeline = (bundle.read(name).decode() for name in ("summary.md", "timeline.md"))
    assert "by break-glass" in summary
    assert "without the required signatures" in summary
    assert "using break-glass by" in timeline
    assert "found it justified" in timeline


async def test_an_operator_sees_who_broke_it_and_who_may_close_the_review_until_when(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    async with bench.engine.pool.connection() as conn:
        found = await find_run(conn, "acme", run_id)
    assert found
    (review,) = found["reviews"]
    assert (review["broken_by"], review["ticket"]) == ("Ivy", "INC-7")
    assert review["until"] - review["broken_at"] == timedelta(days=3)
    assert review["may_close"] == ["senior-compliance", "incident-managers"]
    assert "ivy" in review["but"]
    show_run(found)
    assert "open reviews of break-glass" in (said := capsys.readouterr().out)
    assert "senior-compliance, incident-managers" in said
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "approve", "the bank was down")).counted
    async with bench.engine.pool.connection() as conn:
        closed = await find_run(conn, "acme", run_id)
    assert closed
    assert closed["reviews"] == []


async def test_the_table_of_votes_says_that_glass_was_broken_in_the_words_of_the_summary(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    days = RunFilter(since=bench.clock() - timedelta(days=1), until=bench.clock() + timedelta(days=1))
    async with bench.engine.pool.connection() as conn:
        (vote,) = map(vote_row, await find_votes(conn, "acme", days))
    assert vote["decision"] == "approved by break-glass (INC-7)"
    assert vote["meaning"].endswith("without the required signatures")


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
