"""What people read of a bundle: it follows from the records alone, tells who did what, and is text and nothing else."""

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.reading.markdown import HIDDEN, code, lines, prose, quoted, visible, written
from evidence.reading.material import Material
from evidence.reading.summary import summary
from evidence.reading.timeline import timeline
from evidence.reading.words import duration, listed, moment
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from tests.unit.evidence_bends import members_of, resealed
from tests.unit.evidence_sample import Office, Story, story
from tests.unit.evidence_variants import looked

HOSTILE = [
    "`\n\n# Approved by everyone\n",
    "</code><script>alert(1)</script>",
    "[ok](https://evil.example) www.evil.example",
    "\u202edevorppa\u202c",
    "zero\u200bwidth",
    "```\nfence",
    "\\` | cell | **Boris Lind** approved",
    "\r\x1b[2J\x00",
    "\u2028line",
    "ok”, signed by “Boris Lind",
    "⟨U+202E⟩",
    "- item\n| a | b |\n",
    "_em_ ~~gone~~ &amp; $x$ @all #1",
    "",
    "   ",
]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def text_of(office: Office, told: Story, name: str = "summary.md") -> str:
    path = office.seal(told.dossier())
    verify(path, office.public)
    return members_of(path)[name].decode()


def spoken(words: str) -> Story:
    """Return the sample in which everybody says these words wherever people are free in theirs."""
    told = story()
    told.approvals["a-1"]["before"] = {words: words}
    for vote in told.approvals["a-1"]["votes"]:
        vote |= {"reason": f"because {words}", "person_name": words}
    return told


def test_the_summary_is_the_first_member_of_the_bundle(office: Office) -> None:
    assert next(iter(members_of(office.seal(story().dossier())))) == "summary.md"


def test_the_summary_tells_who_asked_signed_and_did_what(office: Office) -> None:
    page = text_of(office, story())
    for told in (
        "# kyc: succeeded\n",
        "- **Requested by:** “ada” via “intake-agent”\n",
        "- **Ended:** 31 Jan 2026, 09:09:00 UTC: succeeded\n",
        "- **About:** “DE/123”; “case-1”\n",
        "- 3 decisions: 2 allowed, 1 needed approval, 0 denied.\n",
        "“file report on DE/123”",
        "2 people of compliance and legal, a different person for each group, never eve, within 8 hours, each with",
        "  - Signed: **Ben** approved, 31 Jan 2026, 09:06:00 UTC: “checked”; ",
        "“checked”; meaning: Ben authorizes exactly this action, once\n",
        "  - Signed: **Cat** approved, 31 Jan 2026, 09:07:00 UTC: “checked”",
        "  - Result: approved on 31 Jan 2026, 09:07:00 UTC\n",
        "## Rejections and refusals\n\n- Nothing.\n",
        "- 31 Jan 2026, 09:09:00 UTC: file report on “DE/123”: **done**\n",
        '  - Response: “{"id":"42"}”\n',
        "## Undone\n\n- Nothing.\n",
    ):
        assert told in page


def test_the_summary_tells_what_was_looked_up_and_what_it_cost(office: Office) -> None:
    page = text_of(office, looked())
    assert "- 2 lookups, 1 answer\n" in page
    assert "- “openai” and “gpt-5”: 3 calls, 2436 input tokens: 0.00246 USD; 1 call with no cost reported" in page


def test_the_summary_tells_what_was_there_before(office: Office) -> None:
    told = story()
    told.approvals["a-1"]["before"] = {"owner": "nobody"}
    assert 'Shown: “owner”: “nobody” → “{"share":"\\[redacted:' in text_of(office, told)


def refused(told: Story) -> None:
    facts = {"approval_id": "a-1", "verdict": "approve", "code": "vote.requester", "step": "file", "minute": 6}
    told.events.insert(13, ("vote.refused", {**facts, "actor": "ada"}))


def foreign(told: Story) -> None:
    facts = {"approval_id": "a-1", "verdict": "reject", "code": "vote.new", "step": "file", "minute": 6}
    told.events.insert(13, ("vote.refused", {**facts, "actor": "slack:T0OTHER:U0EXT"}))


def denied(told: Story) -> None:
    told.decisions["d-2"] |= {"outcome": "deny"}
    told.decisions["d-2"]["answer"] |= {"outcome": "deny", "reasons": [{"code": "c", "msg": "Not in this channel"}]}


