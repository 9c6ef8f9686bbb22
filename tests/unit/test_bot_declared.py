"""Declared cards and tables: what authors want shown, and Slack's limits on tables.

A declared card shows what its author wants seen, in the order of the author; every value in it is data.

The page about cards: its example loads, and shows what the page says.

Tables of messages are Slack's own, within its limits, in the bot and in the sandbox.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.views.card import card
from bot.views.details import details_modals
from bot.views.facts import formatted
from bot.views.value_blocks import Level
from bot.views.vote_modals import reason_modal
from runtime.definitions.card_evaluation import evaluate_card
from runtime.definitions.cards import Format
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.model import Verb
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled
from runtime.model.approval import AskKind
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, Declared, DeclaredField, DeclaredTable, FieldView
from sandbox.block_kit import check_message_blocks, check_view
from sandbox.mrkdwn import parse, walk
from sandbox.slack_errors import SlackError
from tests.unit.bot_samples import HOSTILE, KYC, NOW, home_of, read, shown, text_objects
from tests.unit.test_definitions_catalog import pack

TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
FORMATS = ("text", "date", "number", "percent", "code")
LEVEL = Level(300, 4, 4, 8, 5, 3)

FILING = Declared(
    title="File the beneficial owners of Halden Shipping with the company register",
    summary="The company register receives the names and shares below.",
    fields=(
        DeclaredField("LEI", "5493001KJTIIGC8Y1R12", "code"),
        DeclaredField("Ownership threshold", "25", "percent"),
        DeclaredField("Deadline", "2026-03-31", "date"),
    ),
    tables=(
        DeclaredTable(
            "Beneficial owners",
            (("Name", "text"), ("Share", "percent"), ("Country", "text")),
            (("Ingrid Halvorsen", "36", "NO"), ("Tobias Lindqvist", 30.8, None)),
            2,
        ),
    ),
    links=(("The company", "https://register.example/5493001KJTIIGC8Y1R12"),),
    hide=frozenset({"note"}),
)


def hostile(text: str) -> ApprovalView:
    """Return an approval whose author shows the text everywhere."""
    fields = tuple(DeclaredField("Label", text, form) for form in FORMATS)
    columns = tuple(("Label", form) for form in FORMATS)
    table = DeclaredTable("Table", columns, ((text,) * len(FORMATS),) * 4, 9)
    links = (("Look", "https://register.example/x"),)
    return replace(KYC, declared=Declared(text, text, fields, (table, table), links, frozenset()))


def shown_card(value: Any) -> str:
    return "\n".join(read(one["text"]) for one in text_objects(value))


def test_a_declared_card_shows_what_its_author_wants_seen() -> None:
    seen = card(replace(KYC, declared=FILING), now=NOW)
    words = shown_card(seen.blocks)
    assert seen.blocks[1]["text"]["text"] == FILING.title
    assert seen.text.startswith(f"Approval needed: {FILING.title}. Requested by Carla Mota")
    for expected in (
        "*🟡 Approval needed · high risk*",
        FILING.summary,
        "*LEI*\n`5493001KJTIIGC8Y1R12`\n*Ownership threshold*\n25 %\n*Deadline*\n31 March 2026",
        "*Beneficial owners*\nName\nShare\nCountry\nIngrid Halvorsen\n36 %\nNO\nTobias Lindqvist\n30.8 %\nnone",
        "Show all 3 fields",
        "*Changes*",
        "<https://register.example/5493001KJTIIGC8Y1R12|The company>",
    ):
        assert expected in words
    assert "New values" not in words


def test_what_is_hidden_stands_behind_show_all_alone() -> None:
    view = replace(KYC, declared=Declared(hide=frozenset({"note", "share"})))
    words = shown_card(card(view, now=NOW).blocks)
    assert "New owner" not in words
    assert "Share" not in words
    assert "*… 1 more value — Show all*" in words
    assert "*… 1 more change — Show all*" in words
    everything = shown_card(list(details_modals(view)))
    assert "New owner" in everything
    assert "Share" in everything


def test_everything_that_is_declared_stands_behind_show_all() -> None:
    lines = tuple((f"Owner {number}", number, None) for number in range(20))
    owners = replace(FILING.tables[0], lines=lines, count=33)
    view = replace(KYC, declared=replace(FILING, tables=(owners,)))
    assert "*… 28 more lines — Show all*" in shown_card(card(view, now=NOW).blocks)
    everything = shown_card(list(details_modals(view)))
    for words in (FILING.summary, "5493001KJTIIGC8Y1R12", "Owner 19\n19 · none", "The first 20 of 33 lines"):
        assert words in everything


def test_where_nothing_could_be_evaluated_the_card_is_as_always() -> None:
    assert card(replace(KYC, declared=Declared()), now=NOW) == card(KYC, now=NOW)


@pytest.mark.parametrize(
    ("value", "form", "words"),
    [
        (1234567, "number", "1,234,567"),
        ("1234567.50", "number", "1,234,567.50"),
        (-0.5, "number", "-0.5"),
        ("many", "number", "many"),
        (True, "number", "*yes*"),
        (36, "percent", "36 %"),
        ("30.8", "percent", "30.8 %"),
        ("2026-03-31", "date", "31 March 2026"),
        ("2026-03-31T10:00:00", "date", "2026-03-31T10:00:00"),
        ("soon", "date", "soon"),
        ("2026-03-02T17:00:00Z", "date", "<!date^1772470800^{date_short_pretty} {time}|2026-03-02 17:00 UTC>"),
        ("a.b", "code", "`a.b`"),
        (None, "code", "*none*"),
        (["a", "b"], "text", "a · b"),
    ],
)
def test_a_value_is_written_in_its_format_where_it_has_that_form(value: Any, form: str, words: str) -> None:
    assert formatted(value, form, LEVEL)["text"] == words


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_declared_card_fits_slack_whatever_the_data(text: str) -> None:
    view = hostile(text)
    for modal in details_modals(view):
        check_view(modal, "modal")
    for of_kind in (replace(view, kind=kind) for kind in AskKind):
        check_message_blocks(card(of_kind, now=NOW).blocks)
        check_view(reason_modal(of_kind, VoteVerdict.REJECT, None), "modal")
        check_view(home_of(of_kind), "home")


@settings(deadline=None)
@given(TEXTS)
def test_no_declared_value_becomes_a_mention_a_link_an_emoji_or_a_format(text: str) -> None:
    view = replace(hostile(text), fields=(FieldView("owners", None, [{"name": text}]),))
    seen = [card(view, now=NOW).blocks, list(details_modals(view)), home_of(view)]
    for one in text_objects(seen):
        if one["type"] == "raw_text":
            assert not set(one["text"]) & set("<>")
            continue
        if one["type"] == "plain_text":
            assert one["emoji"] is False
            assert not set(one["text"]) & set("<>")
            continue
        for node in walk(parse(one["text"], lambda _: None, verbatim=one["verbatim"])):
            assert node["t"] in {"text", "bold", "code", "date"} or node["url"].startswith(
                ("https://register.", "https://con")
            )


@settings(deadline=None)
@given(TEXTS)
def test_no_declared_value_adds_a_block_or_a_row(text: str) -> None:
    def form_of(view: ApprovalView) -> list[Any]:
        blocks = card(view, now=NOW).blocks
        return [(one["type"], len(one.get("fields") or one.get("elements") or [])) for one in blocks]

    if 0 < len(text) <= 80 and text.strip():
        assert form_of(hostile(text)) == form_of(hostile("x"))


OWNERS = [{"name": f"Owner {number}", "share": number, "country": "NO"} for number in range(30)]


def _tables(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in blocks if block["type"] == "table"]


def test_a_list_of_objects_that_no_author_declares_is_a_table_in_a_message_and_fields_in_forms() -> None:
    view = replace(KYC, fields=(FieldView("owners", None, OWNERS), FieldView("others", None, OWNERS[:2])))
    seen = card(view, now=NOW).blocks
    check_message_blocks(seen)
    (table,) = _tables(seen)
    cells = [[cell["text"] for cell in row] for row in table["rows"]]
    assert cells[:2] == [["Name", "Share", "Country"], ["Owner 0", "0", "NO"]]
    assert [column["align"] for column in table["column_settings"]] == ["left", "right", "left"]
    words = shown_card(seen)
    assert f"*… {len(OWNERS) - len(cells) + 1} more lines — Show all*" in words
    assert "*… 2 more values — Show all*" in words, "of a second list the lines are counted"
    for form in (reason_modal(view, VoteVerdict.APPROVE, None), home_of(view)):
        assert not _tables(form["blocks"])


def test_of_a_table_that_is_too_wide_for_slack_the_other_columns_are_counted() -> None:
    wide = [{f"column {at}": "x" * 300 for at in range(27)} for _ in range(3)]
    seen = card(replace(KYC, fields=(FieldView("wide", None, wide),)), now=NOW).blocks
    check_message_blocks(seen)
    assert {len(row) for table in _tables(seen) for row in table["rows"]} == {20}
    assert "*… 7 more columns — Show all*" in shown_card(seen)


def test_a_declared_table_stays_the_only_one_of_its_message() -> None:
    view = replace(KYC, declared=FILING, fields=(FieldView("owners", None, OWNERS),))
    seen = card(view, now=NOW).blocks
    check_message_blocks(seen)
    assert len(_tables(seen)) == 1


PAGE = (Path(__file__).parents[2] / "docs" / "cards.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
PARAMS = {
    "client": {"id": "C-17", "name": "Halden Shipping"},
    "limit": 250_000,
    "until": "2026-12-31",
    "guarantors": [{"name": "Ingrid Halvorsen", "part": 60}, {"name": "Tobias Lindqvist", "part": 40}],
}
RUNBOOK = """name: limit
version: 1
title: T
trigger:
  type: bank.limit
  schema: {type: object, required: [asked], additionalProperties: false, properties: {asked: {type: object}}}
