"""Replay: runs are planned again, and OPA gives each answer again.

A run planned again from its record comes out as it was; a planner that decides otherwise is found.

`--replay`: OPA gives each answer of a genuine bundle again, and exposes answers that its policy does not give.
"""

import json
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from countersign.cli.evidence_options import VerifierInputs
from countersign.cli.verify import verify_all
from evidence.replay import AskingError, Opa, replayed_by
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from runtime.handlers import RefusedError, TransientError
from runtime.planning import node_kinds, planner
from runtime.services.run_replay import Replayed, replay, replay_run
from runtime.services.sealing import Story
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import Opener, asked, edit, request_of
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import genuine, office, stories
from tests.integration.forger import Bend, Forged
from tests.opa_server import opa_program
from tests.patience import MINUTE
from tests.recorded import CORPUS, recorded_of
from tests.unit.evidence_sample import Office

__all__ = ["genuine", "office", "stories"]


TREE = """
state: { properties: { rounds: { type: integer } } }
steps:
  - { id: zero, set: { rounds: 0 } }
  - { id: known, reference: "case:${run.id}" }
  - id: look
    verb: look
  - id: route
    needs: [zero]
    switch:
      cases:
        - when: "steps.look.result.value > 5"
          do: [{ id: big, verb: note, params: { incident: I1, text: big } }]
      else:
        - id: letters
          repeat:
            for_each: "${['a', 'b', 'c']}"
            at_most_at_once: 2
            collect: "${item}"
            do: [{ id: write, verb: note, params: { incident: I1, text: "${item}" } }]
  - id: rounds
    needs: [route]
    repeat: { until: "state.rounds == 2", at_most: 5, do: [{ id: count, set: { rounds: "${state.rounds + 1}" } }] }
  - id: fails
    needs: [rounds]
    verb: note
    params: { incident: I1, text: again }
    on: { failure: [{ id: pause, wait: { for: PT1H } }] }
  - { id: skipped, needs: [fails], when: "false", verb: look }
output: { rounds: "${state.rounds}", letters: "${steps.route.result.branch}" }
"""


async def replayed(bench: Bench, run_id: str) -> Replayed:
    async with bench.engine.pool.connection() as conn:
        found = await replay_run(conn, TENANT, run_id)
    assert found is not None
    return found


