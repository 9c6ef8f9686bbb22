"""Delegations: notices to both sides, and the modal of `/countersign delegate`.

Delegator and delegate are told of a delegation: when it is recorded, when it is used, and when it is ended.

`/countersign delegate`: who will be away says in a modal who votes for them; it is the act of the command.
"""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.services import listings
from runtime.store.operator_lists import Wanted
from sandbox.harness import SandboxUser, messages
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import delegate, undelegate
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE

BOTH = ["UANN", "USAM"]
ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "20:00"}


async def _told(bench: Bench, *kinds: str) -> list[tuple[str, str]]:
    """Return whom direct messages of these kinds went to, in order, and what they said."""
    await bench.settle()
    said = [one for one in bench.chat.said("direct_message") if one["said"]["kind"] in kinds]
    return sorted((one["user"], one["text"]) for one in said)


async def test_delegator_and_delegate_are_told_that_a_delegation_is_recorded(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    words = (
        "Omar recorded a delegation: Sam votes for Ann in compliance,"
        ' from 2026-01-05 09:00 UTC until 2026-01-12 09:00 UTC: "on leave"'
    )
    assert await _told(bench, "delegation_changed") == [(user, words) for user in BOTH]


async def test_delegator_and_delegate_are_told_that_a_delegation_is_ended(bench: Bench) -> None:
    done = await delegate(bench, "ann", "sam")
    await bench.settle()
    bench.chat.calls.clear()
    await undelegate(bench, done["delegation_id"])
    told = await _told(bench, "delegation_changed")
    assert [user for user, _ in told] == BOTH
    for _, text in told:
        assert text.startswith("Omar ended the delegation by which Sam votes for Ann in compliance")
        assert text.endswith(': "back early"')


async def test_delegator_and_delegate_are_told_each_time_that_a_delegation_is_used(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    assert (await bench.click("sam", await bench.approval_id())).counted
    told = await _told(bench, "delegate_voted")
    assert [user for user, _ in told] == BOTH
    assert {text for _, text in told} == {"Sam approved for Ann, by delegation: file of One filing (1)."}


async def test_who_votes_for_themselves_hears_of_no_delegation(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    assert (await bench.click("ben", await bench.approval_id())).counted
    assert await _told(bench, "delegate_voted") == []


@pytest.mark.parametrize("person", ["ann", "sam"])
async def test_who_has_quiet_hours_is_told_of_a_delegation_after_them(bench: Bench, person: str) -> None:
    said = json.dumps({"timezone": "UTC", "quiet_hours": [ALWAYS]})
    await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", said, person)
    await delegate(bench, "ann", "sam")
    others = [user for user in BOTH if user != f"U{person.upper()}"]
    assert [user for user, _ in await _told(bench, "delegation_changed")] == others
    await bench.later(hours=12)
    assert [user for user, _ in await _told(bench, "delegation_changed")] == BOTH


async def test_a_delegation_that_is_refused_tells_nobody(bench: Bench) -> None:
    assert (await delegate(bench, "ann", "ann"))["status"] == "refused"
    assert await _told(bench, "delegation_changed") == []


async def test_lists_of_runs_say_of_a_delegation_whose_it_is_and_what_became_of_it(bench: Bench) -> None:
    done = await delegate(bench, "ann", "sam")
    bench.clock.move(minutes=1)
    await undelegate(bench, done["delegation_id"])
    async with bench.engine.pool.connection() as conn:
        listed = await listings.list_runs(conn, TENANT, Wanted(limit=5))
    assert [(run["definition_name"], run["reference"] or run["trigger_ref"]) for run in listed] == [
        ("countersign-delegation", f"sam for ann: {act} ({done['delegation_id']})") for act in ("ended", "recorded")
    ]
    assert [run["submitted_by"] for run in listed] == ["omar", "omar"]


async def test_nobody_is_told_that_the_run_which_told_of_a_delegation_has_ended(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    assert await _told(bench, "run_ended") == []
    assert [row["status"] for row in await bench.rows("SELECT status FROM runs")] == ["succeeded"]


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _open(chat: Chat) -> SandboxUser:
    person = await chat.person("ann")
    assert (await person.command(CHANNEL, "/countersign delegate"))["ok"]
    await person.find_modal()
    return person


def _values(chat: Chat, **others: Any) -> dict[str, Any]:
    until = int((chat.bench.clock() + timedelta(days=3)).timestamp())
    return {"whom": "USAM", "until": str(until), "reason": "on leave", **others}


async def _said(person: SandboxUser, words: str) -> str:
    found = await person.wait_for(
        lambda state: [one for one in messages(state) if one.get("is_ephemeral") and words in json.dumps(one)]
    )
    return json.dumps(found[-1])


async def _delegations(chat: Chat) -> list[dict[str, Any]]:
    return await chat.bench.rows("SELECT * FROM delegations")


async def test_who_is_away_says_who_votes_for_them_and_it_counts(chat: Chat) -> None:
    ann = await _open(chat)
    assert (await ann.submit(_values(chat)))["ok"]
    assert "Sam votes for you" in await _said(ann, "Done")
    [row] = await _delegations(chat)
    assert (row["delegator"], row["delegate"], row["recorded_by"], row["groups"], row["reason"]) == (
        *("ann", "sam", "ann"),
        ["compliance"],
        "on leave",
    )
    approval = await chat.file()
    assert (await chat.bench.click("sam", approval)).counted
    [leaf] = await chat.bench.rows("SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'delegation.recorded'")
    assert leaf["leaf"]["actor"] == {"id": "ann", "kind": "person"}
    assert leaf["leaf"]["data"]["policy"]["decision_id"]


async def test_some_groups_from_a_later_moment(chat: Chat) -> None:
    await chat.bench.meddle("""UPDATE actors SET groups = '["compliance", "legal", "risk"]' WHERE actor_id = 'ann'""")
    ann = await _open(chat)
    since = int((chat.bench.clock() + timedelta(days=1)).timestamp())
    assert (await ann.submit(_values(chat, since=str(since), groups0=["0", "2"])))["ok"]
    await _said(ann, "Done")
    [row] = await _delegations(chat)
    assert (row["groups"], row["starts_at"] - chat.bench.clock()) == (["compliance", "risk"], timedelta(days=1))


@pytest.mark.parametrize(
    ("given", "where", "says"),
    [
        ({"whom": "UANN"}, "whom", "someone other than yourself"),
        ({"whom": "U0BOT"}, "whom", "not in Countersign"),
        ({"until": "1767600000"}, "until", "in the future"),
        ({"since": "1999999999"}, "until", "after the start"),
        ({"groups0": []}, "groups0", "required"),
        ({"reason": "  \u200b  .  "}, "reason", "visible characters"),
    ],
)
async def test_what_is_wrong_is_said_at_its_input_and_the_modal_stays(
    chat: Chat, given: dict[str, Any], where: str, says: str
) -> None:
    ann = await _open(chat)
    errors = (await ann.submit(_values(chat, **given)))["errors"]
    assert says in errors[where]
    assert list(errors) == [where]
    assert (await ann.see())["modal"] is not None
    assert await _delegations(chat) == []
    assert (await ann.submit(_values(chat, groups0=["0"], since="1767604000")))["ok"]
    await _said(ann, "Done")


DENYING = """
# METADATA
# title: Not this week
# description: Nobody hands on their votes in this test.
# custom:
#   short_name: operator.not_this_week
#   failure_msg: Not this week
deny contains {"code": "operator.not_this_week", "msg": "Not this week"} if input.act == "delegate"
"""


async def test_what_policy_denies_is_said_and_on_record(dsn: str, targets: Targets, tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    file = policies / "countersign/operator.rego"
    file.write_text(file.read_text(encoding="utf-8") + DENYING, encoding="utf-8")
    async with (
        start_opa(policies, tmp_path / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets) as chat,
    ):
        ann = await _open(chat)
        assert (await ann.submit(_values(chat)))["ok"]
        assert "Not this week" in await _said(ann, "Nothing was done")
        assert await _delegations(chat) == []
        [leaf] = await chat.bench.rows("SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'delegation.refused'")
        assert leaf["leaf"]["data"]["why"] == "denied by policy: Not this week"


async def test_slack_taking_ten_seconds_keeps_the_modal_open_and_records_nothing(chat: Chat) -> None:
    ann = await _open(chat)
    await chat.forgotten(ann)
    chat.faults.hold("users.info")
    errors = (await ann.submit(_values(chat)))["errors"]
    assert "Slack did not confirm who you are" in errors["whom"]
    chat.faults.lift("users.info")
    assert await _delegations(chat) == []
    assert (await ann.submit(_values(chat)))["ok"]
    await _said(ann, "Done")


async def test_a_wish_that_cannot_be_written_down_keeps_the_modal_open(chat: Chat) -> None:
    ann = await _open(chat)
    await chat.bench.meddle("ALTER TABLE notifications RENAME TO away")
    errors = (await ann.submit(_values(chat)))["errors"]
    await chat.bench.meddle("ALTER TABLE away RENAME TO notifications")
    assert "may not have been recorded" in errors["whom"]


async def test_groups_that_changed_since_it_was_opened_are_not_guessed(chat: Chat) -> None:
    ann = await _open(chat)
    await chat.bench.meddle("""UPDATE actors SET groups = '["legal"]' WHERE actor_id = 'ann'""")
    assert "have changed" in str((await ann.submit(_values(chat)))["errors"])
    assert await _delegations(chat) == []


async def test_who_is_in_no_group_or_not_in_the_directory_gets_no_modal(chat: Chat) -> None:
    await chat.bench.meddle("UPDATE actors SET groups = '[]' WHERE actor_id = 'ann'")
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE account = 'UBEN'")
    ann, ben = await chat.person("ann"), await chat.person("ben")
    assert (await ann.command(CHANNEL, "/countersign delegate"))["ok"]
    assert (await ben.command(CHANNEL, "/countersign delegate"))["ok"]
    await _said(ann, "You are in no group")
    await _said(ben, "directory has no person")
    refused = await chat.bench.rows("SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = 'command.refused'")
    assert [row["leaf"]["data"]["command"] for row in refused] == ["delegate"]


async def test_help_names_it(chat: Chat) -> None:
    ann = await chat.person("ann")
    await ann.command(CHANNEL, "/countersign help")
    assert "/countersign delegate" in await _said(ann, "Commands")


async def _confirms(person: SandboxUser, where: str) -> list[str]:
    """Return what the questions between a click and a vote say, on the card or in the modal."""
    state = await person.see()
    shown = state["modal"] if where == "modal" else [one for one in messages(state) if one.get("blocks")]
    return [line for line in _texts(shown) if line.count("This counts as")]


def _texts(shown: Any) -> list[str]:
    if isinstance(shown, dict):
        return [*_texts(list(shown.values())), *([shown["v"]] if isinstance(shown.get("v"), str) else [])]
    return [text for one in shown for text in _texts(one)] if isinstance(shown, list) else []


async def test_the_question_before_a_vote_says_in_whose_name_it_would_be(chat: Chat) -> None:
    await delegate(chat.bench, "ann", "sam")
    await chat.bench.review()
    sam, ben = await chat.person("sam"), await chat.person("ben")
    [on_card] = await _confirms(sam, "card")
    assert on_card.endswith("This counts as your signature, or: Sam for Ann.")
    card = await sam.find_card(lambda card: "countersign_show_all" in json.dumps(card))
    await sam.click(card, "countersign_show_all")
    await sam.find_modal()
    assert (await _confirms(sam, "modal"))[0].endswith("This counts as the signature of Ann.")
    await ben.click(card, "countersign_show_all")
    await ben.find_modal()
    assert (await _confirms(ben, "modal"))[0].endswith("This counts as your signature.")
    await sam.close_modal()
    await sam.click(card, "countersign_reject")
    assert "On behalf of" in json.dumps(await sam.find_modal())


async def test_a_card_of_people_for_whom_nobody_stands_in_says_nothing_of_it(chat: Chat) -> None:
    await delegate(chat.bench, "ann", "ben", starts=timedelta(hours=2))
    await chat.bench.review()
    [on_card] = await _confirms(await chat.person("ben"), "card")
    assert on_card.endswith("This counts as your signature.")


async def test_the_home_of_who_stands_in_says_for_whom_they_would_vote(chat: Chat) -> None:
    await delegate(chat.bench, "ann", "sam")
    await chat.bench.review()
    for name, signed in (("sam", "the signature of Ann."), ("ben", "your signature.")):
        home = await chat.home(await chat.person(name))
        assert [line.partition("This counts as ")[2] for line in _texts(home) if "This counts as" in line] == [signed]
