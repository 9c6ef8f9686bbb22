"""Edit and resubmit in Slack, and in any order with whatever else people do.

*Edit and resubmit* in Slack: a modal with what may be edited, faults at their fields, and both cards afterwards.

Whatever people do with a request, edits and all, at most one version is performed, and that one has its quorum.
"""

import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from bot.views.references import SHOW_REPLACEMENT
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from sandbox.harness import SandboxUser
from tests.bench import Bench
from tests.integration.acts_stage import ASKED, Register, asked, edit, request_of
from tests.integration.chat_stage import CHANNEL, Chat, chatting, choose
from tests.integration.conftest import PACK, Targets
from tests.integration.seen import whispered
from tests.patience import MINUTE

COPIES, TEXT, URGENT = "param:copies", "param:text", "param:urgent"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    targets.file = Register()
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets, PACK, PACK.with_name("editing")) as running,
    ):
        yield running


async def _asked(chat: Chat) -> tuple[str, dict[str, Any]]:
    """Ask for ten copies; return the request, and its card."""
    run_id = (await chat.bench.start("editing.file", ASKED)).run_id
    await chat.bench.settle()
    (card,) = await chat.cards()
    return await request_of(chat.bench, run_id), {**card, "channel": CHANNEL}


async def _edits(chat: Chat, name: str) -> tuple[SandboxUser, str, dict[str, Any]]:
    """Have somebody open the modal; return them, the request and the modal."""
    approval_id, card = await _asked(chat)
    person = await chat.person(name)
    await choose(person, card, "Edit and resubmit")
    return person, approval_id, await person.find_modal(timeout=MINUTE)


async def _run(chat: Chat) -> str:
    (row,) = await chat.bench.rows("SELECT run_id FROM runs")
    return str(row["run_id"])


async def test_the_modal_has_what_may_be_edited_with_its_values_now(chat: Chat) -> None:
    _, _, modal = await _edits(chat, "ann")
    inputs = {block["block_id"]: block["element"] for block in modal["blocks"] if block["type"] == "input"}
    assert list(inputs) == [COPIES, TEXT, URGENT, "reason"]
    assert (inputs[COPIES]["initial_value"], inputs[TEXT]["initial_value"]) == ("10", "report")
    assert "initial_option" not in inputs[URGENT]
    labels = [block["label"]["text"] for block in modal["blocks"] if block["type"] == "input"]
    assert labels[:3] == ["Copies", "Text", "Urgent"]


async def test_the_modal_says_what_happens_to_whom_as_the_card_does(chat: Chat) -> None:
    _, _, modal = await _edits(chat, "ann")
    (card,) = await chat.cards()
    about = modal["blocks"][0]["fields"][1]["text"]
    assert about
    assert about in card["text"]


async def test_an_edit_replaces_the_request_and_both_cards_say_so(chat: Chat, targets: Targets) -> None:
    ann, first, _ = await _edits(chat, "ann")
    assert (await ann.submit({COPIES: "3", "reason": "ten are too many"}))["ok"]
    await whispered(ann, "Resubmitted: policy decides")
    assert await chat.decided(first) is ApprovalStatus.CANCELED
    new, old = await chat.cards()
    assert "Replaced by an edited version" in str(old["blocks"])
    assert "edited by Ann" in str(old["blocks"])
    told = str(new["blocks"])
    assert "Edited since it was requested" in told
    assert "10 → 3" in told
    assert "ten are too many" in told
    ben = await chat.person("ben")
    await ben.click({**old, "channel": CHANNEL}, SHOW_REPLACEMENT)
    assert "10" in str(await ben.find_modal(timeout=MINUTE))
    for name in ("ben", "cat"):
        await chat.bench.click(name, await request_of(chat.bench, await _run(chat)))
    await chat.bench.settle()
    assert [call.params["copies"] for call in targets.file.calls] == [3]


@pytest.mark.parametrize(
    ("entered", "block", "fault"),
    [
        ({COPIES: "many", "reason": "ten are too many"}, COPIES, "whole number"),
        ({COPIES: "51", "reason": "ten are too few"}, COPIES, "51 is greater than the maximum of 50"),
        ({COPIES: "3", "reason": "\u200b\u200b\u200b"}, "reason", "visible"),
        ({"reason": "I do not know"}, "reason", "You changed nothing"),
    ],
)
async def test_a_fault_is_shown_at_its_field_and_the_modal_stays_open(
    chat: Chat, entered: dict[str, str], block: str, fault: str
) -> None:
    ann, first, _ = await _edits(chat, "ann")
    refused = await ann.submit(entered)
    assert fault in refused["errors"][block]
    assert (await ann.see())["modal"]
    assert await chat.decided(first) is ApprovalStatus.REQUESTED
    assert not await chat.bench.rows("SELECT 1 FROM edits")


async def test_an_edit_that_leaves_too_few_approvers_is_refused_in_the_form(chat: Chat) -> None:
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id IN ('cat', 'sue') RETURNING 1")
    ann, first, _ = await _edits(chat, "ann")
    refused = await ann.submit({COPIES: "3", "reason": "ten are too many"})
    assert "Not enough eligible approvers would be left" in refused["errors"]["reason"]
    assert await chat.decided(first) is ApprovalStatus.REQUESTED
    assert not await chat.bench.rows("SELECT 1 FROM edits")


