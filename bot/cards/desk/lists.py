"""What a command answers: lists, one request, one run, and the rule behind a request. Everything of a run is data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.cards.blocks import Block, bold, context, date, header, mrkdwn_text, plain_text, rows, section
from bot.cards.home.home import counted
from bot.cards.links.ways import link_line
from bot.cards.request.buttons import cancel_button, show_all_button
from bot.cards.text import Shown, mrkdwn, plain, render, short
from bot.cards.wording import approvals, headline, requirement, title, until_word, verdict_word
from runtime.desk.front.model import Runs, RunView
from runtime.desk.home.model import Waiting
from runtime.desk.model import ApprovalView
from runtime.model.finding import FoundRun

SHOWN = 10
"""Entries of a list; what is behind them is counted, or said to be there."""

_STEPS = 20
_LIMIT, _LINE = 2500, 300


@dataclass(frozen=True)
class Reply:
    """An answer that one person sees: its blocks, and what a screen reader says."""

    text: Shown
    blocks: Sequence[Block] = ()


def said(words: str) -> Reply:
    """Return a sentence, data in it or not."""
    return Reply(mrkdwn(words[:_LIMIT]), [section(short(words, _LIMIT, lines=50))])


def pending_reply(waiting: Waiting, now: datetime) -> Reply:
    """Return what waits for a person, the most urgent first."""
    if not waiting.total:
        return said("No request waits for you.")
    words = Shown(counted(waiting.total))
    entries = waiting.page.entries
    blocks = [block for entry in entries for block in _request(entry.view, now)]
    left = waiting.total - len(entries)
    more = [context(bold(f"… {left:,} more, less urgent. They appear as you decide these."))] if left else []
    return Reply(words, [header(words), *blocks, *more])


def _request(view: ApprovalView, now: datetime) -> list[Block]:
    about = section(Shown(f"{title(view, now)}: {short(headline(view), _LINE, lines=1)}"))
    why = short(f"{render(view.run_title)} · {requirement(view)} · {view.approval_id}", _LINE)
    until = mrkdwn_text(Shown(f"{approvals(view)} of {view.quorum} · {until_word(view)} {date(view.expires_at)}"))
    return [{**about, "accessory": show_all_button(view)}, context(plain_text(why), until)]


def runs_reply(heading: str, found: Runs, none: str, *, may_cancel: bool = False) -> Reply:
    """Return a list of runs under fixed words of ours; `none` is said where there is no run.

    With `may_cancel`, a button beside each that goes on asks for it to be canceled.
    """
    if not found.runs:
        return said(none)
    words = Shown(heading)
    more = "There are more, older ones: /countersign search finds them by reference, customer or runbook."
    behind = [context(bold(more))] if found.has_more else []
    lines = [block for run in found.runs for block in _run_lines(run, may_cancel=may_cancel)]
    return Reply(words, [header(words), *lines, *behind])


def _run_lines(run: FoundRun, *, may_cancel: bool) -> list[Block]:
    line = short(f"{run.reference} · {run.ending}", _LINE, lines=1)
    small = short(f"{run.definition} v{run.definition_version} · {run.run_id}", _LINE, lines=1)
    accessory = {"accessory": cancel_button(run.run_id)} if may_cancel and run.finished_at is None else {}
    return [{**section(line), **accessory}, context(plain_text(small), mrkdwn_text(date(run.created_at)))]


def approval_reply(view: ApprovalView, now: datetime) -> Reply:
    """Return a request as it is now."""
    blocks = [*_request(view, now), *rows([(bold("Run"), short(view.run_id, _LINE))]), *link_line(view.link)]
    votes = [f"{vote.person_name} {verdict_word(view.kind, vote.verdict)}" for vote in view.votes]
    decided = [section(short("\n".join(votes), _LIMIT, lines=50))] if votes else []
    return Reply(Shown(title(view, now)), [*blocks, *decided])


def why_reply(view: ApprovalView) -> Reply:
    """Return the rule that asks for signatures, in its own words, and what it requires."""
    words = Shown("Why this needs people")
    rules = [(bold("Rule"), short(f"{msg} ({code})", 1500, lines=20)) for code, msg in view.reasons[:SHOWN]]
    left = len(view.reasons) - SHOWN
    more = [context(bold(f"… {left:,} more rules, under Show all"))] if left > 0 else []
    asks = section(plain("The runbook itself asks for this.")) if not rules else None
    needed = [(bold("Required"), short(requirement(view), _LINE)), (bold("Tier"), short(view.tier, _LINE))]
    about = {**section(short(headline(view), _LINE, lines=1)), "accessory": show_all_button(view)}
    return Reply(words, [header(words), about, *([asks] if asks else rows(rules)), *more, *rows(needed)])


def run_reply(run: RunView) -> Reply:
    """Return a run as it is now, with its steps."""
    facts = [
        (bold("Reference"), short(run.reference, _LINE)),
        (bold("Runbook"), short(run.runbook, _LINE)),
        (bold("State"), short(run.ending, _LINE)),
        (bold("Asked for by"), short(run.requested_by, _LINE)),
        (bold("Run"), short(run.run_id, _LINE)),
    ]
    errors = [(bold("Error"), short(run.error, _LINE))] if run.error else []
    steps = "\n".join(
        f"{step.path}: {step.status}{f' ({step.error})' if step.error else ''}" for step in run.steps[:_STEPS]
    )
    left = len(run.steps) - _STEPS
    more = [context(bold(f"… {left:,} more steps"))] if left > 0 else []
    listed = [section(short(steps, _LIMIT, lines=_STEPS * 2))] if steps else []
    since = mrkdwn_text(Shown(f"asked for {date(run.created_at)}"))
    blocks = [*rows([*facts, *errors]), context(since), *listed, *more, *link_line(run.link)]
    return Reply(mrkdwn(f"{run.reference}: {run.ending}"[:_LINE]), blocks)
