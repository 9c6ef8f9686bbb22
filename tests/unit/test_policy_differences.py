"""What another policy changes about a decision, sorted by how bad that is, and what a report tells of it."""

import asyncio
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countersign.no_network import NetworkError, no_network
from policy.answer import parse_answer
from policy.backtest.judging import JudgedDecision, RecordedDecision, judge, question_of
from policy.backtest.report import html_report, json_report, markdown_report
from policy.backtest.summary import EXAMPLES, MOST_GROUPS, Asked, GroupBy, Summary, summarize
from policy.contract import Answer
from policy.differences import DifferenceClass, differences
from policy.vetting import sample_question

GLASS = {
    "groups": ["duty"],
    "at_most": 2,
    "within": "P30D",
    "tell": ["security"],
    "review_by": ["audit"],
    "review_within": "P3D",
}
TIMES: dict[str, Any] = {
    "not_before": "2026-02-01T00:00:00Z",
    "between": [
        {"days": ["mon"], "from": "09:00", "until": "17:00"},
        {"days": ["tue"], "from": "09:00", "until": "17:00"},
    ],
    "time_zone": "Europe/Oslo",
    "within": "P5D",
}
REQUIREMENT = {
    "quorum": 2,
    "groups": ["compliance", "legal"],
    "all_groups": False,
    "exclude": ["rita", "sam"],
    "expires_in": "PT8H",
    "reason_required": True,
    "escalate_to": [{"after": "PT2H", "to": ["leads"]}, {"after": "PT4H", "to": ["board"]}],
    "break_glass": GLASS,
    "sign_with": "passkey",
    "pause_on_question": "PT4H",
    "execute": TIMES,
}
REASON = {"code": "writes.high_tier", "msg": "High-tier writes need signatures"}
DENIED: dict[str, Any] = {
    "outcome": "deny",
    "tier": "high",
    "requirement": None,
    "reasons": [REASON],
    "obligations": [],
}
ASKED = {**DENIED, "outcome": "needs_approval", "requirement": REQUIREMENT}
ALLOWED = {**DENIED, "outcome": "allow", "reasons": []}


def _custom(name: str) -> dict[str, Any]:
    return {"type": "custom", "id": name, "name": name}


HIDDEN, SAID = {**REASON, "msg": "[redacted] asked"}, {**REASON, "msg": "Ann asked"}

