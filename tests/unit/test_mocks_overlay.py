"""The overlay's file: everything that is wrong with it is named at once, with its place, before anything starts."""

from pathlib import Path

import pytest

from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.problems import InvalidDefinitionsError
from runtime.handlers import Handler
from runtime.worker.mocks import Overlay, overlaid, read_overlay
from tests.unit.test_definitions_catalog import GOOD, HANDLERS, act, pack

VERBS = """verbs:
  - name: score
    domain: desk
    description: Score a company
    execution: { kind: sync, handler: "register::look_up" }
    effect: { class: read }
    input_schema: { properties: {} }
    output_schema: { required: [score], properties: { score: { type: number } } }
  - name: ask
    domain: desk
    description: Ask somebody
    execution: { kind: durable, handler: "tasks::open", wait: external, timeout: P1D }
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "${run.id}", in_doubt: ask }
    input_schema: { properties: {} }
    output_schema: { required: [said], properties: { said: { type: string } } }
"""
RUNBOOK = """name: probe
version: 1
title: T
trigger: { type: desk.probe, schema: {} }
steps: [{ id: score, verb: score }, { id: ask, verb: ask }]
"""
FITTING = 'handlers: {"register::look_up": {result: {score: 3}}, "tasks::open": {answer: {said: aye}, delay: PT2S}}'


def read(folder: Path, text: str) -> Overlay:
    catalog = load_catalog([pack(folder / "desk", verbs_x=VERBS, runbooks_x=RUNBOOK)], HANDLERS)
    assert catalog.problems == ()
    file = folder / "overlay.yaml"
    file.write_text(text, encoding="utf-8")
    return read_overlay(file, HANDLERS, catalog.definitions.values())


def test_a_mock_knows_what_it_gives_and_the_verbs_that_it_stands_behind(tmp_path: Path) -> None:
    overlay = read(tmp_path, FITTING)
    assert overlay["register::look_up"].result == {"score": 3}
    assert (overlay["tasks::open"].answer, overlay["tasks::open"].verbs) == ({"said": "aye"}, ("ask",))
    assert overlay["tasks::open"].delay.total_seconds() == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("handlers: {}", ["1: handlers: may not be empty"]),
        ("mocks: {}", ["1: $: the key 'handlers' is missing", "1: mocks: unknown key 'mocks'"]),
        ("handlers: {'tasks::open': 3}", ["1: handlers.tasks::open: expected a mapping, not 3"]),
        ("handlers: {'tasks::close': {\n  wait: P1D}}", ["2: handlers.tasks::close.wait: the key 'wait' does not"]),
        (
            "handlers: {'tasks::clsoe': {}}",
            ["1: handlers.tasks::clsoe: unknown handler 'tasks::clsoe' (did you mean 'tasks::close'?)"],
        ),
        (
            "handlers: {'slack::post_card': {}}",
            ["1: handlers.slack::post_card: 'slack::post_card' is the runtime's own and stays what it is"],
        ),
        ("handlers: {'tasks::close': {delay: soon}}", ["1: handlers.tasks::close.delay: 'soon' is not"]),
        (
            "handlers: {'tasks::close': {fails: {kind: refused, message: never, times: 0}}}",
            ["1: handlers.tasks::close.fails.times: input should be greater than or equal to 1"],
        ),
        (
            "handlers:\n  'register::look_up': {result: {score: high}}\n  'tasks::open': {answer: {}}",
            [
                "2: handlers.register::look_up.result.score: does not fit the verb 'score': 'high' is not of type",
                "3: handlers.tasks::open.answer: does not fit the verb 'ask': 'said' is a required property",
            ],
        ),
        (
            "handlers: {'register::look_up': {result: {score: 1}, answer: {}}, 'tasks::open': {}}",
            [
                "1: handlers.register::look_up.answer: the verb 'score' waits for no answer",
                "1: handlers.tasks::open: the durable verb 'ask' needs the 'answer' that ends its wait",
            ],
        ),
    ],
)
def test_whatever_is_wrong_is_named_at_once_with_its_place(tmp_path: Path, text: str, said: list[str]) -> None:
    with pytest.raises(InvalidDefinitionsError) as caught:
        read(tmp_path, text)
    found = [str(problem).removeprefix(f"{tmp_path}/overlay.yaml:") for problem in caught.value.problems]
    assert len(found) == len(said), found
    assert all(one.startswith(start) for one, start in zip(sorted(found), sorted(said), strict=True)), found


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidDefinitionsError, match="cannot be read: No such file"):
        read_overlay(tmp_path / "none.yaml", HANDLERS, load_catalog([GOOD], HANDLERS).definitions.values())


def test_a_mock_reads_where_the_real_one_reads_and_tells_what_became_of_it_where_that_can(tmp_path: Path) -> None:
    async def nobody(*_: object) -> None:
        raise AssertionError

    handlers = {**HANDLERS, "slack::post_card": Handler(act)}
    found = overlaid(handlers, read(tmp_path, FITTING), nobody)
    assert found.keys() == handlers.keys()
    assert {name: one.writes for name, one in found.items()} == {name: one.writes for name, one in handlers.items()}
    assert [name for name, one in found.items() if one.reconcile] == ["crud::execute", "tasks::close"]
    assert found["slack::post_card"] is handlers["slack::post_card"]
    assert found["crud::read"] is handlers["crud::read"], "a read that is not mocked reads"
