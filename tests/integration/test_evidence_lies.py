"""Lies about genuine runs are found by their rule; rows are bound to the chain.

Somebody who holds the signing key bends genuine runs of every ending: each lie is found, by its rule.

What people saw and said is bound to the chain, which also tells the run: a row that is changed is contradicted.

What is told of a run of nodes: in its texts, on the page, in lists, over HTTP and by command.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from edge.messages import RunOut
from evidence.build import build
from evidence.local import LocalArchive
from evidence.reading.step_paths import path_in_words
from evidence.report import report_on
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from receipts import canonical
from receipts.fields import timestamp
from receipts.signing import SigningKey, load_or_create, public_path
from runtime import sweeps
from runtime.inbox import inbox
from runtime.model.payloads import DeadlinePayload, EscalationPayload
from runtime.services import run_in_full
from runtime.services.bundles import FoundRun, Sought, find_runs
from runtime.services.health import run_summary
from runtime.services.sealing import SealingService, Story
from runtime.store import waits
from runtime.sweeps import Due
from tests.bench import TENANT, Bench, HandClock, open_bench
from tests.integration import lies_passkeys
from tests.integration.conftest import PACK, Targets
from tests.integration.evidence_stage import genuine, office, stories
from tests.integration.forger import Forged
from tests.integration.lies import LIES, RUNS, judged
from tests.integration.played import NODES, play_nodes, stories_of
from tests.once import Once
from tests.patience import MINUTE
from tests.sealing import sealer_of
from tests.unit.evidence_bends import members_of
from tests.unit.evidence_sample import Office

__all__ = ["genuine", "office", "stories"]


@pytest.mark.parametrize("name", RUNS)
def test_genuine_run_holds_and_its_chain_made_anew_is_the_same(
    office: Office, stories: Mapping[str, Story], name: str
) -> None:
    report = verify(office.write(Forged.of(stories[name]).seal(office.key)), office.public)
    assert report.run_id == stories[name].leaves[0]["run_id"]
    forged = Forged.of(stories[name])
    forged.retime()
    verify(office.write(forged.seal(office.key)), office.public)


def test_a_vote_that_was_signed_anew_holds(office: Office, stories: Mapping[str, Story]) -> None:
    forged = Forged.of(stories["signed"])
    lies_passkeys.signed_before(0)(forged)
    verify(office.write(forged.seal(office.key)), office.public)


@pytest.mark.parametrize("name", LIES)
async def test_lie_is_found_by_its_rule(
    office: Office, stories: Mapping[str, Story], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    _, fault = await judged(tmp_path_factory, office, stories, name)
    assert fault is not None
    assert fault.rule == LIES[name][0], fault


ASKED, VOTES = "what was asked is not what", "its votes are not those"
SHOWN, CUT = "its cards are not those", "its end was cut off"

FORGED = {
    "what was there before": ("approvals SET before = '{\"shares\": 1}'", ASKED),
    "how much is at stake": ("approvals SET tier = 'low'", ASKED),
    "policy's reasons": ("approvals SET reasons = '[]'", ASKED),
    "what the step is for": ("approvals SET purpose = 'Nothing.'", ASKED),
    "when it was asked": ("approvals SET requested_at = requested_at - interval '1 hour'", ASKED),
    "until when": ("approvals SET expires_at = expires_at + interval '1 hour'", ASKED),
    "a card": ("approvals SET cards = jsonb_set(cards::jsonb, '{0,text}', '\"Smile\"')::json", SHOWN),
    "a card left out": ("approvals SET cards = json_build_array(cards -> 1)", SHOWN),
    "cards in another order": ("approvals SET cards = json_build_array(cards -> 1, cards -> 0)", SHOWN),
    "how many cards were shown": ("evidence_bundles SET sealed_cards = '{}'", None),
    "a vote's reason": ("votes SET reason = 'because'", VOTES),
    "a vote's account": ("votes SET account = account || 'x'", VOTES),
    "a vote's time": ("votes SET at = at - interval '1 second'", VOTES),
    "a voter's name": ("votes SET person_name = 'Somebody'", VOTES),
    "a voter's groups": ('votes SET groups = \'["compliance", "board"]\'', VOTES),
    "the last leaf": ("evidence_bundles SET sealed_seq = sealed_seq - 1", CUT),
    "all after the run's end": (
        "evidence_bundles SET sealed_seq = (SELECT seq FROM audit_leaves WHERE leaf ->> 'event' = 'run.succeeded')",
        CUT,
    ),
}
UNTOLD = (
    "steps SET status = 'failed_terminal', error = 'nothing of it', attempt = 7",
    "waits SET status = 'canceled', deadline = now(), resolved_at = now(), created_at = now()",
    "runs SET created_at = now(), finished_at = now(), error = 'x', writes = 9, trigger_ref = 'other'",
    "runs SET requested_by = 'ann', submitted_by = 'ann', status = 'canceled'",
    "approvals SET result = NULL, joined = '[]', prolonged_until = now()",
    "approvals SET decided_at = now(), consumed_at = NULL, revision = 9",
)


@dataclass
class Sealed:
    """A run that people approved, whose sealing has begun."""

    bench: Bench
    run_id: str
    key: SigningKey
    public: Path

    async def bundle(self) -> bytes:
        """Build its bundle from the rows as they are now."""
        key = self.public.with_name("evidence.pem")
        sealer = sealer_of(self.bench.engine, LocalArchive(self.public.parent), key)
        return build(await sealer.dossier(self.run_id), self.key).data

    def verify(self, data: bytes) -> None:
        """Verify a bundle."""
        path = self.public.with_name("bundle.zip")
        path.write_bytes(data)
        verify(path, self.public)


async def _play(bench: Bench, folder: Path) -> str:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    await bench.show(approval)
    assert (await bench.click("ann", approval)).counted
    await bench.show(approval)
    await bench.show(approval)
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    key = load_or_create(folder / KEY)
    assert await SealingService(bench.engine).next_bundles(timedelta(minutes=2), key, [key.public.key_id])
    return run_id


KEY = "keys/evidence.pem"
SEALED = Once(_play)


@pytest.fixture
async def sealed(bench: Bench, tmp_path: Path) -> Sealed:
    run_id, path = await SEALED.on(bench, tmp_path), tmp_path / KEY
    return Sealed(bench, run_id, load_or_create(path), public_path(path))


@pytest.mark.parametrize("name", FORGED)
async def test_a_row_that_says_other_than_the_chain_shows_in_the_bundle(sealed: Sealed, name: str) -> None:
    change, said = FORGED[name]
    sealed.verify(await sealed.bundle())
    before = await sealed.bundle()
    await sealed.bench.meddle(f"UPDATE {change}")
    if said is None:
        assert await sealed.bundle() == before
    else:
        with pytest.raises(VerificationError, match=said):
            sealed.verify(await sealed.bundle())


@pytest.mark.parametrize("change", UNTOLD)
async def test_what_the_chain_tells_no_row_can_tell_otherwise(sealed: Sealed, change: str) -> None:
    before = await sealed.bundle()
    await sealed.bench.meddle(f"UPDATE {change}")
    assert await sealed.bundle() == before


async def test_a_clock_that_is_set_back_makes_nothing_earlier_than_what_it_follows(bench: Bench) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"})).run_id
    await bench.settle()
    for person in ("ann", "ben"):
        bench.clock.move(milliseconds=-60)
        assert (await bench.click(person, await bench.approval_id())).counted
    await bench.settle()
    leaves = await bench.rows("SELECT leaf ->> 'at' AS at FROM audit_leaves WHERE run_id = %s ORDER BY seq", run_id)
    times = [leaf["at"] for leaf in leaves]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("due", "kind", "event", "hours"),
    [
        (waits.due_deadlines, DeadlinePayload, "approval.expired", 8),
        (waits.due_escalations, EscalationPayload, "wait.escalated", 6),
    ],
)
async def test_what_the_clock_says_is_on_record_no_sooner_than_its_moment(
    bench: Bench, due: Due, kind: type[DeadlinePayload | EscalationPayload], event: str, hours: int
) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"})).run_id
    await bench.settle()
    moment = bench.clock() + timedelta(hours=hours)
    ahead = replace(bench.engine, clock=HandClock(moment))
    bench.clock.now = moment - timedelta(milliseconds=50)
    for notification_id in await sweeps._record(ahead, due, kind):
        await inbox.apply(bench.engine, notification_id)
    query = "SELECT leaf ->> 'at' AS at FROM audit_leaves WHERE run_id = %s AND leaf ->> 'event' = %s"
    assert await bench.rows(query, run_id, event) == [{"at": timestamp(moment)}]


async def test_a_card_that_is_shown_again_as_it_was_is_on_record_once(sealed: Sealed) -> None:
    leaves = await sealed.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'card.shown' ORDER BY seq")
    ((shown,),) = [tuple(row.values()) for row in await sealed.bench.rows("SELECT cards FROM approvals")]
    assert [row["leaf"]["data"]["digest"] for row in leaves] == [canonical.digest(card) for card in shown]
    assert len(shown) == 2


async def test_a_vote_names_the_card_that_was_on_record_before_it(bench: Bench, tmp_path: Path) -> None:
    """As from the Home before Slack has confirmed the card, and on the card since."""
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "report"})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    await bench.show(approval)
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    leaves = [leaf for leaf in await bench.chain(run_id) if leaf.event in ("vote.counted", "card.shown")]
    assert [leaf.data.get("card") for leaf in leaves] == [None, None, leaves[1].data["digest"]]
    key = load_or_create(tmp_path / KEY)
    assert await SealingService(bench.engine).next_bundles(timedelta(minutes=2), key, [key.public.key_id])
    sealed = Sealed(bench, run_id, key, public_path(tmp_path / KEY))
    sealed.verify(await sealed.bundle())


@dataclass
class Played:
    """A bench with runs of nodes, the bundle of one, and what holds it."""

    bench: Bench
    run_id: str
    bundle: Path
    office: Office

    @property
    def members(self) -> dict[str, bytes]:
        """Return what is in the bundle."""
        return members_of(self.bundle)

    async def found(self, **sought: str) -> list[FoundRun]:
        async with self.bench.engine.pool.connection() as conn:
            return await find_runs(conn, TENANT, Sought(**sought))  # type: ignore[arg-type]  # texts alone are given


@pytest.fixture
async def played(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Played]:
    office = Office.in_folder(tmp_path)
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as bench,
    ):
        run_ids = await play_nodes(bench, targets)
        story = (await stories_of(office.key, bench, run_ids))["nodes"]
        yield Played(bench, run_ids["nodes"], office.write(Forged.of(story).seal(office.key)), office)


async def test_people_read_the_outcome_what_was_handled_and_paths_in_words(played: Played) -> None:
    summary, timeline = (played.members[name].decode() for name in ("summary.md", "timeline.md"))
    assert summary.startswith("# Nodes: “timed out”\n")
    assert "- **Ended:** 6 Jan 2026, 09:00:00 UTC: “timed out”; the run itself succeeded\n" in summary
    assert (
        "- 5 Jan 2026, 09:00:00 UTC: first failed and was handled, “no such incident”; next came"
        " first, failed: tell and first, failed: mark\n"
    ) in summary
    assert "- Skipped, condition not met: route: left out and route: behind\n" in summary
    assert "- Not started when the run ended: never\n" in summary
    assert "| The run ended as “timed out”, after 5 writes |" in timeline
    assert "| The step “route” started, by the branch “case 2” |" in timeline
    assert "for the step “letters, round 3: write” |" in timeline
    page = report_on(played.bundle, trust_of(played.office.public)).page.decode()
    assert "Timed out" in page
    assert ", run <bdi" in page
    assert "Failed and handled" in page


async def test_a_run_is_found_by_its_outcome_and_its_business_reference(played: Played) -> None:
    (run,) = await played.found(outcome="timed_out")
    assert (run.run_id, run.status, run.reference, run.trigger_ref) == (
        *(played.run_id, "succeeded", f"case:{played.run_id}", "1"),
    )
    assert [one.run_id for one in await played.found(customer=f"case:{played.run_id}")] == [played.run_id]
    assert played.run_id not in {one.run_id for one in await played.found(outcome="succeeded")}


async def test_callers_and_operators_see_what_a_run_came_to(played: Played) -> None:
    async with played.bench.engine.pool.connection() as conn:
        shown = RunOut.model_validate(await run_summary(conn, TENANT, played.run_id))
        listed = await run_in_full.find_run(conn, TENANT, played.run_id)
    assert (shown.outcome, shown.reference) == ("timed_out", f"case:{played.run_id}")
    assert shown.output == {"reference": f"case:{played.run_id}"}
    assert shown.state == {"told": True, "quick": "case_2", "rounds": 1, "heard": "no_answer"}
    steps = {step.path: (step.error_code, step.branch) for step in shown.steps}
    assert (steps["first"], steps["route"], steps["hear"]) == (("refused", ""), ("", "case_2"), ("no_answer", ""))
    classes = {step.path: step.error_class for step in shown.steps}
    assert (classes["first"], classes["route"], classes["hear"]) == ("transport", "", "timeout")
    assert listed is not None
    assert {step["path"]: step["error_class"] for step in listed["steps"]} == classes
    assert (listed["outcome"], listed["state"], listed["output"]) == (shown.outcome, shown.state, shown.output)
    assert {step["path"]: step["error_code"] for step in listed["steps"]}["first"] == "refused"


async def test_the_message_about_the_end_says_what_was_handled(played: Played) -> None:
    said = [str(row["text"]) for row in await played.bench.rows("SELECT fields::text AS text FROM effects")]
    assert any(
        '"run_ended"' in text and "rejected by Ann: not like this" in text and "handled" in text for text in said
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("documents[2].request", "documents, round 3: request"),
        ("first.failure.tell_them", "first, failed: tell them"),
        ("a[1]b", "a[1]b"),
        ("x[99999999999]", "x[99999999999]"),
        ("", ""),
    ],
)
def test_a_path_is_told_in_words(path: str, words: str) -> None:
    assert path_in_words(path, {"first.failure"}) == words