def rejected(told: Story) -> None:
    told.approvals["a-1"]["votes"][1] |= {"verdict": "reject", "reason": "too early"}
    told.events = [(name.replace("approval.approved", "approval.rejected"), data) for name, data in told.events]


def event(name: str, **data: Any) -> Callable[[Story], None]:
    return lambda told: told.events.insert(-2, (name, {"step": "file", "minute": 9, **data}))


STRANGER = "**Slack account U0EXT of team T0OTHER**"
REFUSED: dict[str, tuple[Callable[[Story], None], str]] = {
    "a vote of the requester": (
        refused,
        "**ada** wanted to approve “File a report”, which did not count: requested it, so someone else has to",
    ),
    "a vote of a stranger": (
        foreign,
        f"{STRANGER} wanted to reject “File a report”, which did not count: “vote.new”",
    ),
    "by policy": (denied, "**Policy** did not allow “post card on C01”: “Not in this channel”"),
    "by a person": (rejected, "**Cat** rejected “File a report”: “too early”"),
    "by nobody's answer": (
        event("approval.expired", approval_id="a-1"),
        "**Nobody** decided on “File a report” in time",
    ),
    "no answer": (event("wait.timed_out", type="external"), "**Nobody** answered in time for the step “file”"),
    "an answer that does not fit": (
        event("notification.refused", reason="no date", actor="portal"),
        "**portal** sent an answer for the step “file”, which did not count: “no date”",
    ),
    "a wish about a step": (
        event("notification.refused", code="act.denied", reason="denied by policy: no", actor="ann"),
        "**ann** requested a change of the step “file”; it was not done: “denied by policy: no”",
    ),
    "a wish about the run": (
        event("notification.refused", step=None, code="act.denied", reason="denied by policy: no", actor="ann"),
        "**ann** requested a change of the run; it was not done: “denied by policy: no”",
    ),
    "a stranger's wish": (
        event("notification.refused", code="identity.unknown", act="undo", actor="slack:T0OTHER:U0EXT"),
        f"{STRANGER} requested a change of the step “file”; it was not done: “is not in the directory”",
    ),
    "another action": (event("approval.voided"), "**The gate** refused the approval of another action for “file”"),
    "a run that is canceled": (
        event("run.cancel_requested", reason="twice", actor="omar"),
        "**omar** canceled the run: “twice”",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_summary_tells_what_was_refused(office: Office, name: str) -> None:
    bend, said = REFUSED[name]
    told = story()
    bend(told)
    page = members_of(office.seal(told.dossier()))["summary.md"].decode()
    assert said in page.split("## Rejections and refusals")[1].split("\n## ")[0]


def test_what_undid_something_is_told_as_undoing(office: Office) -> None:
    told = story()
    definition = canonical.loads(told.definition)
    definition["steps"].append({"id": "back", "verb": "register.withdraw", "when": None})
    told.definition = canonical.dumps(definition)
    told.receipts["r-5"] = told.receipts["r-3"] | {"receipt_id": "r-5", "step": "back", "operation": "withdraw_report"}
    told.events.insert(-3, ("receipt.written", {"receipt_id": "r-5", "step": "back", "minute": 9}))
    page = members_of(office.seal(told.dossier()))["summary.md"].decode()
    assert "## Undone\n\n- 31 Jan 2026, 09:09:00 UTC: withdraw report undid “file”\n" in page


def test_the_summary_is_bounded_however_much_there_is(office: Office) -> None:
    told = story()
    long = "*" * 10_000
    told.approvals["a-1"]["before"] = {f"field {number}": long for number in range(20)}
    told.approvals["a-1"]["purpose"] = long
    told.approvals["a-1"]["votes"] = [
        vote | {"reason": long, "person_name": long} for vote in told.approvals["a-1"]["votes"]
    ]
    for number in range(300):
        told.receipts[f"r-9{number}"] = told.receipts["r-3"] | {"receipt_id": f"r-9{number}", "target": long}
        told.approvals[f"a-9{number}"] = told.approvals["a-1"] | {"id": f"a-9{number}"}
    page = members_of(office.seal(told.dossier()))["summary.md"]
    assert len(page) < 200_000
    assert "- … and 289 more in `receipts`" in page.decode()
    assert "- … and 295 more in `approvals`" in page.decode()


def test_the_timeline_says_what_happened_to_whom_and_keeps_ids_apart(office: Office) -> None:
    rows = [line for line in text_of(office, story(), "timeline.md").splitlines() if re.match(r"\| \d", line)]
    assert rows[0].startswith(
        "| 1 | 09:00:00 | **ada** asked for “kyc”, version 3, about “case-1”, through “intake-agent” |"
    )
    told = [row.split(" | ")[2:] for row in rows]
    assert told[13] == ["**Ben** approved, on “File a report”: “checked”", "`a-1` `e-write` |"]
    assert told[15] == ["“File a report” is approved, with 2 votes", "`a-1` `e-write` |"]
    assert told[18] == ["“file report” on “DE/123”: done", "`r-3` `a-1` `e-write` |"]
    assert told[20][0] == "The run succeeded, after 1 write"
    assert not [what for what, ids in told if re.search(r"\b[aerdw]-[0-9w]", what)]


def test_each_leaf_has_a_line_with_its_number(office: Office) -> None:
    page = text_of(office, looked(), "timeline.md")
    numbers = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(looked().events) + 1)]