WEAKER_AND_STRICTER: Mapping[str, list[tuple[Any, Any, str, str]]] = {
    # a member of the requirement: two values of it, what the step from the first to the second is, and the step back
    "quorum": [(3, 2, "fewer-signatures", "stricter"), (2, 1, "fewer-signatures", "stricter")],
    "groups": [
        (["compliance", "legal"], ["compliance", "sales"], "other-people", "other-people"),
        (["compliance"], ["compliance", "sales"], "other-people", "stricter"),
    ],
    "exclude": [
        (["rita", "sam"], ["rita"], "weaker-terms", "stricter"),
        (["rita", "sam"], ["rita", "tom"], "weaker-terms", "weaker-terms"),
    ],
    "expires_in": [("PT8H", "P1D", "weaker-terms", "stricter"), ("PT8H", "PT480M", "unchanged", "unchanged")],
    "reason_required": [(True, False, "weaker-terms", "stricter")],
    "escalate_to": [
        ([], [{"after": "PT2H", "to": ["leads"]}], "other-people", "stricter"),
        ([{"after": "PT2H", "to": ["leads"]}], [{"after": "PT1H", "to": ["leads"]}], "weaker-terms", "stricter"),
        ([{"after": "PT2H", "to": ["leads"]}], [{"after": "PT1H", "to": ["board"]}], "other-people", "other-people"),
    ],
    "break_glass": [
        (None, GLASS, "fewer-signatures", "stricter"),
        (GLASS, {**GLASS, "groups": ["duty", "anybody"]}, "other-people", "stricter"),
        (GLASS, {**GLASS, "at_most": 3}, "weaker-terms", "stricter"),
        (GLASS, {**GLASS, "within": "P1D"}, "weaker-terms", "stricter"),
        (GLASS, {**GLASS, "tell": []}, "weaker-terms", "stricter"),
        (GLASS, {**GLASS, "tell": ["sales"]}, "weaker-terms", "weaker-terms"),
        (GLASS, {**GLASS, "review_by": ["audit", "duty"]}, "weaker-terms", "stricter"),
        (GLASS, {**GLASS, "review_within": "P9D"}, "weaker-terms", "stricter"),
    ],
    "sign_with": [("passkey", None, "weaker-terms", "stricter")],
    "pause_on_question": [(None, "PT1H", "weaker-terms", "stricter"), ("PT1H", "PT2H", "weaker-terms", "stricter")],
    "editors_may_sign": [(False, True, "weaker-terms", "stricter")],
    "execute": [
        (TIMES, None, "weaker-terms", "stricter"),
        (TIMES, {**TIMES, "within": "P6D"}, "weaker-terms", "stricter"),
        (TIMES, {**TIMES, "not_before": "2026-01-01T00:00:00Z"}, "weaker-terms", "stricter"),
        ({**TIMES, "between": TIMES["between"][:1]}, TIMES, "weaker-terms", "stricter"),
        (TIMES, {**TIMES, "time_zone": "Europe/Rome"}, "weaker-terms", "weaker-terms"),
        (TIMES, {"within": "P5D", "not_before": TIMES["not_before"]}, "weaker-terms", "stricter"),
    ],
}
STEPS = [
    (member, *step)
    for member, values in WEAKER_AND_STRICTER.items()
    for before, after, there, back in values
    for step in ((before, after, there), (after, before, back))
]


def answer(base: Mapping[str, Any] = ASKED, **changes: Any) -> Answer:
    """Return an answer with members changed; those of the requirement have no name of a member of the answer."""
    own = {name: value for name, value in changes.items() if name in base}
    requirement = {name: value for name, value in changes.items() if name not in base}
    changed = {**base, **own}
    if changed["requirement"]:
        members = {**REQUIREMENT, **requirement}
        changed["requirement"] = {name: value for name, value in members.items() if value is not None}
    return parse_answer(changed, "answer")


def kind(was: Answer, now: Answer) -> str:
    found = differences(was, now)
    return str(found[0].kind) if found else "unchanged"


@pytest.mark.parametrize(("member", "before", "after", "expected"), STEPS)
def test_a_change_of_one_term_is_sorted_by_what_it_gives_away(
    member: str, before: Any, after: Any, expected: str
) -> None:
    found = differences(answer(**{member: before}), answer(**{member: after}))
    assert [(one.kind, one.member) for one in found] == (
        [] if expected == "unchanged" else [(expected, f"requirement.{member}")]
    )


ALL_OF = {"all_groups": True, "groups": ["compliance", "legal", "board"]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ALL_OF, {**ALL_OF, "all_groups": False}, "fewer-signatures"),
        ({**ALL_OF, "quorum": 3}, {**ALL_OF, "quorum": 3, "all_groups": False}, "other-people"),
        ({**ALL_OF, "all_groups": False}, ALL_OF, "stricter"),
        (ALL_OF, {**ALL_OF, "groups": ["compliance", "legal"]}, "fewer-signatures"),
        ({**ALL_OF, "quorum": 3}, {**ALL_OF, "quorum": 3, "groups": ["compliance", "legal"]}, "other-people"),
        (ALL_OF, {**ALL_OF, "groups": ["compliance", "legal", "sales"]}, "other-people"),
        (ALL_OF, {**ALL_OF, "groups": [*ALL_OF["groups"], "sales"]}, "stricter"),  # type: ignore[misc]
        (ALL_OF, {**ALL_OF, "groups": ["board", "legal", "compliance"]}, "unchanged"),
    ],
)
def test_where_each_group_signs_a_group_less_is_a_signature_less(
    before: dict[str, Any], after: dict[str, Any], expected: str
) -> None:
    assert kind(answer(**before), answer(**after)) == expected


