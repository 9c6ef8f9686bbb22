"""Approvals to render, and a reader that gets values back from what is shown."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.views.home import HomeContent, home
from bot.views.home_state import HomeState
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.search import Page, PageEdge
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, FieldView, VoteView
from runtime.services.home import Choices, Entry, Waiting
from runtime.services.step_repair import StepsNeedingAttention

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NO_STEP_WAITS = StepsNeedingAttention(0, ())
FIRST = HomeState()

KYC = ApprovalView(
    approval_id="apr-1",
    kind=AskKind.EFFECT,
    status=ApprovalStatus.REQUESTED,
    revision=1,
    stamp="5" * 16,
    tenant="meridian",
    run_id="run-1",
    run_title="Onboarding of Halden Shipping",
    step="file",
    connector="register",
    operation="register::file_ubo_report",
    target="LEI 5493001KJTIIGC8Y1R12",
    fields=(
        FieldView("owners", ["Ann"], ["Ann", "Bo"]),
        FieldView("share", 25, 51),
        FieldView("note", None, "New owner"),
    ),
    tier="high",
    reversible_by=None,
    digest="ab" * 32,
    requester="Carla Mota",
    submitted_by="kyc-agent",
    purpose="The client asked for an account",
    reasons=(("writes.high_tier", "High-tier writes need two signatures"),),
    quorum=2,
    groups=("compliance",),
    all_groups=False,
    reason_required=False,
    asked=(),
    votes=(),
    requested_at=NOW,
    expires_at=NOW + timedelta(hours=8),
    escalated=False,
    result=None,
    shortfall="",
    links=(("Open in the console", "https://console.example/runs/run-1"),),
    mocked=False,
)

ANNA = VoteView("Anna Berg", VoteVerdict.APPROVE, "Checked the register", NOW)
BORIS = VoteView("Boris Lind", VoteVerdict.REJECT, "Wrong owner", NOW)

HOSTILE = (
    "<!channel>",
    "<@U0ANNA> <#C0APPROVALS> <!subteam^S1>",
    "<https://evil.example|ok>",
    "https://evil.example/",
    "*bold* _italic_ ~gone~ `code` ```pre```",
    ":white_check_mark: :rotating_light:",
    "> quoted\n&gt; twice",
    "&lt;!here&gt; &amp;amp;",
    "\u202eevorppa\u202c \u2066\u2069",
    "a\u200bb\u200dc\ufeffd\u00ade\u3164f",
    "x\x00\x1b[31m\r\n\ty",
    "⟨U+202E⟩",
    "\n\n\n\n\nApproved by Anna",
    " " * 400 + "hidden",
    '"',
    "null",
    "",
    "Ω" * 10_000,
    "😀" * 10_000,
    "&" * 10_000,
    "\n" * 10_000,
    "\u202e" * 10_000,
)


def everywhere(text: str, count: int = 6) -> ApprovalView:
    """Return an approval with the text in every place that data can reach."""
    return replace(
        KYC,
        run_id=text or "r",
        run_title=text,
        step=text,
        connector=text,
        operation=text,
        target=text,
        fields=(
            *(FieldView(text, [text] if n % 2 else None, text) for n in range(count)),
            FieldView(text, None, [{text: text, "share": text}, {text: 1, "share": None}]),
            FieldView(text, {"old": {text: [text]}, "stays": text}, {"new": {text: [text, "x"]}, "stays": text}),
        ),
        tier=text,
        reversible_by=text,
        digest=text or "d",
        requester=text,
        submitted_by=text,
        purpose=text,
        reasons=tuple((text, text) for _ in range(count)),
        groups=(text, text),
        votes=tuple(VoteView(text, VoteVerdict.APPROVE, text, NOW, text) for _ in range(count)),
        result=Result(ResultCode.NOT_PERFORMED, (text,)),
        links=((text, "https://console.example/"),),
    )


def text_objects(value: Any) -> list[dict[str, Any]]:
    """Return every text object inside, in order."""
    if isinstance(value, list):
        return [one for member in value for one in text_objects(member)]
    if not isinstance(value, dict):
        return []
    if value.get("type") in ("plain_text", "mrkdwn", "raw_text"):
        return [value]
    return [one for member in value.values() for one in text_objects(member)]


def read(shown: str) -> str:
    """Read the original back from what is shown."""
    bare = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda match: chr(int(match[1], 16)), bare)


def text_in(shown: str) -> str:
    """Read a text back that stands alone: in quotation marks, it is JSON."""
    text = read(shown)
    return str(json.loads(text)) if text.startswith('"') else text


def read_cell(cell: dict[str, Any]) -> Any:
    """Read back what stands alone in a cell: what is no text is in bold."""
    if cell["type"] == "plain_text":
        return text_in(cell["text"])
    word = cell["text"].strip("*")
    named: dict[str, Any] = {"none": None, "yes": True, "no": False, "empty": "", "no entries": [], "nothing": {}}
    return named[word] if word in named else word if word == "not set" else json.loads(word)


def value_of(text: str) -> Any:
    """Read the value back from its rendering."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def home_of(
    view: ApprovalView,
    count: int = 1,
    total: int | None = None,
    held: StepsNeedingAttention = NO_STEP_WAITS,
    card: tuple[str, str] | None = None,
    state: HomeState = FIRST,
) -> dict[str, Any]:
    """Return a Home of so many requests like this one, at an address of Slack's."""
    entries = [Entry(replace(view, approval_id=f"{view.approval_id}-{one}"), card) for one in range(count)]
    edge = PageEdge(NOW, view.approval_id, back=True)
    page = Page(entries, has_before=False, has_after=total is not None, first=edge, last=replace(edge, back=False))
    choices = Choices([view.run_title[:150]], list(view.groups))
    found = Waiting(count if total is None else total, page)
    return home(HomeContent(state, found, choices, held, "https://s.example/"), now=NOW)


def shown(value: Any) -> str:
    return "\n".join(read(one["text"]) for one in text_objects(value))
