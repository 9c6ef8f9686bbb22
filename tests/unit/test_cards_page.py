"""The page about cards: its example loads, and shows what the page says."""

import re
from dataclasses import replace
from pathlib import Path

from bot.views.card import card
from runtime.definitions.card_evaluation import evaluate_card
from runtime.definitions.cards import Format
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.model import Verb
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled
from runtime.services.approval_view import Declared
from tests.unit.bot_samples import KYC, NOW, read, text_objects
from tests.unit.test_definitions_catalog import pack

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