steps: [{id: raise, verb: raise_limit, params: {client: {id: x}, limit: 1, until: "2026-12-31", guarantors: []}}]
"""


async def act(call: Call) -> JsonObject:
    return call.params


async def look_back(call: Call) -> Reconciled:
    return Done(call.params)


def _verb(folder: Path) -> Verb:
    folders = [pack(folder, verbs_bank=EXAMPLE, runbooks_limit=RUNBOOK)]
    catalog = load_catalog(folders, {"bank::set_limit": Handler(act, reconcile=look_back)})
    assert catalog.problems == ()
    return catalog.definitions["limit", 1].verbs["raise_limit"]


def test_example_shows_what_the_page_says(tmp_path: Path) -> None:
    declared = _verb(tmp_path).card
    assert declared is not None
    shown = evaluate_card(declared, {"params": PARAMS, "before": {}, "run": {}})
    found = card(replace(KYC, declared=Declared.of(shown)), now=NOW)
    words = "\n".join(read(one["text"]) for one in text_objects(found.blocks))
    for expected in (
        "*🟡 Approval needed · ",
        "Raise the limit of Halden Shipping to 250000 euros",
        "The client can draw on it at once.",
        "*New limit*\n250,000\n*Until*\n31 December 2026\n*Client*\n`C-17`",
        "*Guarantors*\nName\nPart\nIngrid Halvorsen\n60 %\nTobias Lindqvist\n40 %",
        "<https://files.example/clients/C-17|The client's file>",
    ):
        assert expected in words


def test_page_names_every_format() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.split("| `format` |")[1].split("\n\n")[0], re.MULTILINE)
    assert set(listed) == {form.value for form in Format}


OWNERS_TABLE = DeclaredTable("Owners", (("Name", "text"), ("Share", "percent")), (("Ann", "36"),) * 9, 12)
VIEW = replace(KYC, declared=Declared(tables=(OWNERS_TABLE, replace(OWNERS_TABLE, title="Others"))))


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
