"""Thousands of hostile texts in every place that data reaches: nothing is forged, mentioned, unfurled or lost."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bot.connector import message_blocks
from bot.views.blocks import utc
from bot.views.card import card
from bot.views.command_replies import Reply, approval_reply, run_reply, search_reply, text_reply, why_reply
from bot.views.details import details_modals
from bot.views.edits import edit_modal
from bot.views.forms import FieldKind, FormField, chooser_modal, form_modal
from bot.views.links import card_link, request_unfurl, run_unfurl
from bot.views.messages import gathered_message
from bot.views.more_menu import ASK, reply_modal, written_act_modal
from bot.views.text import legible
from bot.views.vote_modals import break_glass_modal, reason_modal
from runtime.model.chat_message import RunName
from runtime.model.delivery import GatheredMessage, Gathering
from runtime.model.messages import RunEnded
from runtime.model.questions import Question
from runtime.model.search import EvidenceState, FoundRun
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, Declared, DeclaredField, EditsView, FieldView
from runtime.services.editing import EditForm
from runtime.services.requests import Form, Runs, RunView, StepLine
from runtime.services.step_repair import StepRepairView, StepsNeedingAttention
from sandbox.block_kit import check_message_blocks, check_view
from sandbox.mrkdwn import parse, walk
from tests.unit.bot_samples import KYC, NOW, everywhere, home_of, read, text_objects
from tests.unit.hostile_texts import hostile_texts
from tests.unit.test_bot_declared import hostile

COUNT, MANY, SOME = 5000, 1500, 250
SMALL = {"message", "answer"}
"""Surfaces of few blocks: they look at all the texts. Larger ones show texts by the same rules, and look at some."""

OURS = ("https://console.example/", "https://register.example/")
"""The addresses that our samples link to."""

PLAIN = replace(KYC, fields=())
"""An approval of which nothing is compared: that is the same for every text."""

Sent = tuple[str, list[dict[str, Any]]]
"""What Slack is given: the text that it notifies with, "" for a view, and all that has blocks."""


def of_card(view: ApprovalView) -> Sent:
    seen = card(view, now=NOW)
    check_message_blocks(seen.blocks)
    return seen.text, list(seen.blocks)


def of_views(kind: str, *views: dict[str, Any]) -> Sent:
    return "", [check_view(view, kind) for view in views]


def of_reply(reply: Reply) -> Sent:
    check_message_blocks(list(reply.blocks))
    return reply.text, list(reply.blocks)


def listed(text: str) -> Sent:
    row = FoundRun(
        run_id=text or "r",
        trigger_ref=text,
        reference=text,
        trigger_type=text,
        definition=text,
        definition_version=1,
        definition_digest="ab" * 32,
        status="failed_terminal",
        outcome=text,
        requested_by=text,
        requester_name=text,
        created_at=NOW,
        finished_at=None,
        state=EvidenceState.SEALING,
        sha256=None,
        size=None,
        location=None,
        stored_at=None,
        leaves=1,
        log_index=None,
        open_for=None,
        tries=0,
        next_try_at=None,
        error=text,
        waits_for=(text,),
    )
    return of_reply(search_reply(Runs([row], has_more=True), text))


def linked(view: ApprovalView) -> Sent:
    """What Slack shows under links of ours that were shared."""
    run = RunView(view.run_id, view.reference, view.run_title, view.target, view.target, view.requester, NOW, None, ())
    over = replace(view, status=ApprovalStatus.REJECTED, decided_at=NOW)
    card = card_link("https://console.example/", ("C1", "1.0"))
    blocks = [*request_unfurl(view, card, NOW), *request_unfurl(over, card, NOW), *run_unfurl(run, card, NOW)]
    check_message_blocks(blocks)
    return "", blocks


def form(text: str) -> Sent:
    one = Form(text or "f", 1, text or "t", text, text, {})
    kinds = [
        FormField(f"f{place}", kind, text or "l", text, is_required=False, options=(text, 1))
        for place, kind in enumerate(FieldKind)
    ]
    return of_views("modal", form_modal(one, kinds, None), chooser_modal([one], None))


def asking(text: str) -> tuple[ApprovalView, Question]:
    answer = {"by": "rita", "kind": "person", "name": text, "text": text, "at": "2026-03-02T09:00:00.000000Z"}
    asked = Question("qst_1", "ann", text, text, NOW, answer)
    return replace(PLAIN, questions=(asked, replace(asked, answer=None))), asked


def question(text: str) -> Sent:
    view, asked = asking(text)
    notified, blocks = of_card(view)
    views = [reply_modal(view, asked, None), written_act_modal(ASK, everywhere(text, 1), None, over=False)]
    return notified, [*blocks, *of_views("modal", *views)[1]]


def edit(text: str) -> Sent:
    schema = {"properties": {"note": {"type": "string", "description": text}}, "type": "object"}
    one = EditForm("apr_1", "5" * 16, text or "t", schema, {"note": text})
    made = EditsView((text,), (FieldView("note", "before", text),), ((text, text),))
    notified, blocks = of_card(replace(PLAIN, edited=made))
    return notified, [*blocks, *of_views("modal", edit_modal(one, one.title, "ab", None, over=False))[1]]


def message(text: str) -> Sent:
    """What is told in a message that names a moment, and stands in mrkdwn for that."""
    blocks = message_blocks(f"{text} until {utc(NOW)}", [NOW])
    check_message_blocks(blocks)
    return legible(text), blocks


def desk(text: str) -> Sent:
    held = StepRepairView(run_id="run_1", step="look", version=0, run_title=text, error=text, code="refused")
    return of_views("home", home_of(everywhere(text), held=StepsNeedingAttention(1, (held,))))


def run(text: str) -> Sent:
    view = RunView(text or "r", text, text, text, text, text, NOW, None, (StepLine(text, text, text),))
    return of_reply(run_reply(view))


def ended(text: str) -> Sent:
    run, succeeded = RunName(title="T", reference="1"), RunStatus.SUCCEEDED
    over = RunEnded(run=run, status=succeeded, failed=[], rejected=[], skipped=[], response=text)
    item = GatheredMessage(over.model_dump(mode="json"), None, asks=False, is_open=True)
    notified, blocks = gathered_message(Gathering("g1", "U1", "m1", None, (item,)), None)
    check_message_blocks(blocks)
    return notified, blocks


DECLARED: dict[str, Callable[[str], Sent]] = {
    "card": lambda text: of_card(replace(hostile(text), fields=())),
    "form": form,
    "message": message,
    "link": lambda text: linked(hostile(text)),
    "list": listed,
    "question": question,
    "edit": edit,
    "answer": lambda text: of_reply(text_reply(text)),
    "response": ended,
}
"""Where authors and people say what is shown."""

OTHERS: dict[str, Callable[[str], Sent]] = {
    "card": lambda text: of_card(everywhere(text, 2)),
    "show all": lambda text: of_views("modal", *details_modals(hostile(text)), *details_modals(everywhere(text, 2))),
    "questions": lambda text: of_views("modal", *details_modals(asking(text)[0])),
    "reason": lambda text: of_views("modal", reason_modal(everywhere(text, 2), VoteVerdict.REJECT, None)),
    "glass": lambda text: of_views("modal", break_glass_modal(everywhere(text, 2), None, left=2, over=False)),
    "home": desk,
    "message": message,
    "link": lambda text: linked(everywhere(text, 2)),
    "request": lambda text: of_reply(approval_reply(everywhere(text, 2), NOW)),
    "rule": lambda text: of_reply(why_reply(everywhere(text, 2))),
    "run": run,
}


def is_ours(node: dict[str, Any]) -> bool:
    return node["t"] in {"text", "bold", "code", "date"} or str(node.get("url", "")).startswith(OURS)


def faults(sent: Sent) -> Iterator[str]:
    """Yield whatever Slack would take for more than text."""
    notified, blocks = sent
    yield from (f"notified {node}" for node in walk(parse(notified, lambda _: None)) if node["t"] != "text")
    for one in text_objects(blocks):
        is_plain = one["type"] != "mrkdwn"
        is_more = one.get("emoji", False) if is_plain else one["verbatim"]  # a table's cell reads no emoji
        yield from faults_of(one["text"], is_plain=is_plain, is_more=is_more)


@cache  # most of a card is the same for every text
def faults_of(text: str, *, is_plain: bool, is_more: bool) -> Sequence[str]:
    """Return the faults of a text object; `is_more`: it reads emoji, or is verbatim."""
    if is_plain:
        return [text] if is_more or set(text) & set("<>") else []
    return [str(node) for node in walk(parse(text, lambda _: None, verbatim=is_more)) if not is_ours(node)]


@pytest.mark.parametrize("surface", DECLARED)
def test_no_hostile_text_is_more_than_text(surface: str) -> None:
    for text in hostile_texts(COUNT if surface in SMALL else SOME):
        assert [text, *faults(DECLARED[surface](text))] == [text]


@pytest.mark.parametrize("surface", OTHERS)
def test_no_hostile_text_is_more_than_text_where_all_that_is_known_is_shown(surface: str) -> None:
    for text in hostile_texts(SOME):
        assert [text, *faults(OTHERS[surface](text))] == [text]


def test_no_hostile_text_is_lost_or_changed_behind_show_all() -> None:
    """What a declared field says is read back from what is shown, character by character."""
    every = list(hostile_texts(MANY))
    for start in range(0, MANY, 50):
        texts = every[start : start + 50]
        fields = tuple(DeclaredField(f"Label {place}", text, "text") for place, text in enumerate(texts))
        view = replace(PLAIN, declared=Declared("Title", "", fields))
        words = [one["text"] for modal in details_modals(view) for one in text_objects(modal["blocks"])]
        for place, text in enumerate(texts):
            seen = words[words.index(f"Label {place}") + 1]
            assert read(seen) in (text, json.dumps(text, ensure_ascii=False))
