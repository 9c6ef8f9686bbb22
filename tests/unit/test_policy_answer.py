"""Policy answers: exact, or unavailable; and complaints once a minute.

Only an exact answer is an answer; whatever else OPA says is unavailable.

What goes wrong again and again is said once a minute, with its count.
"""

import copy
import logging
import unicodedata
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.answer import parse_answers, parse_flaws, parse_reply, parse_version
from policy.client import OpaEngine, ThrottledLog
from policy.contract import Answer, Outcome, PolicyUnavailableError
from tests.opa_server import question
from tests.patience import POLICY

REQUIREMENT: dict[str, Any] = {
    "quorum": 2,
    "groups": ["compliance"],
    "all_groups": False,
    "exclude": ["ann"],
    "expires_in": "PT8H",
    "reason_required": True,
    "escalate_to": [],
}
ALLOW: dict[str, Any] = {"outcome": "allow", "tier": "low", "requirement": None, "reasons": [], "obligations": []}
ASK: dict[str, Any] = {
    "outcome": "needs_approval",
    "tier": "high",
    "requirement": REQUIREMENT,
    "reasons": [{"code": "a.b", "msg": "Reason"}],
    "obligations": [],
}
GLASS: dict[str, Any] = {
    "groups": ["commanders"],
    "at_most": 2,
    "within": "P1D",
    "tell": [],
    "review_by": ["seniors"],
    "review_within": "P3D",
}
DROPPED = object()


def _line(*afters: str, group: str = "seniors") -> list[dict[str, Any]]:
    return [{"after": after, "to": [group]} for after in afters]


def reply(result: Any) -> dict[str, Any]:
    return {
        "decision_id": "d1",
        "provenance": {"version": "1.22.0", "build_commit": "", "bundles": {"bundle.tar.gz": {"revision": "r1"}}},
        "result": {"0": result},
    }


def parse(document: Any) -> Answer:
    """Parse the reply to one question, as the client does."""
    (found,) = parse_answers(parse_reply(document).result, 1)
    if isinstance(found, PolicyUnavailableError):
        raise found
    return found


