"""Tables of messages are Slack's own, within its limits, in the bot and in the sandbox."""

from dataclasses import replace
from typing import Any

import pytest

from bot.views.card import card
from bot.views.vote_modals import reason_modal
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import Declared, DeclaredTable
from sandbox.block_kit import check_message_blocks, check_view
from sandbox.slack_errors import SlackError
from tests.unit.bot_samples import KYC, NOW, shown

OWNERS = DeclaredTable("Owners", (("Name", "text"), ("Share", "percent")), (("Ann", "36"),) * 9, 12)
VIEW = replace(KYC, declared=Declared(tables=(OWNERS, replace(OWNERS, title="Others"))))


def table(rows: int = 2, columns: int = 2, text: str = "x") -> dict[str, Any]:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * columns] * rows}


def test_a_card_has_one_table_of_slack_and_counts_what_it_leaves_out() -> None:
    blocks = card(VIEW, now=NOW).blocks
    (found,) = [one for one in blocks if one["type"] == "table"]
    assert [[cell["text"] for cell in row] for row in found["rows"][:2]] == [["Name", "Share"], ["Ann", "36 %"]]
    assert [one["align"] for one in found["column_settings"]] == ["left", "right"]
    assert "*… 7 more lines — Show all*" in shown(blocks)
    assert "*Others*\n*Name*\nShare" in shown(blocks)
    check_message_blocks(blocks)


def test_a_form_keeps_tables_in_two_columns() -> None:
    form = reason_modal(VIEW, VoteVerdict.APPROVE, None)
    assert all(one["type"] != "table" for one in form["blocks"])
    assert "Ann\n36 %" in shown(form)
    check_view(form, "modal")


@pytest.mark.parametrize(
    "blocks",
    [[table(101)], [table(1, 21)], [table(), table()], [table(10, 11, "x" * 91)]],
    ids=["rows", "columns", "two", "characters"],
)
def test_the_sandbox_refuses_what_slack_refuses(blocks: list[dict[str, Any]]) -> None:
    with pytest.raises(SlackError):
        check_message_blocks(blocks)


def test_the_sandbox_takes_the_largest_table_in_a_message_and_none_in_a_view() -> None:
    check_message_blocks([table(100, 20)])
    for kind in ("modal", "home"):
        view = {
            "type": kind,
            "blocks": [table()],
            **({"title": {"type": "plain_text", "text": "T"}} if kind == "modal" else {}),
        }
        with pytest.raises(SlackError):
            check_view(view, kind)
