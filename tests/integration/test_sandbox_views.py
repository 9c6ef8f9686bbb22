"""Modals and App Homes: triggers that die, views that conflict, stacks that end."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.harness import EXAMPLE, HandClock, SandboxError, SandboxUser, served
from sandbox.server import create_app
from sandbox.workspace import load_workspace

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"
Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def modal(**members: Any) -> Json:
    return {"type": "modal", "title": plain("Title"), "blocks": [{"type": "divider"}], **members}


def asking(**element: Any) -> Json:
    reason = {"type": "plain_text_input", "action_id": "reason", **element}
    block = {"type": "input", "block_id": "why", "label": plain("Why"), "element": reason}
    return modal(submit=plain("Send"), blocks=[block])


class Desk:
    """An app over Socket Mode that keeps what it was sent and answers what the test says."""

    def __init__(self, url: str, clock: HandClock) -> None:
        self.web = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])
        self.socket = SocketModeClient(app_token=WORKSPACE.app.app_token, web_client=self.web)
        self.socket.socket_mode_request_listeners.append(self._receive)
        self.url = url
        self.clock = clock
        self.received: list[Json] = []
        self.reply: Json | None = None

    async def _receive(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.received.append(request.payload)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, self.reply))

    async def card(self) -> None:
        button = {"type": "button", "action_id": "go", "text": plain("Go")}
        await self.web.chat_postMessage(channel=ROOM, text="card", blocks=[{"type": "actions", "elements": [button]}])

    async def trigger(self, anna: SandboxUser) -> str:
        """Let Anna click the card and return the trigger_id that came."""
        await anna.click(await anna.find_card(lambda message: message["text"] == "card"), "go")
        trigger_id: str = self.received[-1]["trigger_id"]
        return trigger_id


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    clock = HandClock()
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as url:
        desk = Desk(url, clock)
        await desk.socket.connect()  # type: ignore[no-untyped-call]  # slack_sdk leaves it unannotated
        await desk.card()
        yield desk
        await desk.socket.close()  # type: ignore[no-untyped-call]  # slack_sdk leaves it unannotated


@pytest.fixture
async def anna(desk: Desk) -> AsyncIterator[SandboxUser]:
    async with SandboxUser(desk.url, "U0ANNA") as user:
        yield user


async def code(call: Awaitable[Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    error: str = caught.value.response["error"]
    return error


async def test_a_trigger_opens_one_view_within_three_seconds(desk: Desk, anna: SandboxUser) -> None:
    trigger_id = await desk.trigger(anna)
    desk.clock.advance(3)
    view = (await desk.web.views_open(trigger_id=trigger_id, view=modal()))["view"]
    assert (await anna.find_modal())["id"] == view["id"] == view["root_view_id"]
    assert await code(desk.web.views_open(trigger_id=trigger_id, view=modal())) == "exchanged_trigger_id"


async def test_a_trigger_is_dead_after_three_seconds(desk: Desk, anna: SandboxUser) -> None:
    trigger_id = await desk.trigger(anna)
    desk.clock.advance(3.001)
    assert await code(desk.web.views_open(trigger_id=trigger_id, view=modal())) == "expired_trigger_id"
    assert (await anna.see())["modal"] is None


async def test_a_trigger_that_was_never_given_is_invalid(desk: Desk) -> None:
    assert await code(desk.web.views_open(trigger_id="1.2.3", view=modal())) == "invalid_trigger_id"
    assert await code(desk.web.api_call("views.open", json={"view": modal()})) == "invalid_arguments"
    assert await code(desk.web.api_call("views.open", json={"trigger_id": "1.2.3"})) == "invalid_arguments"


@pytest.mark.parametrize(
    ("fits", "exceeds"),
    [
        (modal(title=plain("x" * 24)), modal(title=plain("x" * 25))),
        (modal(close=plain("x" * 24)), modal(close=plain("x" * 25))),
        (modal(private_metadata="x" * 3000), modal(private_metadata="x" * 3001)),
        (modal(callback_id="x" * 255), modal(callback_id="x" * 256)),
        (modal(blocks=[{"type": "divider"}] * 100), modal(blocks=[{"type": "divider"}] * 101)),
        (asking(initial_value="x" * 3000), asking(initial_value="x" * 3001)),
        (asking(max_length=3000), asking(max_length=3001)),
        (asking(), {**asking(), "submit": plain("")}),
        (asking(), {name: value for name, value in asking().items() if name != "submit"}),
    ],
)
async def test_a_view_at_the_limit_opens_and_one_beyond_is_refused(
    desk: Desk, anna: SandboxUser, fits: Json, exceeds: Json
) -> None:
    trigger_id = await desk.trigger(anna)
    with pytest.raises(SlackApiError) as caught:
        await desk.web.views_open(trigger_id=trigger_id, view=exceeds)
    assert caught.value.response["error"] == "invalid_arguments"
    assert "[json-pointer:/view" in caught.value.response["response_metadata"]["messages"][0]
    assert (await desk.web.views_open(trigger_id=trigger_id, view=fits))["ok"] is True


async def test_a_view_of_more_than_250_kilobytes_is_refused(desk: Desk, anna: SandboxUser) -> None:
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3000}}
    heavy = modal(blocks=[section] * 84)
    assert await code(desk.web.views_open(trigger_id=await desk.trigger(anna), view=heavy)) == "view_too_large"


async def test_an_update_with_an_old_hash_conflicts(desk: Desk, anna: SandboxUser) -> None:
    opened = (await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal()))["view"]
    newer = (await desk.web.views_update(view_id=opened["id"], hash=opened["hash"], view=modal()))["view"]
    assert newer["id"] == opened["id"]
    assert newer["hash"] != opened["hash"]
    stale = desk.web.views_update(view_id=opened["id"], hash=opened["hash"], view=modal())
    assert await code(stale) == "hash_conflict"


async def test_a_view_is_updated_by_its_external_id_while_it_is_open(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(external_id="mine"))
    view = modal(external_id="mine", title=plain("New"))
    await desk.web.views_update(external_id="mine", view=view)
    assert (await anna.see())["modal"]["title"]["text"] == "New"
    await anna.close_modal()
    assert await code(desk.web.views_update(external_id="mine", view=view)) == "not_found"
    assert await code(desk.web.api_call("views.update", json={"view": view})) == "invalid_arguments"


async def test_an_external_id_belongs_to_one_view(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(external_id="mine"))
    async with SandboxUser(desk.url, "U0BORIS") as boris:
        second = desk.web.views_open(trigger_id=await desk.trigger(boris), view=modal(external_id="mine"))
        assert await code(second) == "duplicate_external_id"


async def test_views_stack_three_high_and_close_one_by_one(desk: Desk, anna: SandboxUser) -> None:
    first = (await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal()))["view"]
    for _ in range(2):
        top = (await desk.web.views_push(trigger_id=await desk.trigger(anna), view=modal()))["view"]
    assert top["root_view_id"] == first["id"]
    fourth = desk.web.views_push(trigger_id=await desk.trigger(anna), view=modal())
    assert await code(fourth) == "push_limit_reached"
    await anna.close_modal()
    assert (await anna.see())["modal"]["id"] == top["previous_view_id"]


async def test_a_submission_carries_the_values_and_closes_the_modal(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=asking())
    assert (await anna.submit({"why/reason": "not the owner"}))["ok"] is True
    payload = desk.received[-1]
    assert payload["type"] == "view_submission"
    entered = payload["view"]["state"]["values"]
    assert entered == {"why": {"reason": {"type": "plain_text_input", "value": "not the owner"}}}
    assert (await anna.see())["modal"] is None


@pytest.mark.parametrize(
    ("element", "value", "fault"),
    [
        ({}, "", "Please complete this required field."),
        ({"min_length": 5}, "four", "Must be at least 5 characters."),
        ({"max_length": 5}, "sixsix", "Must be at most 5 characters."),
    ],
)
async def test_slack_checks_inputs_before_it_asks_the_app(
    desk: Desk, anna: SandboxUser, element: Json, value: str, fault: str
) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=asking(**element))
    asked = len(desk.received)
    assert (await anna.submit({"reason": value}))["errors"] == {"why": fault}
    assert len(desk.received) == asked
    assert (await anna.see())["modal"]["errors"] == {"why": fault}


async def test_the_apps_errors_stand_under_the_inputs(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=asking())
    desk.reply = {"response_action": "errors", "errors": {"why": "Say more."}}
    assert (await anna.submit({"reason": "no"}))["errors"] == {"why": "Say more."}
    desk.reply = None
    assert (await anna.submit({"reason": "because"}))["ok"] is True


async def test_a_submission_may_update_push_or_clear(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=asking())
    for action, title in (("update", "Second"), ("push", "Third")):
        desk.reply = {"response_action": action, "view": {**asking(), "title": plain(title)}}
        assert (await anna.submit({"reason": "x"}))["ok"]
        assert (await anna.see())["modal"]["title"]["text"] == title
    desk.reply = {"response_action": "clear"}
    await anna.submit({"reason": "x"})
    assert (await anna.see())["modal"] is None


async def test_an_answer_that_cannot_be_shown_is_a_warning(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=asking())
    desk.reply = {"response_action": "update", "view": modal(title=plain("x" * 25))}
    assert (await anna.submit({"reason": "x"}))["ok"] is False
    assert (await anna.see())["warnings"][-1]["code"] == "invalid_arguments"


async def test_the_app_hears_of_a_closed_view_only_if_it_wants_to(desk: Desk, anna: SandboxUser) -> None:
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal())
    heard = len(desk.received)
    await anna.close_modal()
    assert len(desk.received) == heard
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(notify_on_close=True))
    await anna.close_modal()
    assert (desk.received[-1]["type"], desk.received[-1]["is_cleared"]) == ("view_closed", False)


async def test_choices_are_reported_as_options(desk: Desk, anna: SandboxUser) -> None:
    options = [{"text": {**plain(word), "emoji": True}, "value": word} for word in ("one", "two")]
    kinds = ("radio_buttons", "static_select", "checkboxes")
    blocks = [
        {
            "type": "input",
            "block_id": kind,
            "label": plain(kind),
            "element": {"type": kind, "action_id": "a", "options": options},
        }
        for kind in kinds
    ]
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(submit=plain("Send"), blocks=blocks))
    with pytest.raises(SandboxError, match="offers no option 'three'"):
        await anna.submit({"radio_buttons/a": "three"})
    with pytest.raises(SandboxError, match="no input 'colour'"):
        await anna.submit({"colour": "red"})
    await anna.submit({"radio_buttons/a": "one", "static_select/a": "two", "checkboxes/a": ["one", "two"]})
    values = desk.received[-1]["view"]["state"]["values"]
    assert values["radio_buttons"]["a"]["selected_option"] == options[0]
    assert values["static_select"]["a"]["selected_option"] == options[1]
    assert values["checkboxes"]["a"]["selected_options"] == options


async def test_a_menu_reports_what_was_chosen_and_is_no_input(desk: Desk, anna: SandboxUser) -> None:
    options = [{"text": {**plain(word), "emoji": True}, "value": word} for word in ("one", "two")]
    menu = {"type": "overflow", "action_id": "more", "options": options}
    place = {"type": "section", "text": plain("Anything else?"), "accessory": menu}
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(submit=plain("Send"), blocks=[place]))
    with pytest.raises(SandboxError, match="offers no option 'three'"):
        await anna.click_view("modal", "more", chosen="three")
    await anna.click_view("modal", "more", chosen="two")
    assert desk.received[-1]["actions"][0]["selected_option"] == options[1]
    await anna.submit({})
    assert desk.received[-1]["view"]["state"]["values"] == {}


async def test_a_person_is_chosen_by_their_id(desk: Desk, anna: SandboxUser) -> None:
    element = {"type": "users_select", "action_id": "who"}
    block = {"type": "input", "block_id": "who", "label": plain("Who?"), "element": element}
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(submit=plain("Send"), blocks=[block]))
    assert "required" in str((await anna.submit({}))["errors"])
    with pytest.raises(SandboxError, match="takes the id of a user"):
        await anna.submit({"who": "boris"})
    await anna.submit({"who": "U0BORIS"})
    values = desk.received[-1]["view"]["state"]["values"]
    assert values["who"]["who"] == {"type": "users_select", "selected_user": "U0BORIS"}


async def test_a_home_is_published_for_one_person_and_guarded_by_its_hash(desk: Desk, anna: SandboxUser) -> None:
    assert (await anna.open_home())["ok"] is True
    event = desk.received[-1]["event"]
    assert (event["type"], event["user"], event["tab"]) == ("app_home_opened", "U0ANNA", "home")
    button = {"type": "button", "action_id": "open", "text": plain("Open"), "value": "a1"}
    home = {"type": "home", "blocks": [{"type": "actions", "block_id": "b", "elements": [button]}]}
    first = (await desk.web.views_publish(user_id="U0ANNA", view=home))["view"]
    second = (await desk.web.views_publish(user_id="U0ANNA", view=home, hash=first["hash"]))["view"]
    assert second["id"] == first["id"]
    assert await code(desk.web.views_publish(user_id="U0ANNA", view=home, hash=first["hash"])) == "hash_conflict"
    assert await code(desk.web.views_publish(user_id="U0FAR", view=home)) == "user_not_found"
    await anna.click_view("home", "open")
    payload = desk.received[-1]
    assert payload["container"] == {"type": "view", "view_id": first["id"]}
    assert payload["actions"][0]["value"] == "a1"
    assert not payload.keys() & {"channel", "message", "response_url"}


@pytest.mark.parametrize(
    ("kind", "entered", "state"),
    [
        ("datepicker", "2026-03-02", {"type": "datepicker", "selected_date": "2026-03-02"}),
        ("datetimepicker", "1772445600", {"type": "datetimepicker", "selected_date_time": 1772445600}),
    ],
)
async def test_dates_and_moments_are_chosen_as_slack_reports_them(
    desk: Desk, anna: SandboxUser, kind: str, entered: str, state: Json
) -> None:
    block = {
        "type": "input",
        "block_id": "when",
        "label": plain("When"),
        "element": {"type": kind, "action_id": "when"},
    }
    await desk.web.views_open(trigger_id=await desk.trigger(anna), view=modal(submit=plain("Send"), blocks=[block]))
    with pytest.raises(SandboxError, match="when takes a"):
        await anna.submit({"when": "yesterday"})
    assert (await anna.submit({}))["errors"] == {"when": "Please complete this required field."}
    assert (await anna.submit({"when": entered}))["ok"]
    assert desk.received[-1]["view"]["state"]["values"] == {"when": {"when": state}}
