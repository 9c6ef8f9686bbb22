"""The reference page: its examples load, its sample problems are the real ones, and its lists are complete."""

import re
from pathlib import Path
from textwrap import indent

from runtime.definitions.cel.expressions import FUNCTIONS
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.schemas import FORMATS
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled
from tests.unit.test_definitions_catalog import pack

PAGE = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
VERBS, PATIENCE, REVIEW, RUNBOOK, RESPONSE, ABOUT = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


async def act(call: Call) -> JsonObject:
    return call.params


async def look_back(call: Call) -> Reconciled:
    return Done(call.params)


def problems(folder: Path, verbs: str, runbook: str) -> list[str]:
    for kind, name, text in (("verbs", "desk", verbs), ("runbooks", "onboard", runbook)):
        (folder / kind).mkdir()
        (folder / kind / f"{name}.yaml").write_text(text, encoding="utf-8")
    handlers = {"register::look_up": Handler(act, writes=False)}
    handlers |= {name: Handler(act) for name in ("portal::request_documents", "portal::close_request")}
    return [str(problem).replace(str(folder), "packs/desk") for problem in load_catalog([folder], handlers).problems]


def test_examples_have_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, VERBS, RUNBOOK) == []


REVIEWING = """name: check
version: 1
title: T
trigger: { type: desk.check, schema: {} }
steps:
  - { id: review, verb: ask_for_review, params: { title: Look, groups: [desk], company: { lei: X } } }
  - { id: after, verb: wait_for, when: "steps.review.result.decision == 'approved'", params: { duration: PT1H } }
"""


def test_example_of_a_review_has_no_problems_and_its_answers_are_known(tmp_path: Path) -> None:
    pack(tmp_path / "good", verbs_desk=REVIEW, runbooks_check=REVIEWING)
    pack(tmp_path / "bad", verbs_desk=REVIEW, runbooks_check=REVIEWING.replace("'approved'", "'yes'"))
    handlers = {"slack::post_task": Handler(act, reconcile=look_back)}
    good = load_catalog([tmp_path / "good"], handlers)
    assert (good.problems, good.warnings) == ((), ())
    assert [each.code for each in load_catalog([tmp_path / "bad"], handlers).problems] == ["never"]


SAYING = """name: said
version: 1
title: T
trigger: { type: desk.said, schema: { required: [company], properties: { company: { type: string } } } }
steps: [{ id: late, end: { outcome: timed_out } }]
"""


def test_example_of_what_is_said_at_the_end_has_no_problems(tmp_path: Path) -> None:
    pack(tmp_path, runbooks_said=SAYING + RESPONSE)
    catalog = load_catalog([tmp_path], {})
    assert (catalog.problems, catalog.warnings) == ((), ())


def test_example_of_triggers_about_the_same_has_no_problems(tmp_path: Path) -> None:
    waiting = "steps: [{ id: word, wait: { signal: incident_updated, timeout: P1D } }]\n"
    pack(tmp_path, runbooks_look="name: look\nversion: 1\ntitle: T\n" + ABOUT + waiting)
    catalog = load_catalog([tmp_path], {})
    assert catalog.problems == ()
    about = catalog.definitions["look", 1].about
    assert about is not None
    assert about.signal == "incident_updated"


LOOKING_AFTER = """name: look-after
version: 1
title: T
trigger:
  type: desk.look_after
  schema:
    required: [run, step, reference, what]
    properties: { run: { type: string }, step: { type: string }, reference: { type: string }, what: { type: string } }
steps: [{ id: pause, verb: wait_for, params: { duration: PT1H } }]
"""


def test_example_of_patience_has_no_problems_in_the_review(tmp_path: Path) -> None:
    simple = re.compile(r"      timeout: .*\n      escalation: .*\n")
    patient = simple.sub(indent(PATIENCE, " " * 6), REVIEW)
    assert patient != REVIEW
    pack(tmp_path, verbs_desk=patient, runbooks_check=REVIEWING, runbooks_look_after=LOOKING_AFTER)
    catalog = load_catalog([tmp_path], {"slack::post_task": Handler(act, reconcile=look_back)})
    assert catalog.problems == ()
    verb = catalog.definitions["check", 1].verbs["ask_for_review"]
    assert [entry.after.days for entry in verb.escalation] == [5, 7, 9]
    assert [pause.days for pause in verb.remind] == [1, 2, 4]


def test_sample_problems_are_what_the_mistake_gives(tmp_path: Path) -> None:
    found = problems(tmp_path, VERBS, RUNBOOK.replace("documents: [", "documnets: ["))
    assert "\n".join(found) in PAGE
    assert len(found) == 2


def test_functions_and_formats_are_all_named() -> None:
    for name in FUNCTIONS | FORMATS.checkers.keys():
        assert f"`{name}`" in PAGE
