"""The page where one signs shows what is signed as a person would lay it out."""

from dataclasses import replace
from typing import Any

import pytest

from edge.routes.passkeys import page_of
from runtime.services.approval_view import FieldView
from runtime.services.passkey_ceremonies import Ceremony, SigningPage
from tests.unit.bot_samples import KYC, NOW


def _shown(before: Any, after: Any) -> str:
    view = replace(KYC, fields=(FieldView("watching_people", before, after),))
    page = SigningPage(view, "Anna Berg", "Looked up.", "", NOW, Ceremony("Y2g", "countersign.example", ("a2V5",)))
    return bytes(page_of(page).body).decode().partition("<script>")[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (["Ann", "Bo"], ['<li><bdi class="words">Ann<', '<li><bdi class="words">Bo<']),
        (
            {"full_name": "Ann"},
            ['<dt><bdi class="words">Full name</bdi></dt>', '<dd><bdi class="words">Ann</bdi></dd>'],
        ),
        ([{"name": "Ann", "sites": ["Oslo"]}], ["Sites", "Oslo", "Name", "Ann"]),
    ],
)
def test_lists_and_objects_are_no_json(value: Any, shown: list[str]) -> None:
    for text in (_shown(None, value), _shown(value, "nobody")):
        assert "Watching people" in text
        assert all(part in text for part in shown)
        assert "[&#34;" not in text
        assert "{&#34;" not in text


def test_what_a_list_has_no_room_for_is_counted() -> None:
    assert "and 5 more, under Show all on the card" in _shown(None, [f"person {at}" for at in range(205)])


def test_a_value_stays_text_within_its_item() -> None:
    assert "<li><b>" not in _shown(None, ["</li><li><b>Ann</b>"])
