"""Only an exact answer is an answer; whatever else OPA says is unavailable."""

import copy
import unicodedata
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.answer import parse_reply, parse_version
from policy.model import Answer, Outcome, PolicyUnavailableError

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
    "reasons": [{"code": "a.b", "msg": "Because"}],
    "obligations": [],
}
DROPPED = object()


def reply(result: Any) -> dict[str, Any]:
    return {
        "decision_id": "d1",
        "provenance": {"version": "1.22.0", "build_commit": "", "bundles": {"bundle.tar.gz": {"revision": "r1"}}},
        "result": result,
    }


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
    parsed = parse_reply(reply(result))
    assert parsed.answer.model_dump(mode="json") == result
    assert (parsed.decision_id, parsed.bundle, parsed.revision) == ("d1", "bundle.tar.gz", "r1")


@pytest.mark.parametrize("document", [None, True, 1, "allow", [], {}, [ALLOW], ALLOW, {"result": ALLOW}])
def test_reply_without_envelope_is_unavailable(document: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse_reply(document)


@pytest.mark.parametrize("result", [None, True, "allow", 1, [], {}, {"outcome": "allow"}, {"allow": True}])
def test_result_that_is_no_answer_is_unavailable(result: Any) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result"):
        parse_reply(reply(result))


def test_undefined_decision_is_unavailable() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result: Field required"):
        parse_reply(changed(reply(ALLOW), ("result",), DROPPED))


@pytest.mark.parametrize("member", list(ALLOW))
def test_each_missing_member_is_unavailable_and_named(member: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=rf"^result\.{member}: Field required"):
        parse_reply(changed(reply(ALLOW), ("result", member), DROPPED))


@pytest.mark.parametrize("member", list(REQUIREMENT))
def test_each_missing_member_of_the_requirement_is_unavailable_and_named(member: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=rf"^result\.requirement\.{member}: Field required"):
        parse_reply(changed(reply(ASK), ("result", "requirement", member), DROPPED))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("result", "outcome"), "Allow"),
        (("result", "outcome"), "maybe"),
        (("result", "outcome"), True),
        (("result", "tier"), "none"),
        (("result", "also"), 1),
        (("result", "reasons"), ["because"]),
        (("result", "requirement", "quorum"), 0),
        (("result", "requirement", "quorum"), -1),
        (("result", "requirement", "quorum"), "2"),
        (("result", "requirement", "quorum"), 1.5),
        (("result", "requirement", "quorum"), True),
        (("result", "requirement", "quorum"), 1001),
        (("result", "requirement", "quorum"), 10**30),
        (("result", "requirement", "groups"), ["a" * 2001]),
        (("result", "requirement", "groups"), ["a\x00"]),
        (("result", "requirement", "groups"), ["a\n"]),
        (("result", "requirement", "groups"), ["a\ud800"]),
        (("result", "requirement", "groups"), [f"g{n}" for n in range(101)]),
        (("result", "requirement", "exclude"), [f"p{n}" for n in range(101)]),
        (("result", "requirement", "exclude"), ["a\x1b[31m"]),
        (("result", "requirement", "escalate_to"), ["\x7f"]),
        (("result", "requirement"), {**REQUIREMENT, "all_groups": True, "groups": list("abcdefghi")}),
        (("result", "reasons"), [{"code": "a.b", "msg": "x" * 2001}]),
        (("result", "reasons"), [{"code": "a.b", "msg": "nul \x00"}]),
        (("result", "reasons"), [{"code": "a\x85b", "msg": "x"}]),
        (("result", "reasons"), [{"code": "a.b", "msg": "x"}] * 101),
        (("result", "obligations"), ["\x00"]),
        (("decision_id",), "d\x00"),
        (("result", "requirement", "groups"), []),
        (("result", "requirement", "expires_in"), "8h"),
        (("result", "requirement", "expires_in"), "PT0S"),
        (("result", "requirement", "expires_in"), "-PT8H"),
        (("result", "requirement", "expires_in"), "P1M"),
        (("result", "requirement", "expires_in"), "P400D"),
        (("result", "requirement", "expires_in"), "P99999999999999999D"),
        (("result", "requirement"), None),
        (("result", "outcome"), "allow"),
        (("result", "outcome"), "deny"),
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
    ],
)
def test_anything_off_in_a_request_for_signatures_is_unavailable(path: tuple[str, ...], value: Any) -> None:
    with pytest.raises(PolicyUnavailableError):
        parse_reply(changed(reply(ASK), path, value))


def test_bounds_of_an_answer_are_inside_them() -> None:
    most = {
        **REQUIREMENT,
        "quorum": 1000,
        "exclude": ["ä" * 2000] * 100,
        "all_groups": True,
        "groups": list("abcdefgh"),
    }
    assert parse_reply(reply({**ASK, "requirement": most})).answer.requirement is not None


def test_wrong_answer_is_unavailable_with_its_reason() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^result\.requirement\.quorum: .*less than or equal to 1000"):
        parse_reply(changed(reply(ASK), ("result", "requirement", "quorum"), 10**30))
    with pytest.raises(PolicyUnavailableError, match=r"^result\.reasons\.0\.msg: .*control characters"):
        parse_reply(changed(reply(ASK), ("result", "reasons"), [{"code": "a", "msg": "\x00"}]))


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
        parse_reply(document)


@given(member=st.sampled_from([*ALLOW, "x"]), value=JSON)
@settings(max_examples=100, deadline=None)
def test_altered_answer_is_an_allow_only_if_its_schema_still_holds(member: str, value: Any) -> None:
    altered = {**ALLOW, member: value}
    valid = jsonschema.Draft202012Validator(Answer.model_json_schema()).is_valid(altered) and is_printable(value)
    fits = valid and (altered["requirement"] is None) == (altered["outcome"] != Outcome.NEEDS_APPROVAL)
    if fits:
        assert parse_reply(reply(altered)).answer.outcome == altered["outcome"]
    else:
        with pytest.raises(PolicyUnavailableError):
            parse_reply(reply(altered))
