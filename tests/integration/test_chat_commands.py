"""`/countersign`, shortcuts and mentions.

`/countersign`: answers are for one person, show what that person may see, and come in time.

Shortcuts on messages and mentions: how people come who write in channels.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.listeners.forms import ASK_APPROVAL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser, messages
from tests.bench import PUBLIC_URL, TENANT
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.patience import MINUTE, until

HOSTILE = "<!channel> *bold* <https://evil.example|click> :tada: \u202e"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def asked(person: SandboxUser, line: str) -> str:
    """Give a command; return all of its answer, which only that person sees, as JSON."""
    before = {message["ts"] for message in messages(await person.see())}
    done = await person.command(CHANNEL, f"/countersign {line}")
    assert done["ok"], done
    (answer,) = [one for one in messages(await person.see()) if one["ts"] not in before]
    assert answer["is_ephemeral"]
    assert (answer["mentions"], answer["unfurls"]) == ([], [])
    assert not [one for one in answer["links"] if not one.startswith(f"{PUBLIC_URL}/")]
    return json.dumps(answer, ensure_ascii=False)


async def run_of(chat: Chat, approval_id: str) -> str:
    (row,) = await chat.bench.rows("SELECT run_id FROM approvals WHERE approval_id = %s", approval_id)
    return str(row["run_id"])


async def refusals(chat: Chat) -> list[dict[str, Any]]:
    query = "SELECT leaf->'data' AS data FROM tenant_leaves WHERE leaf->>'event' = 'command.refused' ORDER BY seq"
    return [row["data"] for row in await chat.bench.rows(query)]


async def test_pending_says_what_the_person_may_decide_and_nobody_else_hears_it(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, sam = await chat.person("ann"), await chat.person("sam")
    answer = await asked(ann, "pending")
    assert "1 request for you" in answer
    assert approval_id in answer
    assert "No requests are waiting for you" in await asked(sam, "pending")
    assert "1 request for you" not in json.dumps(messages(await sam.see()))


async def turn(person: SandboxUser, words: str, ts: str) -> dict[str, Any]:
    """Turn the list at `ts`; return what stands there then."""

    async def there() -> dict[str, Any]:
        (found,) = [one for one in messages(await person.see()) if one["ts"] == ts]
        return found

    async def is_turned() -> bool:
        return bool((await there())["blocks"] != before["blocks"])

    before = await there()
    assert f'"{words}"' in json.dumps(before)
    await person.click(before, "countersign_list_turn")
    await until(is_turned)
    after = await there()
    assert after["is_ephemeral"]
    return after


def ids_in(answer: dict[str, Any], prefix: str) -> list[str]:
    return list(dict.fromkeys(re.findall(rf"{prefix}_[0-9a-f]{{24}}", json.dumps(answer["blocks"]))))


async def test_lists_are_turned_in_their_place_until_their_end(chat: Chat) -> None:
    for number in range(12):
        await chat.file(str(number))
    pending = await asked(await chat.person("ann"), "pending")
    assert "12 requests for you" in pending
    assert "… 2 more" in pending
    for who, line, words, prefix in (
        ("ann", "pending", "Next", "apr"),
        ("rita", "mine", "Older", "run"),
        ("ann", "search halvorsen", "Older", "run"),
    ):
        person = await chat.person(who)
        first = json.loads(await asked(person, line))
        second = await turn(person, words, first["ts"])
        seen = [ids_in(first, prefix), ids_in(second, prefix)]
        assert [len(found) for found in seen] == [10, 2]
        assert len({*seen[0], *seen[1]}) == 12
        assert "countersign_list_turn" not in json.dumps(second), "it has come to its end"


async def test_whoever_has_left_turns_no_list(chat: Chat) -> None:
    for number in range(11):
        await chat.file(str(number))
    rita = await chat.person("rita")
    page = json.loads(await asked(rita, "mine"))
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'rita' RETURNING 1")
    page = await turn(rita, "Older", page["ts"])
    assert ids_in(page, "run") == []
    assert {one["command"] for one in await refusals(chat)} == {"mine"}


async def test_mine_lists_what_the_person_asked_for_and_nothing_else(chat: Chat) -> None:
    run_id = await run_of(chat, await chat.file("REF-7"))
    answer = await asked(await chat.person("rita"), "mine")
    assert run_id in answer
    assert "REF-7" in answer
    assert "not requested anything" in await asked(await chat.person("ann"), "mine")


@pytest.mark.parametrize("who", ["rita", "ann", "omar"])
async def test_requester_group_and_operators_see_a_run_and_its_request(chat: Chat, who: str) -> None:
    approval_id = await chat.file()
    run_id = await run_of(chat, approval_id)
    person = await chat.person(who)
    shown = await asked(person, f"show {run_id}")
    assert "bench-file v1" in shown
    assert "Rita" in shown, "people are called by their names"
    assert "Approval needed" in await asked(person, f"show {approval_id}")
    assert run_id in await asked(person, "search halvorsen")


async def test_whoever_is_not_concerned_sees_neither_run_nor_request_nor_rule(chat: Chat) -> None:
    approval_id = await chat.file()
    sam = await chat.person("sam")
    for line in (
        f"show {await run_of(chat, approval_id)}",
        f"show {approval_id}",
        f"why {approval_id}",
        "show no-such",
    ):
        assert "No re" in (answer := await asked(sam, line)) or "No run" in answer
        assert "bench" not in answer
    assert "No matching run that you may see" in await asked(sam, "search halvorsen")


async def test_another_group_that_joined_sees_what_it_may_decide(chat: Chat) -> None:
    approval_id = await chat.file()
    sue = await chat.person("sue")
    assert "No matching run that you may see" in await asked(sue, "search bench-file")
    await chat.bench.meddle(
        """UPDATE approvals SET joined = '["senior-compliance"]' WHERE approval_id = %s RETURNING 1""", approval_id
    )
    assert await run_of(chat, approval_id) in await asked(sue, "search bench-file")
    assert "Approval needed" in await asked(sue, f"show {approval_id}")


async def test_search_finds_by_reference_by_customer_and_by_runbook(chat: Chat) -> None:
    run_id = await run_of(chat, await chat.file("REF-100%"))
    ann = await chat.person("ann")
    for words in ("ref-100%", "Halvorsen Seefracht", "bench-FILE"):
        assert run_id in await asked(ann, f"search {words}")
    assert "No matching run that you may see" in await asked(ann, "search ref-1_0")
    assert "What are you looking for?" in await asked(ann, "search")


async def test_a_long_list_says_that_there_is_more(chat: Chat) -> None:
    for number in range(11):
        await chat.bench.start("bench.file", {"company": "Halvorsen", "text": "x"}, f"R{number}")
    rita = await chat.person("rita")
    for line in ("mine", "search halvorsen"):
        assert "Older ones follow" in await asked(rita, line)


async def test_why_gives_the_rule_in_its_own_words_and_what_it_requires(chat: Chat) -> None:
    approval_id = await chat.file()
    view = await chat.bench.desk.approval(approval_id)
    assert view
    answer = await asked(await chat.person("ann"), f"why {approval_id}")
    assert view.reasons
    for code, msg in view.reasons:
        assert code in answer
        assert msg in answer
    assert "2 people from compliance" in answer
    assert "Which one?" in await asked(await chat.person("ann"), "why")


@pytest.mark.parametrize("line", ["", "help", "HELP", "dance", "pendingg", "show"])
async def test_what_is_no_command_gets_help(chat: Chat, line: str) -> None:
    assert "/countersign" in await asked(await chat.person("ann"), line)


@pytest.mark.parametrize("command", ["show", "why", "search", "pending", "dance"])
async def test_hostile_words_are_data(chat: Chat, command: str) -> None:
    answer = await asked(await chat.person("ann"), f"{command} {HOSTILE}")
    assert "evil.example" not in answer


async def test_hostile_words_of_a_run_are_shown_and_mean_nothing(chat: Chat) -> None:
    await chat.bench.start("bench.file", {"company": HOSTILE, "text": HOSTILE}, HOSTILE)
    rita = await chat.person("rita")
    (row,) = await chat.bench.rows("SELECT run_id FROM runs")
    for line in ("mine", "search evil.example", f"show {row['run_id']}"):
        assert "⟨U+202E⟩" in await asked(rita, line)


async def test_who_is_not_in_the_directory_is_refused_in_private_and_on_record_once(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE account = 'USAM' RETURNING 1")
    sam = await chat.person("sam")
    for _ in range(2):
        assert "directory has no person" in await asked(sam, f"show {approval_id}")
    await asked(sam, f"dance {HOSTILE}")
    said = [(one["user"], one["command"], one["code"]) for one in await refusals(chat)]
    assert said == [("USAM", "show", "identity.unknown"), ("USAM", "help", "identity.unknown")]


async def test_an_account_that_is_two_people_is_refused(chat: Chat) -> None:
    await chat.bench.meddle(
        "INSERT INTO slack_accounts (tenant, team, account, actor_id)"
        " SELECT tenant, team, account, 'ben' FROM slack_accounts WHERE tenant = %s AND actor_id = 'ann' RETURNING 1",
        TENANT,
    )
    assert "two people" in await asked(await chat.person("ann"), "pending")
    assert [one["code"] for one in await refusals(chat)] == ["identity.ambiguous"]


async def test_while_slack_is_slow_a_command_is_answered_in_time_and_shows_nothing(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    others = ("chat.postEphemeral", "chat.postMessage", "views.open")
    for method in ("users.info", *others):
        chat.faults.hold(method)
    started = asyncio.get_running_loop().time()
    assert "did not confirm who you are" in await asked(ann, "pending")
    assert asyncio.get_running_loop().time() - started < 3
    chat.faults.lift("users.info")
    assert "1 request for you" in await asked(ann, "pending")
    chat.faults.lift(*others)


async def test_a_command_that_fails_here_says_so_and_shows_nothing(chat: Chat) -> None:
    await chat.file()
    await chat.bench.meddle("ALTER TABLE approvals RENAME TO elsewhere")
    try:
        assert "Something went wrong on our side" in await asked(await chat.person("ann"), "pending")
    finally:
        await chat.bench.meddle("ALTER TABLE elsewhere RENAME TO approvals")


async def test_metrics_are_shown_to_those_who_lead_and_to_nobody_else(chat: Chat) -> None:
    await chat.file()
    chat.bench.clock.move(minutes=1)
    answer = await asked(await chat.person("sue"), "metrics")
    assert "compliance, high tier: 1 asked: 1 open" in answer
    assert "Cat" in answer
    assert "Only group leads and operators" in await asked(await chat.person("ann"), "metrics")


@pytest.fixture
async def mention_chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        await running.bench.meddle(
            "UPDATE actors SET grants = '{\"triggers\": [\"bench.file\"]}' WHERE actor_id = 'rita'"
        )
        yield running


async def chosen(person: SandboxUser, text: str) -> None:
    """Ask for approval of a message that says this, and choose what for."""
    await person.say(CHANNEL, text)
    message = await person.find_card(lambda one: one["user"] == person.user_id)
    assert (await person.message_shortcut(message, ASK_APPROVAL))["ok"]
    await person.find_modal()
    await person.submit({"runbook": "bench-file"})


async def mention(chat: Chat, person: SandboxUser, line: str, thread: str = "") -> str:
    """Mention the app; return all of the answer, which only that person sees, as JSON."""
    told = chat.faults.calls["chat.postEphemeral"]
    await person.say(CHANNEL, f"@Countersign {line}", thread)
    await chat.faults.called("chat.postEphemeral", told + 1)
    answer = await person.find_card(lambda one: bool(one.get("is_ephemeral")))
    return json.dumps(answer, ensure_ascii=False)


async def test_a_form_begins_with_the_message_that_it_is_asked_of(mention_chat: Chat) -> None:
    rita = await mention_chat.person("rita")
    await chosen(rita, f"Please file Halvorsen {HOSTILE} & co")
    modal = await rita.find_modal()
    begun = [block["element"].get("initial_value") for block in modal["blocks"] if block["type"] == "input"]
    assert [one for one in begun if one] == [f"Please file Halvorsen {HOSTILE} & co"]


async def test_a_long_message_is_carried_as_far_as_there_is_room(mention_chat: Chat) -> None:
    rita = await mention_chat.person("rita")
    await chosen(rita, '"\\' * 5000)
    modal = await rita.find_modal()
    (begun,) = [
        block["element"]["initial_value"]
        for block in modal["blocks"]
        if block["type"] == "input" and "initial_value" in block["element"]
    ]
    assert ('"\\' * 5000).startswith(begun)
    assert len(begun) > 500


async def test_who_may_start_nothing_is_told_so_and_a_stranger_is_on_record(mention_chat: Chat) -> None:
    ann = await mention_chat.person("ann")
    await ann.say(CHANNEL, "look")
    message = await ann.find_card(lambda one: one["user"] == ann.user_id)
    assert (await ann.message_shortcut(message, ASK_APPROVAL))["ok"]
    await ann.find_card(lambda one: "You may not request anything by form" in one["text"])
    await mention_chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann'")
    assert (await ann.message_shortcut(message, ASK_APPROVAL))["ok"]
    await ann.find_card(lambda one: "directory" in one["text"])
    assert [one["code"] for one in await refusals(mention_chat)] == ["identity.unknown"]


async def test_a_mention_is_answered_like_the_command_to_whoever_asked_alone(mention_chat: Chat) -> None:
    approval_id = await mention_chat.file()
    ann, sam = await mention_chat.person("ann"), await mention_chat.person("sam")
    answer = await mention(mention_chat, ann, "pending")
    assert approval_id in answer
    assert not [one for one in messages(await sam.see()) if one.get("is_ephemeral")]
    assert "Commands; only you see the answers" in await mention(mention_chat, sam, "what is this?")


async def test_a_mention_in_a_thread_is_answered_there(mention_chat: Chat) -> None:
    ann = await mention_chat.person("ann")
    await ann.say(CHANNEL, "a question")
    parent = await ann.find_card(lambda one: one["text"] == "a question")
    assert json.loads(await mention(mention_chat, ann, "mine", parent["ts"]))["thread_ts"] == parent["ts"]


async def test_a_mention_that_wants_a_form_says_where_forms_open(mention_chat: Chat) -> None:
    assert "/countersign request" in await mention(mention_chat, await mention_chat.person("rita"), "request")


async def test_a_mention_is_acknowledged_while_slacks_api_takes_ten_seconds(mention_chat: Chat) -> None:
    ann = await mention_chat.person("ann")
    mention_chat.faults.hold("users.info")
    async with asyncio.timeout(3):
        assert (await ann.say(CHANNEL, "@Countersign pending"))["ok"]
    mention_chat.faults.lift("users.info")
    assert not (await ann.see())["warnings"]


async def test_a_message_shortcut_is_acknowledged_while_slacks_api_takes_ten_seconds(mention_chat: Chat) -> None:
    rita = await mention_chat.person("rita")
    await rita.say(CHANNEL, "look")
    message = await rita.find_card(lambda one: one["user"] == rita.user_id)
    mention_chat.faults.hold("users.info")
    async with asyncio.timeout(3):
        assert (await rita.message_shortcut(message, ASK_APPROVAL))["ok"]
    mention_chat.faults.lift("users.info")


async def test_a_strangers_mention_is_refused_and_on_record(mention_chat: Chat) -> None:
    await mention_chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann'")
    assert "directory" in await mention(mention_chat, await mention_chat.person("ann"), "pending")
    assert [one["code"] for one in await refusals(mention_chat)] == ["identity.unknown"]
