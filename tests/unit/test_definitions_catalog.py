"""The catalog of packs: bad files, their problems, and the reference page.

The catalog over packs on disk: each small file under ``definitions/bad`` says which problems it has to cause.

The reference page: its examples load, its sample problems are the real ones, and its lists are complete.
"""

import re
import shutil
import time
from pathlib import Path
from textwrap import indent

import pytest

from runtime.definitions.cel.expressions import FUNCTIONS
from runtime.definitions.loading.catalog import MOST_PLACES, Catalog, load_catalog
from runtime.definitions.model import EdgeKind
from runtime.definitions.problems import InvalidDefinitionsError
from runtime.definitions.schemas import FORMATS
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, Untouched

HERE = Path(__file__).parent / "definitions"
GOOD = HERE / "good"
BAD = sorted((HERE / "bad").glob("*/*.yaml"))
MARK = "# => "


async def act(call: Call) -> JsonObject:
    return call.params


async def look_back(call: Call) -> Reconciled:
    return Untouched()


HANDLERS = {
    "register::look_up": Handler(act, writes=False),
    "crud::execute": Handler(act, reconcile=look_back),
    "crud::read": Handler(act, writes=False),
    "tasks::open": Handler(act),
    "tasks::close": Handler(act, reconcile=look_back),
}


def load(*folders: Path) -> Catalog:
    return load_catalog(folders, HANDLERS)


def pack(folder: Path, **files: str) -> Path:
    """Write a pack: `verbs_x` becomes ``verbs/x.yaml``."""
    for name, text in files.items():
        kind, _, stem = name.partition("_")
        path = folder / kind / f"{stem}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def runbook(name: str = "probe", version: int = 1, trigger: str = "desk.probe", verb: str = "look_up") -> str:
    return (
        f"name: {name}\nversion: {version}\ntitle: T\ntrigger: {{type: {trigger}, schema: {{}}}}\n"
        f"steps:\n  - {{id: only, verb: {verb}, params: {{lei: LEI40000000000000000}}}}\n"
    )