OUTCOMES = {
    (0, 0): "unchanged",
    (0, 1): "deny-to-approval",
    (0, 2): "deny-to-allow",
    (1, 0): "stricter",
    (1, 2): "approval-to-allow",
    (2, 0): "stricter",
    (2, 1): "stricter",
}


@pytest.mark.parametrize(("which", "expected"), OUTCOMES.items())
def test_what_is_done_that_was_not_is_worst(which: tuple[int, int], expected: str) -> None:
    was, now = ((DENIED, ASKED, ALLOWED)[place] for place in which)
    assert kind(answer(was), answer(now)) == expected


OTHERS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    (ASKED, {"tier": "high"}, {"tier": "low"}, "weaker-terms"),
    (ASKED, {"tier": "low"}, {"tier": "high"}, "stricter"),
    (DENIED, {"tier": "high"}, {"tier": "low"}, "reasons-only"),
    (ALLOWED, {"obligations": []}, {"obligations": [_custom("tell")]}, "other-obligations"),
    (
        ALLOWED,
        {"obligations": [_custom("a"), _custom("b")]},
        {"obligations": [_custom("b"), _custom("a")]},
        "unchanged",
    ),
    (DENIED, {"reasons": []}, {"reasons": [REASON]}, "reasons-only"),
    (DENIED, {"reasons": [REASON]}, {"reasons": [SAID]}, "reasons-only"),
    (DENIED, {"reasons": [HIDDEN]}, {"reasons": [SAID]}, "unchanged"),
    (DENIED, {"reasons": [HIDDEN]}, {"reasons": [{**SAID, "msg": "Ann asks"}]}, "reasons-only"),
]


@pytest.mark.parametrize(("base", "before", "after", "expected"), OTHERS)
def test_other_members_have_classes_of_their_own(
    base: dict[str, Any], before: dict[str, Any], after: dict[str, Any], expected: str
) -> None:
    assert kind(answer(base, **before), answer(base, **after)) == expected


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (None, TIMES, "stricter"),
        (TIMES, None, "weaker-terms"),
        (TIMES, {**TIMES, "within": "P1D"}, "stricter"),
    ],
)
def test_when_an_allowed_effect_is_carried_out_is_a_term(was: Any, now: Any, expected: str) -> None:
    found = [{**ALLOWED, **({"execute": times} if times else {})} for times in (was, now)]
    assert kind(*(answer(one) for one in found)) == expected


ONE_OF_EACH = [next(step for step in STEPS if step[0] == member) for member in WEAKER_AND_STRICTER]
ORDER = list(DifferenceClass)


def worst(kinds: Iterable[str]) -> DifferenceClass:
    return min(map(DifferenceClass, kinds), key=ORDER.index, default=DifferenceClass.UNCHANGED)


@given(st.lists(st.sampled_from(ONE_OF_EACH), unique_by=lambda step: step[0]))
def test_a_decision_counts_in_its_worst_class_and_lists_every_difference(
    steps: list[tuple[str, Any, Any, str]],
) -> None:
    was = answer(**{member: before for member, before, _, _ in steps})
    now = answer(**{member: after for member, _, after, _ in steps})
    found = differences(was, now)
    assert {one.member for one in found} == {f"requirement.{member}" for member, *_ in steps}
    assert kind(was, now) == worst(expected for *_, expected in steps)


def recorded(document: Mapping[str, Any], number: int = 1, **changes: Any) -> RecordedDecision:
    question = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
    told = {
        "decision_id": f"dec_{number}",
        "run_id": "run_1",
        "seq": number,
        "tenant": "acme",
        "operation": "register::file_report",
        "at": "2026-01-05T10:00:00.000000Z",
        "policy_digest": "a" * 64,
        "question": question.model_dump(mode="json"),
        "answer": document,
    }
    return RecordedDecision.model_validate({**told, **changes})


