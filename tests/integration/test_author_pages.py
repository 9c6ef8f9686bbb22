"""Pages for authors: nodes, waits, cards, and sentences that runbooks say.

The page about nodes: each of its examples loads, and runs as the page says.

The page for workflow authors: its examples of waits, signatures and reminders run as it says.

What an author wants to say, each sentence as a runbook of its own, against the real parts.

A card that its author declared: evaluated when people are asked, without what nobody may see, and kept as it was.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts import canonical
from receipts.chain import MAX_CARD
from runtime.definitions.nodes import NodeKind
from runtime.handlers import RefusedError
from runtime.services.approval_view import NOTHING, ApprovalView, Declared, DeclaredField
from runtime.services.cards import StoredCards
from runtime.services.signals import Signal, SignalService
from tests.bench import TENANT, Bench, Target, open_bench
from tests.integration.acts_stage import Opener, status
from tests.integration.conftest import PATIENCE, Targets
from tests.patience import MINUTE

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = dict(re.findall(r"\n## ([^\n]+)\n.*?```yaml\n(.*?)```", (DOCS / "nodes.md").read_text("utf-8"), re.DOTALL))
VERBS = re.findall(r"```yaml\n(.*?)```", (DOCS / "definitions.md").read_text("utf-8"), re.DOTALL)[0]
HEAD = """name: {name}
version: 1
title: An example
trigger:
  type: desk.{name}
  schema:
    properties: {{ lei: {{ type: string }}, case_id: {{ type: uuid }}, due: {{ type: string, format: date-time }} }}
"""
COMPANION = 'steps: [{ id: one, set: { seen: true } }]\noutput: { lei: "${trigger.lei}" }\n'
LEI, OTHER = "5299000J2N45DDNE4Y28", "529900T8BM49AURSDO55"
FOUND = {"company": {"lei": LEI, "subsidiaries": [{"lei": LEI}, {"lei": OTHER}, {"lei": LEI}]}, "complete": True}


@asynccontextmanager
async def desk(
    dsn: str, opa: OpaChild, folder: Path, example: str, register: Target, **whole: str
) -> AsyncIterator[Bench]:
    """Give a bench with an example, with a runbook beside it to start, and with `whole` files of others."""
    runbooks = {"example": example, "companion": COMPANION}
    files = {f"runbooks/{name}.yaml": HEAD.format(name=name) + text for name, text in runbooks.items()}
    files |= {f"runbooks/{name}.yaml": text for name, text in whole.items()}
    for name, text in {**files, "verbs/desk.yaml": VERBS}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    handlers = {
        "register::look_up": register.handler(writes=False),
        **{f"portal::{operation}": Target().handler() for operation in ("request_documents", "close_request")},
    }
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [folder], handlers) as found,
    ):
        yield found


RUNS: dict[str, dict[str, Any]] = {
    "call": {"state": {"why": "refused: no such company", "ended": "failed_handled"}},
    "set and reference": {"output": {"rounds": 1, "reference": f"company:{LEI}"}},
    "Steps that need attention": {},
    "switch": {"state": {"todo": "nothing"}},
    "repeat": {},
    "wait": {"state": {"closed": False}},
    "run and continue_with": {},
    "end": {"outcome": "rejected", "output": {"why": "nobody answered"}},
}


@pytest.mark.parametrize("section", SECTIONS)
async def test_each_example_runs_as_the_page_says(dsn: str, opa: OpaChild, tmp_path: Path, section: str) -> None:
    register = Target(default=FOUND, answers=[RefusedError("no such company")] if section == "call" else [])
    async with desk(dsn, opa, tmp_path, SECTIONS[section], register) as bench:
        run_id = (await bench.start("desk.example", {"lei": LEI, "due": "2026-01-06T09:00:00Z"})).run_id
        await bench.settle()
        for _ in range(8):
            await bench.later(days=1)
        (row,) = await bench.rows("SELECT status, outcome, state, output FROM runs WHERE run_id = %s", run_id)
        assert row["status"] == "succeeded", (await bench.run(run_id))["steps"]
        assert {name: row[name] for name in RUNS[section]} == RUNS[section]


async def test_what_the_example_of_repeats_gives(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with desk(dsn, opa, tmp_path, SECTIONS["repeat"], Target(default=FOUND)) as bench:
        run_id = (await bench.start("desk.example", {"lei": LEI})).run_id
        await bench.settle()
        rows = await bench.rows("SELECT path, result FROM steps WHERE run_id = %s", run_id)
        results = {row["path"]: row["result"] for row in rows}
        assert results["each"] == {"count": 3, "results": [True, True, True]}
        assert results["rounds"] == {"count": 1, "met": True}


def test_every_kind_has_its_section() -> None:
    said = " ".join(SECTIONS)
    assert all(kind in said for kind in NodeKind if kind is not NodeKind.BRANCH)
    assert SECTIONS.keys() == RUNS.keys()


PAGE = (DOCS / "workflow-author.md").read_text("utf-8")
UNTIL, ESCALATED, WEEKLY = re.findall(r"```yaml\n(steps:.*?)```", PAGE, re.DOTALL)
(REMIND,) = re.findall(r"```yaml\n(name: remind-portal\n.*?)```", PAGE, re.DOTALL)
CASE = "6f1a3c52-0b1d-4c8e-9a53-0f6c1f0f2f11"


async def start(bench: Bench) -> str:
    trigger = {"lei": LEI, "case_id": CASE, "due": "2026-01-12T09:00:00Z"}
    run_id = (await bench.start("desk.example", trigger)).run_id
    await bench.settle()
    return run_id


async def days(bench: Bench, count: int) -> None:
    for _ in range(count):
        await bench.later(days=1)


async def test_a_step_waits_until_a_day_before_it_is_due_and_who_signed_is_kept(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with desk(dsn, opa, tmp_path, UNTIL, Target(default=FOUND)) as bench:
        run_id = await start(bench)
        await days(bench, 5)
        assert (await bench.run(run_id))["steps"]["ask"]["status"] == "parked"
        await days(bench, 1)
        (run,) = await bench.rows("SELECT status, state FROM runs WHERE run_id = %s", run_id)
        assert run == {"status": "succeeded", "state": {"answered": False, "approved_by": []}}


async def test_another_system_is_reminded_each_week_until_it_answers(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    register = Target(default=FOUND)
    async with desk(dsn, opa, tmp_path, ESCALATED, register, remind=REMIND) as bench:
        run_id = await start(bench)
        for weeks in (1, 2):
            await days(bench, 7)
            assert [call.params for call in register.calls] == [{"lei": LEI}] * weeks
        assert (await bench.complete(f"acme:ask_client:{CASE}", {}, verbs=["ask_client"]))["status"] == "applied"
        await days(bench, 8)
        assert len(register.calls) == 2
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_repeat_reminds_each_week_until_the_signal_comes(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    register = Target(default=FOUND)
    async with desk(dsn, opa, tmp_path, WEEKLY, register) as bench:
        run_id = await start(bench)
        await days(bench, 14)
        assert len(register.calls) == 2
        answered = Signal(ref="s1", run_id=run_id, reference=None, name="answered", data={})
        await SignalService(bench.engine, TENANT).send("portal-bot", ["desk.example"], answered)
        await days(bench, 7)
        assert len(register.calls) == 2
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_ask_the_client_again_with_what_is_still_missing(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: begin, set: { missing: articles register } }
  - id: rounds
    needs: [begin]
    repeat:
      until: "state.missing == ''"
      at_most: 3
      do:
        - { id: ask, verb: await_answer, params: { case: "${state.missing + string(index)}" } }
        - { id: left, set: { missing: "${steps.ask.result.answer}" } }
  - id: complete
    switch:
      cases:
        - when: "steps.rounds.result.met"
          do: [{ id: done, end: { outcome: complete } }]
      else: [{ id: give_up, end: { outcome: incomplete } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for number, (asked, answer) in enumerate((("articles register", "register"), ("register", ""))):
            await bench.complete(f"acme:await_answer:{asked}{number}", {"answer": answer}, dedupe=f"c{number}")
            await bench.settle()
        assert [call.params["case"] for call in targets.portal.calls] == ["articles register0", "register1"]
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "complete"}


async def test_after_three_rounds_the_case_ends_as_incomplete(opened: Opener) -> None:
    runbook = """