async def play(bench: Bench, targets: Targets) -> str:
    """Play the tree: letters written, one tried again, the last note refused, a pause."""
    targets.look.answers = [TransientError("busy")]
    targets.note.answers = [{"ok": 1}, TransientError("busy"), {"ok": 2}, {"ok": 3}, RefusedError("closed")]
    run_id = (await bench.start("bench.tree", {})).run_id
    for _ in range(4):
        await bench.settle()
        await bench.later(hours=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    return run_id


async def test_a_run_is_planned_again_as_it_was(opened: Opener, targets: Targets) -> None:
    async with opened(TREE) as bench:
        found = await replayed(bench, await play(bench, targets))
    assert (found.difference, found.hidden) == (None, set())
    assert found.events == 9


async def test_a_planner_that_takes_another_case_is_found(
    opened: Opener, targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(TREE) as bench:
        run_id = await play(bench, targets)
        monkeypatch.setattr(node_kinds, "evaluate_condition", lambda *_: True)
        found = await replayed(bench, run_id)
    assert found.difference is not None
    assert found.difference.planned == "step.parked route (branch case_1)"
    assert found.difference.recorded == "step.parked route (branch else)"


async def test_a_planner_that_forgets_a_step_is_found_at_the_end(
    opened: Opener, targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened("steps: [{ id: a, set: { x: 1 } }, { id: b, needs: [a], set: { y: 1 } }]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        monkeypatch.setattr(planner, "_freed", lambda *_: [])
        found = await replayed(bench, run_id)
    assert found.difference is not None
    assert found.difference.recorded.startswith("step.succeeded b")


async def test_a_canceled_run_and_one_that_failed_are_planned_as_they_were(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: ask, verb: await_answer, params: { case: C1 } }
  - { id: file, verb: file, params: { company: X, text: y } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await replayed(bench, run_id)).difference is None
        assert (await bench.click("ann", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "failed_terminal"
        assert (await replayed(bench, run_id)).difference is None


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_runs_are_planned_by_todays_planner_as_they_were(path: Path) -> None:
    found = replay(recorded_of(json.loads(path.read_text("utf-8"))))
    assert (found.difference, found.hidden) == (None, set())


async def test_a_run_that_nobody_knows_is_none(opened: Opener) -> None:
    async with opened("steps: [{ id: a, set: { x: 1 } }]\n") as bench, bench.engine.pool.connection() as conn:
        assert await replay_run(conn, "other", (await bench.start("bench.tree", {})).run_id) is None


async def test_what_an_end_leaves_open_among_iterations_is_planned_as_it_was(opened: Opener) -> None:
    runbook = """
steps:
  - id: each
    repeat:
      for_each: "${[1, 2, 3, 4, 5]}"
      at_most_at_once: 3
      do:
        - { id: pause, wait: { for: "${item == 2 ? 'PT1H' : 'PT2H'}" } }
        - { id: stop, when: "item == 2", end: { outcome: enough } }
  - { id: beside, wait: { signal: go, timeout: P9D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(hours=1)
        assert (await replayed(bench, run_id)).difference is None
        said = [leaf.correlation.step or "" for leaf in await bench.chain(run_id) if leaf.event.startswith("step.")]
        left = said[said.index("each[1].stop") + 1 :]
        assert left == bench.definitions["bench.tree"].in_order(left)


async def test_a_run_of_which_a_request_was_edited_is_planned_again_as_it_was(editing: Bench) -> None:
    first = await asked(editing)
    assert await edit(editing, "ann", first, {"copies": 3}) is None
    await editing.settle()
    (row,) = await editing.rows("SELECT run_id FROM runs")
    for person in ("ben", "cat"):
        assert (await editing.click(person, await request_of(editing, row["run_id"]))).counted
    await editing.settle()
    assert (await editing.run(row["run_id"]))["status"] == "succeeded"
    found = await replayed(editing, row["run_id"])
    assert found.difference is None
    assert found.events


ALLOW_ALL = """package countersign.effect

decisions[place] := {"outcome": "allow", "tier": "low", "requirement": null, "reasons": [], "obligations": []} if {
	some place, _ in input
}
"""
NO_FLAWS = "package countersign.effect.config\n\nflaws := []\n"


@pytest.fixture(scope="module")
def again() -> Opa:
    return Opa(opa_program())


NAMES = [
    *("filed", "rejected", "expired", "doubt", "canceled", "timer", "late", "branches", "kyc", "incident"),
    *("nodes", "asked", "letters"),
]


@pytest.mark.parametrize("name", NAMES)
def test_policy_gives_each_answer_of_a_genuine_run_again(
    office: Office, stories: Mapping[str, Story], again: Opa, name: str
) -> None:
    report = verify(office.write(Forged.of(stories[name]).seal(office.key)), office.public, replayed_by(again))
    said, count = report.steps[-1], len(stories[name].decisions)
    assert (said.step, said.fact.split()[0]) == (13, str(count))
    assert said.fact.endswith(f"by OPA {again.version}, asked again of OPA {again.version}")
    assert report.rules[-1].rule == "decisions.replay"


def _require(**members: object) -> Bend:
    def bend(forged: Forged) -> None:
        forged.decision("needs_approval", "file")["answer"]["requirement"].update(members)
        forged.approval()["requirement"].update(members)
        forged.restamp()

    return bend


def _raise(forged: Forged) -> None:
    """Let policy have taken a card for more than it is."""
    forged.decision("allow", "")["answer"]["tier"] = "high"


def _rule_by(change: Callable[[dict[str, str]], dict[str, str]]) -> Bend:
    """Let another policy have decided."""

    def bend(forged: Forged) -> None:
        ((_, files),) = forged.policies.items()
        other = change(files)
        forged.policies = {canonical.digest(other): other}
        for decision in forged.decisions.values():
            decision["policy_digest"] = canonical.digest(other)

    return bend


def _in_another_package(files: dict[str, str]) -> dict[str, str]:
    return {name: text.replace("countersign.effect", "countersign.other") for name, text in files.items()}


def _calling(what: str) -> Callable[[dict[str, str]], dict[str, str]]:
    rule = f"package countersign.effect.more\n\nasked := {what}\n"
    return lambda files: {**files, "countersign/more.rego": rule}


FOUND: dict[str, tuple[Bend, str]] = {
    "a raised tier": (_raise, 'tier is "high", and policy answers "low"'),
    "one signature instead of two": (_require(quorum=1), "requirement is "),
    "other groups than policy asks": (_require(groups=["compliance", "sales"]), "requirement is "),
    "a policy that allows everything": (
        _rule_by(lambda _: {"countersign/decision.rego": ALLOW_ALL, "countersign/config.rego": NO_FLAWS}),
        "policy answers",
    ),
    "another rule of the same code": (
        lambda forged: forged.decision("allow", "file")["answer"].update(rules=["other.signed#approvals.fulfilled"]),
        "rules is ",
    ),
    "a policy of another package": (_rule_by(_in_another_package), "OPA has no answer: it is undefined"),
    "a policy that asks the network": (
        _rule_by(_calling('http.send({"method": "get", "url": "http://127.0.0.1"})')),
        "OPA has no answer: undefined function http.send",
    ),
    "a policy that looks at the clock": (
        _rule_by(_calling("time.now_ns()")),
        "OPA has no answer: undefined function time.now_ns",
    ),
    "a policy that looks around": (
        _rule_by(_calling("opa.runtime()")),
        "OPA has no answer: undefined function opa.runtime",
    ),
    "a policy that is none": (
        _rule_by(lambda files: {**files, "countersign/more.rego": "package"}),
        "OPA has no answer: ",
    ),
    "a configuration with a flaw": (
        _rule_by(lambda files: {**files, "countersign_config/data.json": '{"acme":{}}'}),
        "its configuration is flawed: ",
    ),
    "another question": (
        lambda forged: forged.decision("allow", "file")["input"]["counters"].update(writes=10_000),
        'outcome is "allow", and policy answers "deny"',
    ),
    "other words": (
        lambda forged: forged.decision("allow", "file")["answer"]["reasons"][0].update(msg="It is fine"),
        "reasons is ",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_an_answer_that_policy_does_not_give_is_found(
    office: Office, stories: Mapping[str, Story], again: Opa, name: str
) -> None:
    bend, said = FOUND[name]
    forged = Forged.of(stories["filed"])
    bend(forged)
    bundle = office.write(forged.seal(office.key))
    verify(bundle, office.public)  # nothing else in it contradicts it
    with pytest.raises(VerificationError) as caught:
        verify(bundle, office.public, replayed_by(again))
    assert caught.value.rule == "decisions.replay"
    assert said in caught.value.what


def test_what_was_hidden_on_record_may_have_been_anything(
    office: Office, stories: Mapping[str, Story], again: Opa
) -> None:
    forged = Forged.of(stories["filed"])
    reason = forged.decision("allow", "file")["answer"]["reasons"][0]
    reason["msg"] = f"[redacted]{reason['msg'][4:-4]}[redacted]"
    verify(office.write(forged.seal(office.key)), office.public, replayed_by(again))


def _program(folder: Path, text: str) -> Path:
    path = folder / "opa"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "seconds", "said"),
    [
        ("while :; do :; done", 0.5, "did not answer within"),
        ("echo no", MINUTE, "printed something else"),
        (None, MINUTE, "cannot be run"),
    ],
)
def test_where_opa_cannot_be_asked_that_is_said_and_nothing_is_judged(
    office: Office, stories: Mapping[str, Story], tmp_path: Path, text: str | None, seconds: float, said: str
) -> None:
    program = tmp_path / "absent" if text is None else _program(tmp_path, text)
    bundle = office.write(Forged.of(stories["filed"]).seal(office.key))
    opa = Opa(program, seconds=seconds)
    with pytest.raises(AskingError, match=said):
        verify(bundle, office.public, replayed_by(opa))
    assert verify_all([bundle], VerifierInputs(key=office.public), opa, as_json=True) == 3


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (
            '{"errors": [{"message": "context deadline exceeded", "code": "eval_cancel_error"}]}',
            "did not answer in time",
        ),
        ("", "ended with 2 and said nothing"),
    ],
)
def test_an_evaluation_that_was_cut_off_says_nothing_of_the_policy(
    again: Opa, tmp_path: Path, printed: str, said: str
) -> None:
    program = _program(
        tmp_path, f'[ "$1" = eval ] || exec {again.program} "$@"\nprintf %s {shlex.quote(printed)}\nexit 2'
    )
    with pytest.raises(AskingError, match=said):
        Opa(program).ask({}, [b"{}"])


def test_opa_gets_nothing_but_the_policy_and_the_questions(
    office: Office, stories: Mapping[str, Story], again: Opa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERSIGN_SECRET", "not for it")
    program = _program(tmp_path, f'env > {tmp_path}/env\nexec {again.program} "$@"')
    bundle = office.write(Forged.of(stories["filed"]).seal(office.key))
    verify(bundle, office.public, replayed_by(Opa(program)))
    assert "COUNTERSIGN" not in (tmp_path / "env").read_text()
    assert shutil.which("opa", path=str(tmp_path)) == str(program)