def judged(was: Mapping[str, Any], now: Any, number: int = 1, fault: str = "", **changes: Any) -> JudgedDecision:
    decision = recorded(was, number, **changes)
    return judge(decision, question_of(decision), now, fault)


def planted() -> Iterator[tuple[JudgedDecision, DifferenceClass]]:
    """Yield decisions that a candidate changes, or does not, each with its class."""
    pairs = [(answer(**{name: was}), answer(**{name: now}), expected) for name, was, now, expected in STEPS]
    for (name, was, now, one), (also, before, after, other) in combinations(ONE_OF_EACH, 2):
        pairs.append((answer(**{name: was, also: before}), answer(**{name: now, also: after}), worst((one, other))))
    outcomes = [answer(one) for one in (DENIED, ASKED, ALLOWED)]
    pairs += [(outcomes[was], outcomes[now], expected) for (was, now), expected in OUTCOMES.items()]
    pairs += [(answer(base, **was), answer(base, **now), expected) for base, was, now, expected in OTHERS]
    for number, (recorded_, candidate, expected) in enumerate(pairs):
        documents = (recorded_.model_dump(mode="json"), candidate.model_dump(mode="json"))
        yield judged(*documents, number), DifferenceClass(expected)
    yield judged(ASKED, None), DifferenceClass.NO_ANSWER
    yield judged({}, ASKED), DifferenceClass.NOT_REPLAYABLE


def test_a_hundred_planted_changes_over_all_classes_are_sorted_right() -> None:
    found = list(planted())
    summary = summarize(Asked("c" * 64, None, None, None), (one for one, _ in found), GroupBy.RULE)
    expected = Counter(kind for _, kind in found)
    assert expected.total() >= 100
    assert set(expected) == set(DifferenceClass)
    assert {kind: count for kind, count in summary.counts.items() if count} == expected
    assert [(one.kind, kind) for one, kind in found if one.kind is not kind] == []


def test_an_answer_that_the_gate_would_not_take_is_none() -> None:
    invalid = judged(ASKED, {**ALLOWED, "outcome": "perhaps"})
    undefined, faulty = judged(ASKED, None), judged(ASKED, None, fault="it is faulty")
    assert {one.kind for one in (invalid, undefined, faulty)} == {DifferenceClass.NO_ANSWER}
    assert (undefined.why, faulty.why, faulty.rules) == ("answer: undefined", "it is faulty", ("writes.high_tier",))
    edited = sample_question("acme", "register", "file_report", "r", "high", "2026-01-05T10:00:00Z").model_dump(
        mode="json"
    )
    question = {**edited, "edited": {"by": ["eve"], "requested": {}}}
    lets_editor_sign = judged(ASKED, ASKED, question=question)
    assert (lets_editor_sign.kind, "eve edited it" in lets_editor_sign.why) == (DifferenceClass.NO_ANSWER, True)


def test_a_candidate_that_has_to_be_told_who_is_named_has_not_answered() -> None:
    denied = {**DENIED, "names": ["answered_by"]}
    for recorded_ in (ASKED, ALLOWED, DENIED):
        found = judged(recorded_, denied)
        assert (found.kind, found.why) == (DifferenceClass.NOT_REPLAYABLE, "names.not_recorded")


def test_what_cannot_be_replayed_says_why_and_is_no_difference() -> None:
    assert judged(ASKED, ASKED, question={"mood": "good"}).why == "question.invalid"
    assert judged({**ASKED, "mood": "good"}, ASKED).why == "answer.invalid"


HOSTILE = "`|</code><script>alert(1)</script>\n# Heading \N{RIGHT-TO-LEFT OVERRIDE}"