steps:
  - id: rounds
    repeat:
      until: "steps.ask.result.answer == 'all'"
      at_most: 3
      do: [{ id: ask, verb: await_answer, params: { case: "C${index}" } }]
  - id: incomplete
    when: "!steps.rounds.result.met"
    end: { outcome: incomplete }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for number in range(3):
            await bench.complete(f"acme:await_answer:C{number}", {"answer": "some"}, dedupe=f"c{number}")
            await bench.settle()
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "incomplete"}


async def test_if_the_filing_is_rejected_still_write_the_note(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: filing
    verb: file
    params: { company: X, text: report }
    on:
      rejected:
        - { id: why, set: { why: "${error.message}" } }
  - { id: note, needs: [filing], verb: note, params: { incident: I1, text: "${steps.filing.status}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await bench.click("ann", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        assert [call.params["text"] for call in targets.note.calls] == ["failed_handled"]
        assert targets.file.calls == []
        (row,) = await bench.rows("SELECT status, state FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "state": {"why": "rejected by Ann: not like this"}}


async def test_one_letter_for_each_subsidiary(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: letters
    repeat:
      for_each: "${['A', 'B', 'C', 'D']}"
      at_most_at_once: 3
      do: [{ id: write, verb: note, params: { incident: "${item}", text: "Dear ${item}" } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await status(bench, run_id))["run"] == "succeeded"
        assert sorted(call.params["text"] for call in targets.note.calls) == [f"Dear {one}" for one in "ABCD"]


async def test_whoever_answers_no_ends_the_run_as_rejected(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: filing
    verb: file
    params: { company: X, text: report }
    on: { rejected: [{ id: over, end: { outcome: rejected } }] }
  - { id: long, wait: { for: P30D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await bench.click("ben", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "rejected"}
        assert (await status(bench, run_id))["long"] == "canceled"


async def test_if_nobody_reviews_senior_compliance_has_three_more_days(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PATIENCE], targets.handlers()) as bench,
    ):
        run_id = (await bench.start("patience.review", {})).run_id
        await bench.settle()
        for _ in range(8):
            await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "waiting", "its own time was seven days"
        assert (await bench.click("sue", await bench.approval_id("task"))).counted
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "succeeded"


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