async def test_a_request_that_was_decided_meanwhile_is_not_edited(chat: Chat) -> None:
    ann, first, _ = await _edits(chat, "ann")
    assert (await chat.bench.click("ben", first, "reject")).counted
    refused = await ann.submit({COPIES: "3", "reason": "ten are too many"})
    assert "The card has changed" in refused["errors"]["reason"]


async def test_who_may_not_decide_gets_no_modal_and_is_told_why(chat: Chat) -> None:
    _, card = await _asked(chat)
    rita = await chat.person("rita")
    await choose(rita, card, "Edit and resubmit")
    await whispered(rita, "You requested this yourself")
    assert (await rita.see())["modal"] is None


async def test_a_stranger_who_wants_to_edit_is_told_so_and_is_on_record(chat: Chat) -> None:
    _, card = await _asked(chat)
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann' RETURNING 1")
    ann = await chat.person("ann")
    await choose(ann, card, "Edit and resubmit")
    await whispered(ann, "no person for your Slack account")
    leaves = await chat.bench.chain(await _run(chat))
    (said,) = [leaf.data for leaf in leaves if leaf.event == "notification.refused"]
    assert (said["act"], said["code"]) == ("edit", "identity.unknown")


async def test_an_edit_that_cannot_be_recorded_leaves_the_modal_open_and_says_so(chat: Chat) -> None:
    ann, _, _ = await _edits(chat, "ann")
    await chat.bench.engine.pool.close()
    refused = await ann.submit({COPIES: "3", "reason": "ten are too many"})
    assert "Something went wrong on our side" in refused["errors"]["reason"]
    assert (await ann.see())["modal"]


async def test_a_request_of_which_nothing_may_be_edited_has_no_such_entry(chat: Chat) -> None:
    await chat.file()
    (card,) = await chat.cards()
    assert "Edit and resubmit" not in str(card["blocks"])
    assert "Cancel this request" in str(card["blocks"])


PEOPLE = ("ann", "ben", "cat", "rita", "sue", "omar")
ACTS = ("approve", "approve", "approve", "edit", "edit", "reject", "old", "wait")


async def _act(bench: Bench, chance: random.Random, run_id: str, number: int) -> None:
    """Do something with a request of the run, mostly with the one that is open."""
    rows = await bench.rows("SELECT approval_id, status FROM approvals WHERE run_id = %s", run_id)
    act, person = chance.choice(ACTS), chance.choice(PEOPLE)
    old = act == "old"
    mine = [row["approval_id"] for row in rows if old or row["status"] == "requested"]
    if not mine:
        return
    approval = chance.choice(mine)
    match act:
        case "edit":
            wanted = {"copies": chance.choice([10, 10, 3, 4, 60])}
            await edit(bench, person, approval, wanted, dedupe_key=f"{run_id}:{number}")
        case "wait":
            await bench.later(hours=chance.choice([1, 7, 9]))
        case _:
            verdict = "reject" if act == "reject" and chance.random() < 0.3 else "approve"
            await bench.click(person, approval, verdict, nonce=str(number))
    if chance.random() < 0.7:
        await bench.settle()


async def _expect_sound(bench: Bench, targets: Targets, run_id: str) -> int:
    """Raise unless at most one version was performed, once, under an approval of its own; return how many were."""
    done = await bench.rows("SELECT document FROM receipts WHERE run_id = %s AND outcome = 'success'", run_id)
    filed = [row["document"] for row in done if row["document"]["step"] == "file"]
    performed = [call for call in targets.file.calls if call.run_id == run_id]
    assert len(performed) == len(filed) <= 1
    assert len(await bench.rows("SELECT 1 FROM approvals WHERE run_id = %s AND status = 'requested'", run_id)) <= 1
    for receipt in filed:
        await _expect_quorum(bench, receipt)
        assert performed[0].params["copies"] == receipt["request"]["copies"]
    return len(filed)


async def _expect_quorum(bench: Bench, receipt: Mapping[str, Any]) -> None:
    (approval,) = await bench.rows("SELECT * FROM approvals WHERE approval_id = %s", receipt["approval_id"])
    assert (approval["status"], approval["digest"]) == ("approved", receipt["fingerprint"])
    votes = await bench.rows(
        "SELECT person, verdict, groups FROM votes WHERE approval_id = %s", approval["approval_id"]
    )
    edits = await bench.rows("SELECT person FROM edits WHERE effect_id = %s", approval["effect_id"])
    people = {vote["person"] for vote in votes}
    assert {vote["verdict"] for vote in votes} == {"approve"}
    assert len(people) >= approval["requirement"]["quorum"]
    assert people.isdisjoint({"rita", *(edit["person"] for edit in edits)})


@pytest.mark.parametrize("seed", range(2))
async def test_at_most_one_version_is_performed_and_it_has_its_quorum(
    editing: Bench, targets: Targets, seed: int
) -> None:
    chance, performed = random.Random(seed), 0  # noqa: S311 - made again from the seed
    for number in range(15):
        await asked(editing, f"{seed}-{number}")
        (row,) = await editing.rows("SELECT run_id FROM runs WHERE trigger_ref = %s", f"{seed}-{number}")
        for place in range(10):
            await _act(editing, chance, row["run_id"], place)
        await editing.later(hours=9)
        performed += await _expect_sound(editing, targets, row["run_id"])
    assert performed, "nothing was performed: the sequences show nothing"