def changed(document: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy in which the member at the path is replaced, added or, by DROPPED, removed."""
    whole = copy.deepcopy(document)
    inner = whole
    for name in path[:-1]:
        inner = inner[name]
    if value is DROPPED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return whole


@pytest.mark.parametrize("result", [ALLOW, ASK, {**ALLOW, "outcome": "deny"}])
def test_exact_answer_is_understood(result: dict[str, Any]) -> None:
    assert parse(reply(result)).model_dump(mode="json") == result
    parsed = parse_reply(reply(result))
    assert (parsed.decision_id, parsed.bundle, parsed.revision) == ("d1", "bundle.tar.gz", "r1")


@pytest.mark.parametrize("document", [None, True, 1, "allow", [], {}, [ALLOW], ALLOW, {"result": ALLOW}])
def test_reply_without_envelope_is_unavailable(document: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse(document)


@pytest.mark.parametrize("result", [None, True, "allow", 1, [], {}, {"outcome": "allow"}, {"allow": True}])
def test_result_that_is_no_answer_is_unavailable(result: Any) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result"):
        parse(reply(result))


def test_undefined_decision_is_unavailable() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result: Field required"):
        parse(changed(reply(ALLOW), ("result",), DROPPED))


@pytest.mark.parametrize("member", list(ALLOW))
def test_each_missing_member_is_unavailable_and_named(member: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=rf"^result\.0\.{member}: Field required"):
        parse(changed(reply(ALLOW), ("result", "0", member), DROPPED))


@pytest.mark.parametrize("member", list(REQUIREMENT))
def test_each_missing_member_of_the_requirement_is_unavailable_and_named(member: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=rf"^result\.0\.requirement\.{member}: Field required"):
        parse(changed(reply(ASK), ("result", "0", "requirement", member), DROPPED))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("result", "0", "outcome"), "Allow"),
        (("result", "0", "outcome"), "maybe"),
        (("result", "0", "outcome"), True),
        (("result", "0", "tier"), "none"),
        (("result", "0", "also"), 1),
        (("result", "0", "reasons"), ["because"]),
        (("result", "0", "requirement", "quorum"), 0),
        (("result", "0", "requirement", "quorum"), -1),
        (("result", "0", "requirement", "quorum"), "2"),
        (("result", "0", "requirement", "quorum"), 1.5),
        (("result", "0", "requirement", "quorum"), True),
        (("result", "0", "requirement", "quorum"), 1001),
        (("result", "0", "requirement", "quorum"), 10**30),
        (("result", "0", "requirement", "groups"), ["a" * 2001]),
        (("result", "0", "requirement", "groups"), ["a\x00"]),
        (("result", "0", "requirement", "groups"), ["a\n"]),
        (("result", "0", "requirement", "groups"), ["a\ud800"]),
        (("result", "0", "requirement", "groups"), [f"g{n}" for n in range(101)]),
        (("result", "0", "requirement", "exclude"), [f"p{n}" for n in range(101)]),
        (("result", "0", "requirement", "exclude"), ["a\x1b[31m"]),
        (("result", "0", "requirement", "escalate_to"), ["seniors"]),
        (("result", "0", "requirement", "escalate_to"), [{"to": ["seniors"]}]),
        (("result", "0", "requirement", "escalate_to"), [{"after": "PT6H"}]),
        (("result", "0", "requirement", "escalate_to"), [{"after": "PT6H", "to": []}]),
        (("result", "0", "requirement", "escalate_to"), [{"after": "PT6H", "to": "seniors"}]),
        (("result", "0", "requirement", "escalate_to"), [{"after": "PT6H", "to": ["seniors"], "start": "rescue"}]),
        (("result", "0", "requirement", "escalate_to"), _line("PT6H", group="\x7f")),
        (("result", "0", "requirement", "escalate_to"), _line("PT6H", group="x" * 2001)),
        (("result", "0", "requirement", "escalate_to"), _line("soon")),
        (("result", "0", "requirement", "escalate_to"), _line("PT0S")),
        (("result", "0", "requirement", "escalate_to"), _line("P1M")),
        (("result", "0", "requirement", "escalate_to"), _line("PT8H")),
        (("result", "0", "requirement", "escalate_to"), _line("PT6H", "PT6H")),
        (("result", "0", "requirement", "escalate_to"), _line("PT6H", "PT2H")),
        (("result", "0", "requirement", "escalate_to"), _line(*(f"PT{n}M" for n in range(1, 22)))),
        (("result", "0", "requirement", "escalate_to"), _line(*(f"PT{n}M" for n in range(1, 12)), group="x" * 1999)),
        (("result", "0", "requirement"), {**REQUIREMENT, "all_groups": True, "groups": list("abcdefghi")}),
        (("result", "0", "reasons"), [{"code": "a.b", "msg": "x" * 2001}]),
        (("result", "0", "reasons"), [{"code": "é" * 1001, "msg": "x"}] * 10),
        (("result", "0", "requirement", "exclude"), [f"{n:02}" + "x" * 300 for n in range(70)]),
        (("result", "0", "reasons"), [{"code": "a.b", "msg": "nul \x00"}]),
        (("result", "0", "reasons"), [{"code": "a\x85b", "msg": "x"}]),
        (("result", "0", "reasons"), [{"code": "a.b", "msg": "x"}] * 101),
        (("result", "0", "obligations"), ["log it"]),
        (("result", "0", "obligations"), [{"type": "log it", "id": "1"}]),
        (("result", "0", "obligations"), [{"type": "notification", "id": "1", "to": [], "body": "b"}]),
        (("result", "0", "obligations"), [{"type": "notification", "id": "1", "to": ["a"], "body": "\x00"}]),
        (("result", "0", "obligations"), [{"type": "step-up", "id": "1", "to": ["a"]}]),
        (("result", "0", "names"), ["answered_by"]),
        (("decision_id",), "d\x00"),
        (("result", "0", "requirement", "groups"), []),
        (("result", "0", "requirement", "expires_in"), "8h"),
        (("result", "0", "requirement", "expires_in"), "PT0S"),
        (("result", "0", "requirement", "expires_in"), "-PT8H"),
        (("result", "0", "requirement", "expires_in"), "P1M"),
        (("result", "0", "requirement", "expires_in"), "P400D"),
        (("result", "0", "requirement", "expires_in"), "P99999999999999999D"),
        (("result", "0", "requirement"), None),
        (("result", "0", "outcome"), "allow"),
        (("result", "0", "outcome"), "deny"),
        (("decision_id",), ""),
        (("decision_id",), DROPPED),
        (("provenance",), DROPPED),
        (("provenance", "bundles"), {}),
        (("provenance", "bundles"), {"a": {"revision": "1"}, "b": {"revision": "2"}}),
        (("provenance", "bundles"), {"a": {}}),
        (("provenance", "bundles"), {"a": {"revision": ""}}),
        (("provenance", "version"), "1.3.9"),
        (("provenance", "version"), "0.70.0"),
        (("provenance", "version"), "new"),
        (("provenance", "version"), ""),
        (("provenance", "version"), DROPPED),
    ],
)
def test_anything_off_in_a_request_for_signatures_is_unavailable(path: tuple[str, ...], value: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse(changed(reply(ASK), path, value))


def test_bounds_of_an_answer_are_inside_them() -> None:
    most = {
        **REQUIREMENT,
        "quorum": 1000,
        "exclude": [*(["ä" * 2000] * 4), *(["ä"] * 96)],
        "all_groups": True,
        "groups": list("abcdefgh"),
        "escalate_to": _line(*(f"PT{n}M" for n in range(460, 480))),
    }
    assert parse(reply({**ASK, "requirement": most})).requirement is not None


def test_wrong_answer_is_unavailable_with_its_reason() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result\.0\.requirement\.quorum: .*less than or equal to 1000"):
        parse(changed(reply(ASK), ("result", "0", "requirement", "quorum"), 10**30))
    with pytest.raises(PolicyUnavailableError, match=r"^result\.0\.reasons\.0\.msg: .*control characters"):
        parse(changed(reply(ASK), ("result", "0", "reasons"), [{"code": "a", "msg": "\x00"}]))


def test_one_wrong_answer_makes_that_one_unavailable() -> None:
    answers = {str(place): ALLOW for place in range(16)} | {"7": {**ALLOW, "outcome": "perhaps"}, "9": None}
    del answers["11"]
    found = parse_answers(answers, 16)
    assert [place for place, one in enumerate(found) if isinstance(one, PolicyUnavailableError)] == [7, 9, 11]
    assert [str(found[place]).partition(":")[0] for place in (7, 9, 11)] == [
        "result.7.outcome",
        "result.9",
        "result.11",
    ]


@pytest.mark.parametrize(
    "result", [None, True, "allow", [], [ALLOW], {"1": ALLOW}, {"0": ALLOW, "00": ALLOW}, {"0": ALLOW, "": ALLOW}]
)
def test_answers_that_are_not_to_what_was_asked_are_none(result: Any) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result"):
        parse_answers(result, 1)


@pytest.mark.parametrize("result", [None, True, {}, "", [1], [None], ["a", {}]])
def test_flaws_are_a_list_of_texts(result: Any) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result"):
        parse_flaws(result)


def is_printable(value: Any) -> bool:
    """Return whether no text in a value has characters that end or steer lines."""
    if isinstance(value, str):
        return not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(is_printable(member) for member in members)


def test_versions_compare_by_their_numbers() -> None:
    assert parse_version("1.22.0") > parse_version("1.4.0-rc1") > parse_version("1.3.99") > parse_version("unknown")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(list(Outcome)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ALLOW, "x"]), inner, max_size=6),
    max_leaves=12,
)


@given(document=st.one_of(JSON, JSON.map(reply)))
@settings(max_examples=100, deadline=None)
def test_arbitrary_json_is_never_an_allow(document: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse(document)


@given(member=st.sampled_from([*ALLOW, "x"]), value=JSON)
@settings(max_examples=100, deadline=None)
def test_altered_answer_is_an_allow_only_if_its_schema_still_holds(member: str, value: Any) -> None:
    altered = {**ALLOW, member: value}
    valid = jsonschema.Draft202012Validator(Answer.model_json_schema()).is_valid(altered) and is_printable(value)
    fits = valid and (altered["requirement"] is None) == (altered["outcome"] != Outcome.NEEDS_APPROVAL)
    if fits:
        assert parse(reply(altered)).outcome == altered["outcome"]
    else:
        with pytest.raises(PolicyUnavailableError):
            parse(reply(altered))


def test_a_glass_is_part_of_the_requirement() -> None:
    broken = changed(ASK, ("requirement", "break_glass"), GLASS)
    assert parse(reply(broken)).model_dump(mode="json") == broken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("within", "soon"),
        ("within", "P1M"),
        ("review_within", "PT0S"),
        ("review_within", DROPPED),
        ("at_most", 0),
        ("at_most", 101),
        ("groups", []),
        ("review_by", []),
        ("person", "ann"),
    ],
)
def test_a_glass_that_is_not_exact_makes_the_answer_unavailable(name: str, value: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse(
            reply(
                changed(
                    changed(ASK, ("requirement", "break_glass"), GLASS), ("requirement", "break_glass", name), value
                )
            )
        )


RULES = ["countersign.effect.a.demand#a.b", "countersign_config.acme.requirements.a#b"]


def test_the_rules_behind_an_answer_are_part_of_it_and_may_be_missing() -> None:
    named = {**ASK, "rules": RULES}
    assert parse(reply(named)).model_dump(mode="json") == named
    denied = {**ALLOW, "outcome": "deny", "reasons": ASK["reasons"], "rules": ["p.deny#a.b", "q.deny#a.b"]}
    assert parse(reply(denied)).rules == denied["rules"]
    assert "rules" not in parse(reply(ASK)).model_dump(), "as policies of earlier releases answer"


LONG = [f"{n:03}{'x' * 500}#a.b" for n in range(80)]


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([], "at least 1 item"),
        ("p.deny#a.b", "valid array"),
        ([1], "valid string"),
        (["", "p.deny#a.b"], "at least 1 character"),
        (["p.deny\x00#a.b"], "control characters"),
        (RULES[::-1], "not each once, in order"),
        (["p.deny#a.b", "p.deny#a.b"], "not each once, in order"),
        (["p.demand#a.b", "p.demand#a.c"], "differ in the code 'a.c'"),
        (["p.demand#a.b", "p.permitted"], "differ in the code ''"),
        (["p.demand"], "differ in the code ''"),
        ([RULES[1]], "differ in the code 'a.b'"),
        ([f"p{n:03}#a.b" for n in range(101)], "at most 100 items"),
        (LONG, "more than 40000 bytes"),
    ],
)
def test_rules_that_are_not_those_of_the_reasons_are_no_answer(rules: object, says: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=rf"^result\.0\.rules.*: .*{says}"):
        parse(reply({**ASK, "rules": rules}))


def test_as_many_rules_are_named_as_have_room() -> None:
    assert parse(reply({**ASK, "rules": LONG[:78]})).rules == LONG[:78]
    assert len(parse(reply({**ASK, "rules": [f"p{n:03}#a.b" for n in range(100)]})).rules or []) == 100


def test_configuration_is_behind_no_answer_that_asks_nobody() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"requirements\.a#b states no requirement here"):
        parse(reply({**ALLOW, "reasons": ASK["reasons"], "rules": RULES}))


@pytest.mark.parametrize("pause", ["PT2H", "P1D"])
def test_how_long_the_clock_may_stand_still_is_a_duration(pause: str) -> None:
    found = parse(reply(changed(ASK, ("requirement", "pause_on_question"), pause))).requirement
    assert found is not None
    assert found.pause_on_question == pause
    assert "pause_on_question" not in parse(reply(ASK)).model_dump()["requirement"], "where policy does not say so"


@pytest.mark.parametrize("pause", ["", "soon", "P1M", "-PT1H", "PT0S", 7])
def test_a_pause_that_is_no_duration_is_no_answer(pause: object) -> None:
    with pytest.raises(PolicyUnavailableError, match="pause_on_question"):
        parse(reply(changed(ASK, ("requirement", "pause_on_question"), pause)))


def test_trouble_is_said_at_once_and_then_once_a_minute_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    complaints = ThrottledLog(logging.getLogger("policy"), lambda: now[0])
    for seconds in (0.0, 0.1, 30.0, 59.9, 60.0, 61.0, 300.0):
        now[0] = seconds
        complaints.say(f"away at {seconds}")
    assert caplog.messages == [
        "away at 0.0",
        "away at 60.0 (4 times since this was last said)",
        "away at 300.0 (2 times since this was last said)",
    ]


async def test_policy_that_is_unavailable_is_not_met_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    async with OpaEngine("http://127.0.0.1:9", timeout=POLICY) as engine:
        for _ in range(3):
            with pytest.raises(PolicyUnavailableError):
                await engine.ask(question())
    (said,) = [record for record in caplog.records if record.name == "policy.client"]
    assert said.levelname == "WARNING"
    assert said.getMessage().startswith("policy unavailable: OPA at http://127.0.0.1:9: ")