def report_on(*found: JudgedDecision, by: GroupBy = GroupBy.RULE) -> tuple[bytes, bytes, bytes]:
    summary = summarize(Asked("c" * 64, None, None, None), found, by)
    return json_report(summary), markdown_report(summary), html_report(summary)


def test_the_same_decisions_give_the_same_report_and_every_decision_is_counted() -> None:
    found = [judged(ASKED, ALLOWED, 1), judged(DENIED, ALLOWED, 2), judged(ASKED, ASKED, 3), judged(ASKED, None, 4)]
    assert report_on(*found) == report_on(*found)
    summary = summarize(Asked("c" * 64, None, None, 5), found, GroupBy.TENANT)
    assert sum(summary.counts.values()) == sum(one["decisions"] for one in summary.document["groups"]) == 4
    assert b"A sample of at most 5 decisions." in markdown_report(summary)


def test_examples_show_different_rules_before_the_same_again() -> None:
    other = {**DENIED, "reasons": [{"code": "limits", "msg": "No"}]}
    found = [*(judged(DENIED, ALLOWED, number) for number in range(5)), judged(other, ALLOWED, 9)]
    [worst, *_] = summarize(Asked("c" * 64, None, None, None), found, GroupBy.RULE).document["classes"]
    assert len(worst["examples"]) == EXAMPLES
    assert {one["decision_id"] for one in worst["examples"]} == {"dec_0", "dec_9", "dec_1"}


def test_the_worst_groups_are_shown_and_the_others_counted() -> None:
    found = [judged(ASKED, ASKED, number, tenant=f"t{number:03}") for number in range(MOST_GROUPS + 2)]
    found.append(judged(DENIED, ALLOWED, 999, tenant="worst"))
    document = summarize(Asked("c" * 64, None, None, None), found, GroupBy.TENANT).document
    assert (document["groups"][0]["group"], len(document["groups"])) == ("worst", MOST_GROUPS)
    assert document["groups_left_out"] == 3
    assert "and 3 more" in markdown_report(Summary(document, {})).decode()


@pytest.mark.parametrize("by", GroupBy)
def test_whatever_stands_in_a_decision_is_text_in_a_report(by: GroupBy) -> None:
    denied = {**DENIED, "reasons": [{"code": HOSTILE.replace("\n", " "), "msg": "No"}]}
    found = [judged(denied, ALLOWED, 1, operation=HOSTILE, tenant=HOSTILE), judged(ASKED, None, 2, fault=HOSTILE)]
    _, markdown, html = report_on(*found, by=by)
    assert b"<script>" not in html
    lines = markdown.decode().splitlines()
    assert [line for line in lines if line.startswith("# ")] == ["# Backtest of a policy"]
    assert all(line.count("``") % 2 == 0 for line in lines if "<script>" in line)
    [row] = [line for line in lines if line.startswith("| ``")]
    assert row.replace("\\|", "").count("|") == 4


def test_a_report_on_nothing_is_one() -> None:
    told, markdown, _ = report_on()
    assert b'"decisions": 0' in told
    assert b"0 recorded decisions in this period" in markdown


LOCAL = ("127.0.0.1", 9)


async def reach() -> str:
    """Return whether a task, and a thread of it, may reach somebody."""
    try:
        socket.gethostbyname("localhost")
        await asyncio.to_thread(socket.gethostbyname, "localhost")
    except NetworkError:
        return "refused"
    return "reached"


async def test_nothing_is_reached_in_a_block_without_a_network_nor_by_what_it_begins() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def other() -> str:
        await begun.wait()
        found = await reach()
        ended.set()
        return found

    beside = asyncio.create_task(other())
    with no_network():
        for way in (lambda: socket.create_connection(LOCAL), lambda: socket.getaddrinfo("localhost", 1)):
            with pytest.raises(NetworkError, match="no network connection is allowed here"):
                way()
        begun.set()
        await ended.wait()
        assert [await reach(), await asyncio.create_task(reach())] == ["refused"] * 2
    assert [await beside, await reach()] == ["reached"] * 2
