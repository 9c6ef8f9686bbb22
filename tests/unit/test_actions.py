"""The canonical action: what changes it, what does not, and what must not be seen in it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.model.action import Acting, Action, Tier, dedupe_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.text(max_size=6), JSON, max_size=4)


def _action(fields: dict[str, Any], *, salt: str = "s", pointers: tuple[str, ...] = (), target: str = "t") -> Action:
    acting = Acting(
        connector="c",
        operation="o",
        target=target,
        fields=fields,
        idempotency_key="k",
        tier=Tier.LOW,
        reversible_by=None,
        redact=pointers,
        forgotten=None,
    )
    return acting.action(salt)


@given(FIELDS, FIELDS)
def test_two_actions_have_one_digest_only_if_they_are_the_same(a: dict[str, Any], b: dict[str, Any]) -> None:
    same = repr(sorted(_typed(a))) == repr(sorted(_typed(b)))
    assert (_action(a).digest == _action(b).digest) == same


def _typed(fields: dict[str, Any]) -> list[str]:
    return [f"{name!r}:{_canonical(value)}" for name, value in fields.items()]


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(sorted(_typed(value))) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(item) for item in value) + "]"
    return repr(value)


@given(FIELDS)
def test_the_order_of_fields_does_not_matter(fields: dict[str, Any]) -> None:
    assert _action(fields).digest == _action(dict(reversed(fields.items()))).digest


def test_a_hidden_value_is_bound_by_the_digest_and_not_in_the_action() -> None:
    one, two = (_action({"who": {"email": mail}}, pointers=("/who/email",)) for mail in ("a@x", "b@x"))
    assert one.digest != two.digest
    assert one.redacted == ("/who/email",)
    assert "a@x" not in str(one.fields)


def test_a_guess_at_a_hidden_value_cannot_be_tested_without_the_salt() -> None:
    fields = {"pin": "1234"}
    assert (
        _action(fields, pointers=("/pin",), salt="one").digest != _action(fields, pointers=("/pin",), salt="two").digest
    )


def test_names_like_secrets_are_hidden_without_being_declared() -> None:
    action = _action({"list": [{"api_token": "xyz"}]})
    assert action.redacted == ("/list/0/api_token",)
    assert "xyz" not in str(action.fields)


def test_the_fields_given_are_left_as_they_are() -> None:
    fields = {"a": {"password": "p"}}
    _action(fields)
    assert fields == {"a": {"password": "p"}}


def test_a_dedupe_key_depends_on_every_part() -> None:
    assert len({dedupe_key("a", "b"), dedupe_key("ab", ""), dedupe_key("b", "a")}) == 3
