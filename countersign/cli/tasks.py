"""The group `tasks`: reviews that wait for people, and what a person says about one."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.acts import act
from countersign.cli.command import show_one
from countersign.cli.lists import keyed, show_list, table
from countersign.cli.options import AsJson, By, OfRun, Page, page, run_filter, takes
from runtime.model.search import RunFilter

if TYPE_CHECKING:
    from runtime.model.votes import ClaimAct, VoteVerdict
    from runtime.services.approval_view import ApprovalView

tasks = typer.Typer()

Task = Annotated[str, typer.Argument(metavar="TASK", help="Its id.")]

_COLUMNS = ("task_id", "title", "run_id", "step", "groups", "assignee", "expires_at", "escalated")


class Decision(StrEnum):
    """What a review comes to."""

    APPROVED = "approved"
    REJECTED = "rejected"


@tasks.command("list")
@takes(narrowed=run_filter, page=page)
def list_(
    person: Annotated[
        str | None, typer.Option("--for", metavar="PERSON", help="Only reviews that this person may answer.")
    ] = None,
    run_id: OfRun = None,
    assignee: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Only reviews claimed by this person; `none`: unclaimed.")
    ] = None,
    *,
    as_json: AsJson = False,
    narrowed: RunFilter,
    page: Page,
) -> None:
    """List open reviews, the first to expire first."""
    from countersign.cli.command import find
    from runtime.clock import utc_now
    from runtime.services.approval_rows import SoughtTasks, list_tasks

    if person is not None:  # an empty list would not say that there is no such person
        from runtime.services.people import person_of

        find(person_of, person)
    sought = SoughtTasks(
        **vars(narrowed), person=person, run_id=run_id, assignee=assignee, after=page.after, limit=page.limit + 1
    )
    rows = [_row(view) for view in find(list_tasks, sought, utc_now())]
    show_list("tasks", rows, page, keyed("task_id"), table(*_COLUMNS), as_json=as_json)


@tasks.command()
def show(task_id: Task, *, as_json: AsJson = False) -> None:
    """Show a review: what to check, its progress, and the stamp to return with an answer."""
    from countersign.cli.command import find_one
    from runtime.services.approval_rows import show_task

    view = find_one(f"task {task_id}", show_task, task_id)
    show_one({**_row(view), **_more(view)}, as_json=as_json)


@tasks.command()
def answer(
    task_id: Task,
    decision: Annotated[Decision, typer.Argument(metavar="DECISION", help="Your decision.")],
    by: By,
    stamp: Annotated[str, typer.Option(metavar="STAMP", help="The stamp of the review as you saw it.")],
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; it goes on record, and a rejection needs one.")
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Answer a review, as its card in Slack does: this counts as your signature."""
    from runtime.model.votes import VoteVerdict

    verdict = VoteVerdict.APPROVE if decision is Decision.APPROVED else VoteVerdict.REJECT
    _say(f"{task_id} is {decision}", task_id, by, verdict, reason, stamp, as_json=as_json)


@tasks.command()
def claim(task_id: Task, by: By, *, as_json: AsJson = False) -> None:
    """Claim a review: others see that you work on it."""
    from runtime.model.votes import ClaimAct

    _say(f"{task_id} is yours", task_id, by, ClaimAct.CLAIM, as_json=as_json)


@tasks.command()
def release(task_id: Task, by: By, *, as_json: AsJson = False) -> None:
    """Release a review that you claimed, so that others can take it."""
    from runtime.model.votes import ClaimAct

    _say(f"{task_id} is free again", task_id, by, ClaimAct.RELEASE, as_json=as_json)


def _say(done: str, task_id: str, by: str, what: "VoteVerdict | ClaimAct", *more: str, as_json: bool) -> None:
    from runtime.services.review_answers import ReviewAnswer

    said = ReviewAnswer(task_id, by, what, *more)
    act(lambda desk: desk.say(said), done, as_json=as_json)


def _row(view: "ApprovalView") -> dict[str, Any]:
    return {
        "task_id": view.approval_id,
        "status": str(view.status),
        "title": view.operation,
        "run_id": view.run_id,
        "run": view.run_title,
        "step": view.step,
        "groups": list(view.groups),
        "requested_by": view.requester,
        "requested_at": view.requested_at,
        "expires_at": view.expires_at,
        "escalated": view.escalated,
        "assignee": view.assignee,
    }


def _more(view: "ApprovalView") -> dict[str, Any]:
    word = view.progress
    votes = [{"person": vote.person_name, "verdict": str(vote.verdict), "reason": vote.reason} for vote in view.votes]
    return {
        "progress": None if word is None else vars(word),
        "stamp": view.stamp,
        "fields": [{"name": field.name, "value": field.after} for field in view.fields],
        "votes": votes,
    }