@pytest.mark.parametrize("path", BAD, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_small_mistake_gives_exactly_the_message_that_its_file_expects(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.parent.name / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    lines = path.read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    problems = load(GOOD, tmp_path).problems
    assert expected
    assert [f"[{each.code}] {str(each).replace(f'{copy}:', 'line ')}" for each in problems] == expected


def test_sound_pack_has_no_problems_and_keeps_its_edges() -> None:
    catalog = load(GOOD)
    assert catalog.problems == ()
    definition = catalog.latest("onboard")
    assert definition is not None
    assert list(definition.steps) == ["look", "pause", "ask"]
    assert {(edge.source, edge.target): edge.kind for edge in definition.edges} == {
        ("look", "ask"): EdgeKind.DATA,
        ("pause", "ask"): EdgeKind.SEQUENCE,
    }


@pytest.mark.parametrize("more", [0, 1])
def test_a_file_with_too_many_keys_is_refused_before_they_are_looked_at(tmp_path: Path, more: int) -> None:
    keys = "".join(f"k{number}: 1\n" for number in range(MOST_PLACES + more))
    problems = load(pack(tmp_path, runbooks_many=keys)).problems
    refused = f"{tmp_path}/runbooks/many.yaml:1: $: has 20,001 keys and list items, and may have 20,000"
    assert [str(problem) for problem in problems if "20,00" in str(problem)] == [refused] * more
    assert (len(problems) == 1) is bool(more)


def test_uuid_shorthand_is_written_out() -> None:
    definition = load(GOOD).latest("onboard")
    assert definition is not None
    assert definition.trigger_schema["properties"]["case_id"] == {"type": "string", "format": "uuid"}


def test_verb_carries_the_definitions_that_it_needs_and_no_others() -> None:
    definition = load(GOOD).latest("onboard")
    assert definition is not None
    assert list(definition.verbs["look_up"].output_schema["definitions"]) == ["Node"]
    assert "definitions" not in definition.verbs["ask_client"].input_schema


def test_strict_start_refuses_and_lists_every_problem(tmp_path: Path) -> None:
    pack(tmp_path, runbooks_a=runbook("a", trigger="t.a", verb="nope"), runbooks_b=runbook("b", version=0))
    catalog = load(GOOD, tmp_path)
    with pytest.raises(InvalidDefinitionsError) as refused:
        catalog.require("strict")
    assert [problem.code for problem in refused.value.problems] == ["unknown_verb", "shape"]
    assert str(refused.value).count("\n") == 1


def test_warn_start_marks_the_invalid_one_unavailable_and_the_rest_runs(tmp_path: Path) -> None:
    catalog = load(GOOD, pack(tmp_path, runbooks_probe=runbook(verb="nope")))
    catalog.require("warn")
    assert catalog.unavailable == {"probe"}
    assert catalog.latest("probe") is None
    assert catalog.latest("onboard") is not None


def test_sound_catalog_passes_a_strict_start() -> None:
    load(GOOD).require("strict")


def test_runbook_whose_verb_has_a_problem_is_unavailable_without_a_problem_of_its_own(tmp_path: Path) -> None:
    verb = (HERE / "bad/verbs/unknown_handler.yaml").read_text(encoding="utf-8")
    sound = runbook(verb="probe").replace("{lei: LEI40000000000000000}", "{}")
    catalog = load(GOOD, pack(tmp_path, verbs_v=verb, runbooks_r=sound))
    assert [problem.code for problem in catalog.problems] == ["unknown_handler"]
    assert catalog.unavailable == {"probe"}


def test_latest_version_is_the_one_that_starts_and_older_ones_stay(tmp_path: Path) -> None:
    catalog = load(GOOD, pack(tmp_path, runbooks_one=runbook(version=9), runbooks_two=runbook(version=10)))
    started = catalog.latest("probe")
    assert started is not None
    assert started.version == 10
    assert {("probe", 9), ("probe", 10)} < catalog.definitions.keys()


def test_names_and_triggers_of_the_program_are_not_for_packs(tmp_path: Path) -> None:
    named = runbook(name="countersign-activate")
    claiming = runbook(name="probe", trigger="countersign.retire")
    catalog = load(GOOD, pack(tmp_path, runbooks_one=named, runbooks_two=claiming))
    assert [(problem.code, problem.path) for problem in catalog.problems] == [
        ("reserved", "name"),
        ("reserved", "trigger.type"),
    ]
    assert catalog.unavailable == {"countersign-activate", "probe"}
    assert ("countersign-activate", 1) not in catalog.definitions


def test_nothing_starts_while_the_newest_version_is_invalid(tmp_path: Path) -> None:
    pack(tmp_path, runbooks_one=runbook(), runbooks_two=runbook(version=2, verb="nope"))
    catalog = load(GOOD, tmp_path)
    assert catalog.latest("probe") is None
    assert ("probe", 1) in catalog.definitions


def test_two_names_cannot_claim_one_trigger_type(tmp_path: Path) -> None:
    pack(tmp_path, runbooks_a=runbook("a"), runbooks_b=runbook("b"))
    catalog = load(GOOD, tmp_path)
    assert [str(problem) for problem in catalog.problems] == [
        f"{tmp_path}/runbooks/{name}.yaml:4: trigger.type: the trigger type 'desk.probe' is claimed by a and b"
        for name in "ab"
    ]
    assert catalog.unavailable == {"a", "b"}


def test_one_version_cannot_stand_in_two_files(tmp_path: Path) -> None:
    pack(tmp_path, runbooks_a=runbook(), runbooks_b=runbook())
    catalog = load(GOOD, tmp_path)
    first, second = (f"{tmp_path}/runbooks/{name}.yaml" for name in "ab")
    message = f"{second}:2: version: version 1 of 'probe' stands already in {first}"
    assert [str(problem) for problem in catalog.problems] == [message]
    assert ("probe", 1) not in catalog.definitions


def test_verb_declared_in_two_packs_is_a_problem_and_neither_counts(tmp_path: Path) -> None:
    verbs = (GOOD / "verbs/desk.yaml").read_text(encoding="utf-8")
    catalog = load(GOOD, pack(tmp_path, verbs_again=verbs))
    place = f"{tmp_path}/verbs/again.yaml:9: verbs[0].name"
    message = f"{place}: the verb 'look_up' is declared already in {GOOD}/verbs/desk.yaml:9"
    assert message in [str(problem) for problem in catalog.problems]
    assert catalog.unavailable == {"onboard"}


def test_builtin_verb_cannot_be_declared_again(tmp_path: Path) -> None:
    verb = (HERE / "bad/verbs/unknown_handler.yaml").read_text(encoding="utf-8").replace("probe", "wait_for")
    catalog = load(GOOD, pack(tmp_path, verbs_v=verb))
    assert "the verb 'wait_for' is declared already in builtin.yaml:2" in [each.message for each in catalog.problems]


def test_unreadable_runbook_is_unavailable_under_the_name_of_its_file(tmp_path: Path) -> None:
    catalog = load(GOOD, pack(tmp_path, runbooks_broken="name: [\n"))
    assert catalog.unavailable == {"broken"}
    assert [problem.code for problem in catalog.problems] == ["yaml"]


def test_file_that_would_be_passed_over_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "verbs").mkdir()
    stray = tmp_path / "verbs" / "desk.yml"
    stray.touch()
    problems = load(GOOD, tmp_path, tmp_path / "none").problems
    assert [str(problem) for problem in problems] == [
        f"{tmp_path}/none:1: $: there is no such folder",
        f"{stray}:1: $: only files that end in .yaml are read",
    ]


def test_problems_come_sorted_by_file_and_line(tmp_path: Path) -> None:
    for path in BAD[::9]:
        target = tmp_path / path.parent.name / path.name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    problems = load(tmp_path, GOOD).problems
    places = [(problem.file, problem.line) for problem in problems]
    assert len(places) > 10
    assert places == sorted(places)


def test_twenty_files_load_well_under_300_milliseconds(tmp_path: Path) -> None:
    source = (GOOD / "runbooks/onboard.yaml").read_text(encoding="utf-8")
    for number in range(20):
        text = source.replace("onboard", f"onboard{number}")
        pack(tmp_path, **{f"runbooks_r{number}": text})
    begin = time.process_time()
    catalog = load(GOOD, tmp_path)
    assert time.process_time() - begin < 0.3
    assert len(catalog.definitions) == 21


def test_a_problem_of_a_verb_hides_none_of_the_runbook_that_uses_it(tmp_path: Path) -> None:
    text = (GOOD / "verbs/desk.yaml").read_text(encoding="utf-8").replace("register::look_up", "register::look_upp")
    folder = pack(tmp_path, verbs_desk=text, runbooks_probe=runbook().replace("lei: LEI4", "leii: LEI4"))
    found = {(Path(problem.file).name, problem.code) for problem in load(folder).problems}
    assert ("desk.yaml", "unknown_handler") in found
    assert {code for file, code in found if file == "probe.yaml"} == {"missing_param", "unknown_field"}
    assert load(folder).latest("probe") is None


STARTING = """verbs:
  - name: probe
    domain: desk
    description: A verb that starts a runbook when it waits too long
    execution:
      kind: durable
      handler: "tasks::open"
      wait: external
      timeout: P2D
      escalation: [{ after: P1D, start: rescue }]
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "${run.id}", in_doubt: ask }
    input_schema: {}
"""
RESCUE = """name: rescue
version: 1
title: Look after it
trigger: { type: desk.rescue, schema: { required: [SAID], properties: { run: { type: string }, WHAT } } }
steps: [{ id: pause, verb: wait_for, params: { duration: PT1H } }]
"""
PROBING = "name: probing\nversion: 1\ntitle: T\ntrigger: { type: desk.probing, schema: {} }\n"
OTHERS = "step: { type: string }, reference: { type: string }, what: { type: string }"


@pytest.mark.parametrize(
    ("said", "what", "problem"),
    [
        ("run", OTHERS, ""),
        ("lei", f"{OTHERS}, lei: {{ type: string }}", "'rescue' does not take what it is started with: "),
        ("run", OTHERS.replace("what:", "why:"), "'rescue' does not take what it is started with: what: "),
        ("run", OTHERS.replace("step: { type: string }", "step: { type: integer }"), "'rescue' does not take what"),
    ],
)
def test_a_runbook_that_is_started_takes_what_it_is_started_with(
    tmp_path: Path, said: str, what: str, problem: str
) -> None:
    rescue, step = RESCUE.replace("SAID", said).replace("WHAT", what), "escalation: [{ after: P1D, start: rescue }]"
    by_verb = pack(tmp_path / "verb", verbs_desk=STARTING, runbooks_rescue=rescue)
    silent = STARTING.replace("escalation", "retry").replace("[{ after: P1D, start: rescue }]", "{ ladder: [PT1S] }")
    asking = f"{PROBING}steps: [{{ id: a, verb: probe, {step} }}]\n"
    by_step = pack(tmp_path / "step", verbs_desk=silent, runbooks_rescue=rescue, runbooks_probing=asking)
    for folder in (by_verb, by_step):
        found = [each.message for each in load_catalog([folder], HANDLERS).problems]
        assert [message[: len(problem)] for message in found[:1]] == ([problem] if problem else [])


def test_of_many_unknown_keys_the_first_hundred_are_named_and_the_others_counted(tmp_path: Path) -> None:
    (tmp_path / "verbs").mkdir()
    (tmp_path / "verbs" / "many.yaml").write_text("".join(f"verbz{number}: 1\n" for number in range(9000)))
    problems = [str(problem) for problem in load(tmp_path).problems]
    assert len(problems) == 101
    assert any("8,901 more problems here" in problem for problem in problems)  # with the key 'verbs', which is missing


PAGE = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
VERBS, PATIENCE, REVIEW, RUNBOOK, RESPONSE, ABOUT = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


async def look_back_done(call: Call) -> Reconciled:
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
    handlers = {"slack::post_task": Handler(act, reconcile=look_back_done)}
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
    catalog = load_catalog([tmp_path], {"slack::post_task": Handler(act, reconcile=look_back_done)})
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
