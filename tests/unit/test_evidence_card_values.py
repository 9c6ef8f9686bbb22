"""What a card says in its buttons and menus is found in its bytes as it is by a walk through it."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evidence.verify.cards import _naming
from receipts import canonical
from receipts.canonical import Apart

said = st.lists(
    st.sampled_from(['"digest":"ab"', '"digest":""', '"digest":', '{"id":"a-1",', '"', "\\", "\n", "value", "é"]),
    max_size=4,
).map("".join)
cards = st.recursive(
    said | st.sampled_from([None, 1, True]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", 'a"value', "text", "\\", '","value']), inner, max_size=3)
    ),
    max_leaves=12,
)


def walked(card: Any) -> Iterator[str]:
    """Give each text that a member `value` has, and that names a digest."""
    if isinstance(card, list):
        for item in card:
            yield from walked(item)
    if isinstance(card, dict):
        for name, item in card.items():
            if name == "value" and isinstance(item, str) and '"digest":' in item and '"digest":""' not in item:
                yield item
            yield from walked(item)


@given(cards)
def test_each_value_that_names_a_digest_is_found_wherever_it_stands(card: Any) -> None:
    data = canonical.dumps(card)
    for one in (card, Apart(data, 0, len(data))):
        assert sorted(_naming(one)) == sorted(walked(card))
