"""Command replies: lists, one request, one run, and the rule behind a request; and the fixed sentences of commands.

Everything that comes from a run is shown as data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.views import references
from bot.views.blocks import Block, bold, button, context, date, header, mrkdwn_text, plain_text, rows, section
from bot.views.buttons import cancel_button, show_all_button
from bot.views.home import waiting_count
from bot.views.links import link_line
from bot.views.states import signed_title, title
from bot.views.text import Shown, legible, plain, render, short
from bot.views.wording import headline, progress_words, requirement, status_words, until_word, verdict_word
from runtime.model.search import FoundRun
from runtime.services.approval_view import ApprovalView
from runtime.services.home import Waiting
from runtime.services.requests import Runs, RunView

HELP = """Commands; only you see the answers:
/countersign pending: requests waiting for you
/countersign mine: your requests and their status
/countersign show ID or LINK: a run or request as it is now
/countersign search WORDS: runs by reference, customer or runbook
/countersign why ID: the policy rule that requires signatures
/countersign metrics: how long requests take (group leads and operators)
/countersign request RUNBOOK: open a request form
/countersign delegate: choose who votes for you while you are away
/countersign help: this list"""
NOTHING_TO_SEE = "No run or request with that id that you may see."
NO_REQUEST = "No request with that id that you may see."
WHICH = "Which one? /countersign {} and the id at the bottom of its card."
WHAT_TO_SEARCH = "What are you looking for? /countersign search and a reference, customer or runbook."
LEADS_NOBODY = "Only group leads and operators can see metrics."
NONE_FOUND = "No matching run that you may see."
NOTHING_ASKED = "You have not requested anything yet."
NOT_ANSWERED = "Something went wrong on our side. Nothing was done. Please try again."
NO_RUNBOOKS = "You may not request anything by form. The directory says who may start which runbook."
NO_SUCH_RUNBOOK = "You may start no runbook of that name. You may start: {}."
NO_FORM = "{} has no form: {} does not fit a form field."
NO_FORM_HERE = "Open forms with /countersign request, /countersign delegate or the shortcut New request."
NOT_OPENED = "The form could not be opened. Nothing was done. Please try again."
NOT_STARTED = (
    "Something went wrong on our side, and your request may not have been recorded. Please submit it again: it counts "
    "once."
)
STARTED = "Request recorded as run {}. /countersign mine shows its status."
SIGNALED = "Run {} on the same subject is already open; it received your entries."
IN_NO_GROUP = "You are in no group, so nobody can vote for you."
GROUPS_CHANGED = "Your groups have changed since you opened this. Nothing was done. Please start again."
NOT_THEM = "This person cannot vote for you: they are not in Countersign's directory, or not a full member here."
NOT_CONFIRMED = "Slack did not confirm this person just now. Nothing was done. Please try again."
NOT_YOURSELF = "Please choose someone other than yourself."
OVER_BEFORE = "Please choose an end in the future and after the start."
WHICH_GROUPS = "Please choose at least one group."
STANDS_IN = "Done: {} votes for you from {} until {}, in {}. You or an operator may end it earlier."


SHOWN = 10
"""Entries of a list; what is behind them is counted, or said to be there."""

_STEPS = 20
_LIMIT, _LINE = 2500, 300


@dataclass(frozen=True)
class Reply:
    """An answer that one person sees: its blocks, and what a screen reader says."""

    text: Shown
    blocks: Sequence[Block] = ()


def text_reply(words: str) -> Reply:
    """Return a sentence, data in it or not."""
    return Reply(legible(words[:_LIMIT]), [section(short(words, _LIMIT, lines=50))])


def pending_reply(waiting: Waiting, now: datetime, *, is_first: bool = True) -> Reply:
    """Return what waits for a person, the most urgent first: its first page, or one behind it."""
    if not waiting.total:
        return text_reply("No requests are waiting for you.")
    words = Shown(waiting_count(waiting.total))
    entries = waiting.page.entries
    blocks = [block for entry in entries for block in _request(entry.view, now)]
    left = waiting.total - len(entries) if is_first else 0
    more = [context(bold(f"… {left:,} more, less urgent."))] if left else []
    page = waiting.page
    last = references.TurnRef(list="pending", behind=page.last.id, at=page.last.at) if page.last else None
    return Reply(words, [header(words), *blocks, *more, *_page_button("Next", last if page.has_after else None)])


def _page_button(words: str, behind: references.TurnRef | None) -> list[Block]:
    """Return the button that shows what is behind, if anything is."""
    if behind is None:
        return []
    return [{"type": "actions", "elements": [button(references.TURN, words, behind.model_dump_json())]}]


def _request(view: ApprovalView, now: datetime) -> list[Block]:
    about = section(Shown(f"{signed_title(view, now)}: {short(headline(view), _LINE, lines=1)}"))
    why = short(f"{render(view.run_title)} · {requirement(view)} · {view.approval_id}", _LINE)
    until = mrkdwn_text(Shown(f"{progress_words(view)} · {until_word(view)} {date(view.expires_at)}"))
    return [{**about, "accessory": show_all_button(view)}, context(plain_text(why), until)]


def mine_reply(found: Runs) -> Reply:
    """Return what a person asked for; a button beside each that goes on asks for it to be canceled."""
    return _runs("My requests", found, NOTHING_ASKED, references.TurnRef(list="mine", behind="-"))


def search_reply(found: Runs, words: str) -> Reply:
    """Return the runs that were found by these words; where the words are too long, they have to be said again."""
    is_carried = len(words) <= references.LONGEST_WORDS
    turn = references.TurnRef(list="search", words=words, behind="-") if is_carried else None
    return _runs("Found", found, NONE_FOUND, turn)


def _runs(heading: str, found: Runs, none: str, turn: references.TurnRef | None) -> Reply:
    """Return a list of runs under fixed words of ours; `none` is said where there is no run."""
    if not found.runs:
        return text_reply(none)
    words, is_own = Shown(heading), turn is not None and turn.list == "mine"
    lines = [block for run in found.runs for block in _run_lines(run, may_cancel=is_own)]
    more = [context(bold("Older ones follow."))] if found.has_more else []
    behind = turn.model_copy(update={"behind": found.runs[-1].run_id}) if turn and found.has_more else None
    return Reply(words, [header(words), *lines, *more, *_page_button("Older", behind)])


def _run_lines(run: FoundRun, *, may_cancel: bool) -> list[Block]:
    line = short(f"{run.reference} · {status_words(run.ending)}", _LINE, lines=1)
    small = short(f"{run.definition} v{run.definition_version} · {run.run_id}", _LINE, lines=1)
    accessory = {"accessory": cancel_button(run.run_id)} if may_cancel and run.finished_at is None else {}
    return [{**section(line), **accessory}, context(plain_text(small), mrkdwn_text(date(run.created_at)))]


def approval_reply(view: ApprovalView, now: datetime) -> Reply:
    """Return a request as it is now."""
    blocks = [*_request(view, now), *rows([(bold("Run"), short(view.run_id, _LINE))]), *link_line(view.link)]
    votes = [
        f"{vote.person_name} {verdict_word(view.kind, vote.verdict, leaves_open=vote.leaves_open)}"
        for vote in view.votes
    ]
    decided = [section(short("\n".join(votes), _LIMIT, lines=50))] if votes else []
    return Reply(Shown(title(view, now)), [*blocks, *decided])


def why_reply(view: ApprovalView) -> Reply:
    """Return the rule that asks for signatures, in its own words, and what it requires."""
    words = Shown("Why this needs approval")
    rules = [(bold("Rule"), short(f"{msg} ({code})", 1500, lines=20)) for code, msg in view.reasons[:SHOWN]]
    left = len(view.reasons) - SHOWN
    more = [context(bold(f"… {left:,} more rules, under Show all"))] if left > 0 else []
    asks = section(plain("The runbook itself requires this.")) if not rules else None
    needed = [(bold("Required"), short(requirement(view), _LINE)), (bold("Tier"), short(view.tier, _LINE))]
    about = {**section(short(headline(view), _LINE, lines=1)), "accessory": show_all_button(view)}
    return Reply(words, [header(words), about, *([asks] if asks else rows(rules)), *more, *rows(needed)])


def run_reply(run: RunView) -> Reply:
    """Return a run as it is now, with its steps that the person sees."""
    progress = [(bold("Progress"), Shown(f"{run.done:,} of {run.total:,} steps ended"))] if run.total else []
    facts = [
        (bold("Reference"), short(run.reference, _LINE)),
        (bold("Runbook"), short(run.runbook, _LINE)),
        (bold("State"), short(status_words(run.ending), _LINE)),
        *progress,
        (bold("Requested by"), short(run.requested_by, _LINE)),
        (bold("Run"), short(run.run_id, _LINE)),
    ]
    errors = [(bold("Error"), short(run.error, _LINE))] if run.error else []
    steps = "\n".join(
        f"{step.name}: {status_words(step.status)}{f' ({step.error})' if step.error else ''}"
        for step in run.steps[:_STEPS]
    )
    left = len(run.steps) - _STEPS
    more = [context(bold(f"… {left:,} more steps"))] if left > 0 else []
    listed = [section(short(steps, _LIMIT, lines=_STEPS * 2))] if steps else []
    since = mrkdwn_text(Shown(f"requested {date(run.created_at)}"))
    blocks = [*rows([*facts, *errors]), context(since), *listed, *more, *link_line(run.link)]
    return Reply(legible(f"{run.reference}: {status_words(run.ending)}"[:_LINE]), blocks)
