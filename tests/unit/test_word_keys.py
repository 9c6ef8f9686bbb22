"""Dedupe keys of what callers send: nothing that one caller sends under its own refs is taken for something else."""

from hypothesis import example, given
from hypothesis import strategies as st

from runtime.model.notification import dedupe_key_of

_TENANTS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True)
_SENDERS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True)
_REFS = st.text(st.sampled_from("ab:_-."), min_size=1, max_size=8)
_WORDS = st.tuples(st.sampled_from(["signal", "task", "repair_step", "cancel", "undo"]), _TENANTS, _SENDERS, _REFS)


@given(_WORDS, _WORDS)
def test_two_words_share_a_key_only_where_they_are_of_one_kind_tenant_sender_and_ref(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert (dedupe_key_of(*one) == dedupe_key_of(*other)) == (one == other)


@given(_WORDS, _TENANTS, _SENDERS, _REFS)
@example(("signal", "acme", "portal", "1"), "acme", "portal", "signal:1")
def test_no_word_has_the_key_of_an_answer(
    word: tuple[str, str, str, str], tenant: str, sender: str, answer_id: str
) -> None:
    assert dedupe_key_of(*word) != f"{tenant}:{sender}:{answer_id}"
