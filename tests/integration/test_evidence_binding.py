"""What people saw and said is bound to the chain, which also tells the run: a row that is changed is contradicted."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from evidence.archive.local import LocalArchive
from evidence.build import build
from evidence.verify.verify import VerificationError, verify
from receipts import canonical
from receipts.fields import timestamp
from receipts.signing import SigningKey, load_or_create, public_path
from runtime.inbox import inbox
from runtime.model.payloads import DeadlinePayload, EscalationPayload
from runtime.services.sealing import EvidenceDesk
from runtime.store import waits
from runtime.worker import sweeps
from runtime.worker.sweeps import Due
from tests.bench import Bench, HandClock
from tests.once import Once
from tests.sealing import sealer_of

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
    assert await EvidenceDesk(bench.engine).next_bundle(timedelta(minutes=2), key, [key.public.key_id]) is not None
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
    assert await EvidenceDesk(bench.engine).next_bundle(timedelta(minutes=2), key, [key.public.key_id]) is not None
    sealed = Sealed(bench, run_id, key, public_path(tmp_path / KEY))
    sealed.verify(await sealed.bundle())
