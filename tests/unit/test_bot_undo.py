"""The modal before an undo says of everything that stays why it does."""

import json

import pytest

from bot.views.cancel_undo import undo_modal
from runtime.services.compensation import Item, Standing, UndoView

WHY = "omar supplied its result"


def texts(item: Item) -> str:
    return json.dumps(undo_modal(UndoView("apr_1", "run_1", "put", [item]), None)["blocks"])


@pytest.mark.parametrize("standing", [one for one in Standing if one is not Standing.POSSIBLE])
def test_what_stays_is_named_with_its_reason(standing: Standing) -> None:
    item = Item("put", "servicenow::add_work_note", "incident:I1", standing, WHY)
    assert f"add work note (servicenow) on incident:I1: {WHY}" in texts(item)


def test_what_was_supplied_before_anything_was_wanted_names_no_target() -> None:
    item = Item("put", "servicenow::add_work_note", "", Standing.SUPPLIED, WHY)
    assert f"add work note (servicenow): {WHY}" in texts(item)
    assert "supplied by a person, who must undo it" in texts(item)
