"""What commands answer, for the gallery."""

from collections.abc import Iterator
from datetime import timedelta

from bot.home import lists
from bot.views.blocks import utc
from bot.views.desk_words import HELP, STANDS_IN
from runtime.model.finding import EvidenceState, FoundRun
from runtime.model.pages import Edge, Page
from runtime.services.front_model import Runs, RunView, StepLine
from runtime.services.home_model import Entry, Waiting
from tools.samples import ASKED, NOW, SAMPLES


def replies() -> Iterator[tuple[str, lists.Reply]]:
    """Yield what commands answer, the delegate's notice too."""
    run = RunView(
        run_id=ASKED.run_id,
        reference="INC0010001",
        runbook="incident-triage v2",
        ending="waiting_approval",
        error="",
        requested_by="Rita Sommer",
        created_at=NOW,
        finished_at=None,
        steps=(StepLine("find", "succeeded", ""), StepLine("assignment", "waiting_approval", "")),
        link=ASKED.link,
    )
    edge = Edge(NOW, "apr-1", back=False)
    entries = (Entry(SAMPLES["pending"], None), Entry(SAMPLES["half-signed"], None))
    page = Page(entries, has_before=False, has_after=True, first=edge, last=edge)
    runs = [_found(ASKED.run_id, "waiting_approval", ""), _found("run_8a2d", "succeeded", "assigned")]
    yield "reply-pending", lists.pending_reply(Waiting(12, page), NOW)
    yield "reply-mine", lists.mine_reply(Runs(runs, has_more=True))
    yield "reply-request", lists.approval_reply(SAMPLES["half-signed"], NOW)
    yield "reply-run", lists.run_reply(run)
    yield "reply-why", lists.why_reply(SAMPLES["pending"])
    yield "reply-help", lists.said(HELP)
    until = utc(NOW + timedelta(days=7))
    yield "reply-delegate", lists.said(STANDS_IN.format("Boris Lind", utc(NOW), until, "desk-leads"))


def _found(run_id: str, status: str, outcome: str) -> FoundRun:
    return FoundRun(
        run_id=run_id,
        trigger_ref="INC0010001",
        reference="INC0010001",
        trigger_type="servicenow.incident",
        definition="incident-triage",
        definition_version=2,
        definition_digest="ab12" * 16,
        status=status,
        outcome=outcome,
        requested_by="rita",
        requester_name="Rita Sommer",
        created_at=NOW,
        finished_at=NOW if outcome else None,
        state=EvidenceState.OPEN,
        sha256=None,
        size=None,
        location=None,
        stored_at=None,
        leaves=3,
        log_index=None,
        open_for=None,
        tries=0,
        next_try_at=None,
        error="",
        waits_for=(),
    )
