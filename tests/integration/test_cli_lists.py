"""Lists on the command line: narrowed by the runs that they are about and by moments, and read a page at a time.

What a page ends with goes into `--after`; pages neither repeat nor leave out a row, though several have one moment.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.handlers import TransientError
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.program_stage import command, environment, settings_of

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
LISTS = {
    "runs": "run_id",
    "waits": "wait_id",
    "effects": "effect_id",
    "dead-letters": "notification_id",
    "people": "person",
}


@dataclass
class Lists:
    """Runs of two people, by two triggers, on three days; and the settings of who looks."""

    bench: Bench
    env: dict[str, str]
    runs: dict[str, str] = field(default_factory=dict)

    async def said(self, *words: str) -> Any:
        done = await command(*words, "--json", env=self.env)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    async def refs(self, noun: str, *words: str) -> list[str]:
        """Return the references of the runs that a list tells of, in its order, each once."""
        names = {run_id: ref for ref, run_id in self.runs.items()}
        found = [names[row["run_id"]] for row in (await self.said(noun, "list", *words))[noun]]
        return list(dict.fromkeys(found))


@pytest.fixture
async def lists(bench: Bench, targets: Targets, dsn: str, opa: OpaChild, tmp_path: Path) -> Lists:
    targets.note.answers = [TransientError("busy", retry_after=3600.0)] * 9
    found = Lists(bench, environment(settings_of(dsn, opa.url, tmp_path)))
    for ref, type_, payload, requester in (
        ("note-1", "bench.note", NOTE, "rita"),
        ("wait-1", "bench.wait", {"case": "C1"}, "rita"),
        ("wait-2", "bench.wait", {"case": "C2"}, "ann"),
    ):
        found.runs[ref] = (await bench.start(type_, payload, ref=ref, by=requester)).run_id
        await bench.settle()
        bench.clock.move(days=1)
    return found


@pytest.mark.parametrize(
    ("words", "refs"),
    [
        ((), ["wait-2", "wait-1", "note-1"]),
        (("--reference", "wait-1"), ["wait-1"]),
        (("--reference", "wait"), []),
        (("--requester", "rita"), ["wait-1", "note-1"]),
        (("--requester", "RITA"), ["wait-1", "note-1"]),
        (("--requester", "ann", "--trigger", "bench.note"), []),
        (("--trigger", "bench.note"), ["note-1"]),
        (("--definition", "bench-wait"), ["wait-2", "wait-1"]),
        (("--since", "2026-01-06"), ["wait-2", "wait-1"]),
        (("--until", "2026-01-06"), ["wait-1", "note-1"]),
        (("--since", "2026-01-06T09:00:00Z", "--until", "2026-01-07T09:00:00Z"), ["wait-1"]),
        (("--status", "waiting"), ["wait-2", "wait-1"]),
    ],
    ids=" ".join,
)
async def test_runs_are_narrowed_by_what_they_are_about(lists: Lists, words: tuple[str, ...], refs: list[str]) -> None:
    assert await lists.refs("runs", *words) == refs
    if "--status" not in words:
        assert [row["reference"] for row in (await lists.said("evidence", "list", *words))["runs"]] == refs


@pytest.mark.parametrize(
    ("words", "waits", "effects"),
    [
        (("--requester", "ann"), ["wait-2"], ["wait-2"]),
        (("--requester", "rita"), ["wait-1"], ["wait-1", "note-1"]),
        (("--reference", "note-1"), [], ["note-1"]),
        (("--trigger", "bench.wait"), ["wait-2", "wait-1"], ["wait-2", "wait-1"]),
        (("--since", "2026-01-07"), ["wait-2"], ["wait-2"]),
        (("--until", "2026-01-05"), [], ["note-1"]),
    ],
    ids=" ".join,
)
async def test_what_belongs_to_runs_is_narrowed_by_them(
    lists: Lists, words: tuple[str, ...], waits: list[str], effects: list[str]
) -> None:
    assert await lists.refs("waits", *words) == waits
    assert set(await lists.refs("effects", *words)) == set(effects)


async def test_votes_of_a_period_are_narrowed_by_runs(bench: Bench, lists: Lists) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "report"}, ref="file-1")
    await bench.settle()
    await bench.click("ann", await bench.approval_id())
    words = ("evidence", "approvals", "--since", "2026-01-01", "--until", "2026-01-31")
    for more, count in (((), 1), (("--requester", "rita"), 1), (("--reference", "note-1"), 0), (("--trigger", "x"), 0)):
        assert len((await lists.said(*words, *more))["votes"]) == count


async def test_pages_of_a_list_hold_each_row_once(bench: Bench, lists: Lists) -> None:
    for case in "45":
        await bench.complete(f"acme:await_answer:C{case}", {"answer": "yes"}, case, token="wait_0.tok_0")
        await bench.start("bench.note", {**NOTE, "incident": f"I{case}"}, ref=f"note-{case}")
        await bench.start("bench.wait", {"case": f"C{case}"}, ref=f"more-{case}")
    await bench.settle()  # these have one moment
    for noun, key in LISTS.items():
        name = noun.replace("-", "_")
        whole = (await lists.said(noun, "list"))[name]
        found: list[Any] = []
        page = await lists.said(noun, "list", "--limit", "1")
        while page["next"] is not None:
            found += page[name]
            assert page["next"] == found[-1][key]
            page = await lists.said(noun, "list", "--limit", "1", "--after", page["next"])
        assert [*found, *page[name]] == whole
        assert len(whole) > 1


async def test_who_reads_a_page_is_told_how_it_goes_on(lists: Lists) -> None:
    page = await command("runs", "list", "--limit", "2", env=lists.env)
    assert page.out.splitlines()[-1] == f"There are more: --after {lists.runs['wait-1']}"
    rest = await command("runs", "list", "--after", lists.runs["wait-1"], env=lists.env)
    assert [line.split()[0] for line in rest.out.splitlines()] == ["reference", "note-1"]


@pytest.mark.parametrize("noun", [*LISTS, "steps", "tasks", "subscriptions", "slack", "keys"])
async def test_a_page_behind_what_is_not_there_is_refused(lists: Lists, noun: str) -> None:
    done = await command(noun, "list", "--after", "no_such", env=lists.env)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith("countersign: there is no ")


async def test_a_page_goes_on_behind_a_row_that_has_left_the_list_meanwhile(lists: Lists) -> None:
    (last,) = (await lists.said("runs", "list", "--limit", "1"))["runs"]
    await lists.bench.complete("acme:await_answer:C2", {"answer": "yes"})
    await lists.bench.settle()
    rest = await lists.refs("runs", "--status", last["status"], "--after", last["run_id"])
    assert (last["run_id"], rest) == (lists.runs["wait-2"], ["wait-1"])


async def test_a_run_of_another_tenant_begins_no_page(lists: Lists) -> None:
    await lists.bench.meddle("UPDATE runs SET tenant = 'other' WHERE run_id = %s", lists.runs["wait-2"])
    done = await command("runs", "list", "--after", lists.runs["wait-2"], env=lists.env)
    assert (done.code, done.out) == (1, "")


async def test_steps_that_need_attention_are_narrowed_and_paged(lists: Lists, targets: Targets) -> None:
    await lists.bench.meddle("UPDATE steps SET status = 'needs_attention' WHERE path IN ('note', 'ask')")
    # the newest run has the least id: the moments in ids begin again every 194 days
    await lists.bench.meddle("UPDATE runs SET created_at = created_at + interval '9 days' WHERE trigger_ref = 'note-1'")
    whole = (await lists.said("steps", "list"))["steps"]
    assert [row["trigger_ref"] for row in whole] == ["note-1", "wait-2", "wait-2", "wait-1", "wait-1"]
    first = await lists.said("steps", "list", "--limit", "2")
    await lists.bench.meddle("UPDATE runs SET updated_at = updated_at + interval '9 days' WHERE run_id = %s",
                             first["steps"][-1]["run_id"])  # fmt: skip
    rest = await lists.said("steps", "list", "--after", first["next"])
    named = [(row["run_id"], row["path"]) for row in [*first["steps"], *rest["steps"]]]
    assert named == [(row["run_id"], row["path"]) for row in whole]
    assert {row["run_id"] for row in (await lists.said("steps", "list", "--requester", "ann"))["steps"]} == {
        lists.runs["wait-2"]
    }