@pytest.mark.parametrize("name", ["summary.md", "timeline.md"])
@pytest.mark.parametrize("words", HOSTILE)
def test_data_cannot_write_lines_of_its_own(office: Office, words: str, name: str) -> None:
    sound, bent = (text_of(office, spoken(said), name).splitlines() for said in ("plain", words))
    assert len(bent) == len(sound)
    assert [line for line in bent if line.startswith("#")] == [line for line in sound if line.startswith("#")]
    assert [line.count(" | ") for line in bent] == [line.count(" | ") for line in sound]


@given(st.text(max_size=700))
@settings(deadline=None)
def test_prose_holds_nothing_that_could_be_markup(text: str) -> None:
    shown = re.sub(r"\\[\\`*\[\]<>&~|$#@_:.]", "", prose(text, 500))
    assert not re.search(r"[\\`*\[\]<>&~|$#@“”\n\r]|://|[Ww]{3}\.", shown)
    assert visible(shown.replace("⟨U+", "").replace("⟩", "")).count("⟨") == 0


@given(st.text(max_size=100))
@settings(deadline=None)
def test_a_code_span_holds_nothing_but_itself(text: str) -> None:
    span = code(text)
    assert span[0] == span[-1] == "`"
    assert not re.search(r"[`|\n\r]", span[1:-1])


def test_what_is_hidden_is_the_same_whatever_unicode_python_knows() -> None:
    """The list is fixed; what this Python knows to be a control, a blank or ignorable is in it."""
    listed_ = {chr(number) for first, last in HIDDEN for number in range(first, last + 1)}
    known = {
        chr(number)
        for number in range(0x110000)
        if unicodedata.category(chr(number)) in ("Cc", "Zl", "Zp", "Zs", "Co", "Cs")
    }
    assert known - listed_ == {" "}
    bidi = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    assert bidi | {"\u200b", "\ufeff", "\u00ad", "\u3164", "\u2800", "\ufe0f", "\U000e0041", "\uffff"} <= listed_
    assert all(visible(char) == f"⟨U+{ord(char):04X}⟩" for char in listed_)
    assert not listed_ & set("aé漢字😀₹-\u0627\u0301")


def test_a_cut_is_said_and_lines_stay_on_one_line() -> None:
    assert prose("x" * 501, 500) == f"{'x' * 500} … (1 more characters)"
    assert quoted("one\r\ntwo\nthree", 100) == "“one ↵ two ↵ three”"
    assert lines("one\r\n\ttwo\u202e") == "one\n    two⟨U+202E⟩"
    assert prose("file_report _x_", 100) == "file_report \\_x\\_"


def test_moments_and_durations_are_words() -> None:
    assert moment("2026-11-21T14:03:59.123456Z") == "21 Nov 2026, 14:03:59 UTC"
    assert [moment(text) for text in ("", "2026-13-01T00:00:00.000000Z", "today")] == ["", "", ""]
    assert [duration(text) for text in ("PT8H", "P7D", "P1DT30M", "P", "soon", f"P{'9' * 5000}D")][:5] == [
        *("8 hours", "7 days", "1 day and 30 minutes", "P", "soon"),
    ]
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"], "or")] == ["", "a", "a, b or c"]


