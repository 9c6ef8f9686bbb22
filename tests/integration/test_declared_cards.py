"""A card that its author declared: evaluated when people are asked, without what nobody may see, and kept as it was."""

import json

import pytest

from receipts import canonical
from receipts.chain import MAX_CARD
from runtime.services.approval_view import NOTHING, ApprovalView, Declared, DeclaredField
from runtime.services.cards import StoredCards
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener

_FILING = """
steps:
  - id: noted
    verb: note
    params: { incident: I1, text: a word, api_token: "${trigger.word}" }
  - id: filing
    needs: [noted]
    verb: file
    params: { company: "${trigger.company}", text: the owners }
    card: CARD
"""


async def _asked(bench: Bench, trigger: dict[str, str]) -> ApprovalView:
    await bench.start("bench.tree", trigger)
    await bench.settle()
    view = await bench.desk.approval(await bench.approval_id())
    assert view is not None
    return view


def _runbook(card: str) -> str:
    return _FILING.replace("CARD", card)


async def test_a_card_says_what_its_author_declared(opened: Opener) -> None:
    card = (
        '{ title: "File for ${trigger.company}", summary: "Of ${run.definition}, ${state.size() == 0}",'
        ' fields: [{ label: Text, value: "${params.text}", format: code }], hide: [text] }'
    )
    async with opened(_runbook(card)) as bench:
        view = await _asked(bench, {"company": "ACME", "word": "t-0123456789abcdef"})
        assert view.declared == Declared(
            title="File for ACME",
            summary="Of tree, true",
            fields=(DeclaredField("Text", "the owners", "code"),),
            hide=frozenset({"text"}),
        )
        assert await StoredCards(bench.engine).title(view.approval_id) == "File for ACME", "messages call it so, too"


async def test_what_has_no_title_of_its_author_is_called_by_none(opened: Opener) -> None:
    async with opened(_runbook("{ fields: [{ label: Text, value: word }] }")) as bench:
        view = await _asked(bench, {"company": "ACME", "word": "t-0123456789abcdef"})
        assert await StoredCards(bench.engine).title(view.approval_id) == ""
        assert await StoredCards(bench.engine).title("apr_none") == ""


async def test_what_is_redacted_anywhere_in_the_run_is_on_no_card(opened: Opener) -> None:
    card = '{ title: "File with ${trigger.word}", summary: "${trigger.api_token}" }'
    secret = "hush-0123456789abcdef"
    async with opened(_runbook(card)) as bench:
        view = await _asked(bench, {"company": "ACME", "word": secret, "api_token": f"also-{secret}"})
        (row,) = await bench.rows("SELECT shown FROM approvals WHERE shown IS NOT NULL")
        assert secret not in json.dumps(row["shown"])
        assert view.declared.title.startswith("File with ")
        assert secret not in str(view.declared)


async def test_what_cannot_be_evaluated_holds_up_no_approval(opened: Opener, targets: Targets) -> None:
    card = '{ title: "${trigger.gone}", fields: [{ label: Gone, value: "${before.gone}" }] }'
    async with opened(_runbook(card)) as bench:
        view = await _asked(bench, {"company": "ACME", "word": "t"})
        assert (view.declared.title, view.declared.fields) == ("", ())
        assert (await bench.click("ann", view.approval_id)).counted
        assert (await bench.click("ben", view.approval_id)).counted
        await bench.settle()
        assert len(targets.file.calls) == 1


async def test_a_verb_without_a_card_declares_nothing(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    view = await bench.desk.approval(await bench.approval_id())
    assert view is not None
    assert view.declared == NOTHING


async def test_no_card_is_kept_that_a_verifier_would_refuse(opened: Opener) -> None:
    async with opened(_runbook("{ fields: [{ label: Text, value: word }] }")) as bench:
        asked, cards = (await _asked(bench, {"company": "ACME", "word": "all"})).approval_id, StoredCards(bench.engine)
        room = MAX_CARD - len(canonical.dumps({"text": ""}))
        await cards.remember(asked, "C01", "1.1", {"text": "x" * room})
        with pytest.raises(ValueError, match=f"a card has {MAX_CARD + 1} bytes, and may have {MAX_CARD}"):
            await cards.remember(asked, "C01", "1.1", {"text": "x" * (room + 1)})
        (row,) = await bench.rows("SELECT json_array_length(cards) AS kept FROM approvals")
        assert row["kept"] == 1