MEMBERS = ["run.json", "definition.json", "audit.jsonl", "costs.json", "approvals/a-1.json", "decisions/00001-d-1.json"]


@given(
    st.dictionaries(st.sampled_from(MEMBERS), st.binary(max_size=60) | st.sampled_from([b"[]", b"null", b"{}", b"1"]))
)
@settings(deadline=None)
def test_whatever_members_hold_can_be_read(members: dict[str, bytes]) -> None:
    material = Material(members)
    assert summary(material)
    assert timeline(material)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_whatever_shape_a_record_has_it_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    office = Office.in_folder(tmp_path_factory.mktemp("office"))
    members = members_of(office.seal(looked().dossier()))
    name = data.draw(
        st.sampled_from([name for name in members if name.endswith(".json") and name != "statement.dsse.json"])
    )
    document = canonical.loads(members[name])
    holder: Any = document
    while isinstance(holder, dict | list) and holder:
        key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            holder[key] = data.draw(JSON)
            break
        holder = holder[key]
    material = Material(members | {name: canonical.dumps(document)})
    assert summary(material)
    assert timeline(material)


@pytest.mark.parametrize("change", [b"", b"# kyc: failed\n", None])
def test_a_summary_that_tells_another_story_is_named(office: Office, change: bytes | None) -> None:
    path = resealed(office, office.seal(story().dossier()), **{"summary.md": change})
    with pytest.raises(VerificationError) as raised:
        verify(path, office.public)
    assert (raised.value.rule, raised.value.member) == ("texts.summary", "summary.md")


def test_a_timeline_that_tells_another_story_is_named(office: Office) -> None:
    path = resealed(office, office.seal(story().dossier()), **{"timeline.md": b"# What happened, in its order\n"})
    with pytest.raises(VerificationError) as raised:
        verify(path, office.public)
    assert (raised.value.rule, raised.value.member) == ("texts.timeline", "timeline.md")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@settings(deadline=None, max_examples=40)
def test_whatever_people_say_the_texts_are_derived_again(tmp_path_factory: pytest.TempPathFactory, words: str) -> None:
    office = Office.in_folder(tmp_path_factory.mktemp("office"))
    assert verify(office.seal(spoken(words).dossier()), office.public).run_id == "run-1"


def test_an_answer_about_an_attempt_in_doubt_is_told_as_a_fact(office: Office) -> None:
    told = story()
    told.approvals["a-1"]["kind"] = "in_doubt"
    members = members_of(office.seal(told.dossier()))
    page, rows = members["summary.md"].decode(), members["timeline.md"].decode()
    assert "- **Did an attempt happen?**, 31 Jan 2026, 09:02:00 UTC" in page
    assert "Signed: **Ben** stated that it happened, 31 Jan 2026, 09:06:00 UTC: “checked”; " in page
    assert "“checked”; meaning: Ben states that it happened\n" in page
    assert "Result: settled: it happened on 31 Jan 2026, 09:07:00 UTC" in page
    assert "| **Ben** stated that it happened, on “File a report”: “checked” |" in rows
    assert "| “File a report” is settled: it happened, with 2 votes |" in rows


def test_an_event_without_a_sentence_of_its_own_is_told_with_its_step_and_its_reason(office: Office) -> None:
    told = story()
    event("effect.blocked", error="a *401*")(told)
    event("run.retry_requested", step=None, actor="omar", reason="mended")(told)
    rows = members_of(office.seal(told.dossier()))["timeline.md"].decode()
    assert "| Effect blocked for “file”: “a \\*401\\*” |" in rows
    assert "| Run retry requested, by **omar**: “mended” |" in rows


@pytest.mark.parametrize("value", [[[]] * 3, 2**60, {"a": [2**60]}])
def test_a_value_without_a_canonical_form_is_told_too(value: Any) -> None:
    deep: Any = value
    for _ in range(150):
        deep = [deep]
    assert written(deep).startswith("(")
    members = {"approvals/a.json": json.dumps({"id": "a", "cards": [deep], "before": {"x": deep}}).encode()}
    assert summary(Material(members))
