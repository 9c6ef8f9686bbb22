"""Reviews over HTTP: what callers see of them, and what they bring of the people for whom they may answer."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Request
from pydantic import Field, StringConstraints, ValidationError

from edge.callers import Caller, Signed, Verified, granted
from edge.messages import Id, Message, ProgressOut, Word, parse_body
from edge.problems import Denied, Problem, problem_of
from runtime.model.states import ApprovalStatus
from runtime.model.votes import ClaimAct, Refusal, RefusalCode, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.review_answers import ReviewAnswer, outcome_of
from runtime.services.tasks import SoughtTasks, TaskService

Q = TypeVar("Q", bound=Message)

_REFUSED = {
    RefusalCode.FAILING: (503, "this is recorded, but could not be counted just now; it is tried again"),
    RefusalCode.UNKNOWN: (404, "there is no such task"),
    RefusalCode.NO_TASK: (404, "there is no such task"),
    RefusalCode.CLOSED: (409, "it was answered, or ended, before: {}"),
    RefusalCode.EXPIRED: (409, "its time has run out"),
    RefusalCode.STALE: (409, "it has changed since it was seen: look at it again, and send its stamp"),
    RefusalCode.REPEATED: (409, "this person has answered it before; the first answer stands"),
    RefusalCode.CLAIMED: (409, "{} has claimed it"),
    RefusalCode.CLAIMED_BEFORE: (409, "this person has claimed it before"),
    RefusalCode.NOT_CLAIMED: (409, "this person has not claimed it"),
    RefusalCode.REASON_MISSING: (422, "reason: a reason is needed, in a few words"),
    RefusalCode.REQUESTER: (403, "the requester of a run cannot decide in it"),
    RefusalCode.EXCLUDED: (403, "policy excludes this person"),
    RefusalCode.NOT_IN_GROUP: (403, "this is for members of: {}"),
    RefusalCode.BROUGHT: (403, "the caller that started a run cannot bring answers to it"),
    RefusalCode.NOT_IN_DIRECTORY: (403, "the directory has no such person"),
    RefusalCode.DEACTIVATED: (403, "this person's Slack account is deactivated"),
}
"""The status and the sentence of what does not count, and is recorded; `{}` is what it is about."""


class TasksIn(Message):
    """What to list: reviews that `as` may answer, narrowed to a run, a runbook or an assignee (`none`: nobody's)."""

    as_: Annotated[Word, Field(alias="as")]
    run: Word | None = None
    definition: Word | None = None
    assignee: Word | None = None
    after: Word | None = None
    limit: Annotated[int, Field(ge=1, le=200, strict=False)] = 50


class TaskIn(Message):
    """For whom a review is looked at."""

    as_: Annotated[Word, Field(alias="as")]


class ClaimIn(TaskIn):
    """Who takes a review on, or gives it back. `ref` is the sender's own: the same ref is applied once."""

    ref: Word


class AnswerIn(ClaimIn):
    """A person's answer. `stamp` is that of the review as they saw it."""

    decision: Literal["approved", "rejected"]
    reason: Annotated[str, StringConstraints(max_length=2000)] = ""
    stamp: Word


C = TypeVar("C", bound=ClaimIn)


class FieldOut(Message):
    """One thing that is to be looked at."""

    name: str
    value: Any


class TaskOut(Message):
    """A review. `stamp` goes back with an answer: it tells what the person saw."""

    task_id: str
    status: str
    title: str
    run_id: str
    run: str
    step: str
    fields: list[FieldOut]
    groups: list[str]
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    escalated: bool
    assignee: str | None
    progress: ProgressOut | None
    stamp: str


class TasksOut(Message):
    """A page of reviews, the first to expire first; `next` goes into `after` for the next page, None on the last."""

    tasks: list[TaskOut]
    next: str | None


class SaidOut(Message):
    """What an answer or a claim counted for, and where the review stands."""

    task_id: str
    status: str


def add_tasks(app: FastAPI, desk: TaskService, signed: Signed, verified: Verified) -> None:
    """Add the routes of reviews; `signed` returns the caller and the body that it signed.

    What a caller brings is read together with what it may do: of `verified` callers only the name is known before.
    """

    async def brought(request: Request, task_id: str, form: type[C]) -> tuple[str, C]:
        """Return the caller, and what it brings of a person for whom it may answer, and who is asked."""
        name, body = await verified(request)
        sent = parse_body(form, body)
        grants, view = await desk.show_to(name, task_id, sent.as_)
        _for(granted(name, grants), sent.as_)
        _expect(view, task_id, sent.as_)
        return name, sent

    @app.get("/v1/tasks")
    async def list_(request: Request) -> TasksOut:
        caller, _ = await signed(request, query=True)
        asked = _query(TasksIn, request)
        person = _for(caller, asked.as_)
        sought = SoughtTasks(
            person=person,
            run_id=asked.run,
            definition=asked.definition,
            assignee=asked.assignee,
            after=asked.after,
            limit=asked.limit + 1,
        )
        try:
            found = await desk.list(sought)
        except LookupError as error:
            raise Problem(422, f"after: {error}") from error
        page = found[: asked.limit]
        more = page[-1].approval_id if len(found) > asked.limit else None
        return TasksOut(tasks=[_task(view) for view in page], next=more)

    @app.get("/v1/tasks/{task_id}")
    async def show(task_id: Id, request: Request) -> TaskOut:
        caller, _ = await signed(request, query=True)
        person = _for(caller, _query(TaskIn, request).as_)
        return _task(_expect(await desk.show(task_id, person), task_id, person))

    @app.post("/v1/tasks/{task_id}/answer")
    async def answer(task_id: Id, request: Request) -> SaidOut:
        caller, sent = await brought(request, task_id, AnswerIn)
        verdict = VoteVerdict.APPROVE if sent.decision == "approved" else VoteVerdict.REJECT
        said = ReviewAnswer(task_id, sent.as_, verdict, sent.reason, sent.stamp)
        return await _bring(desk, caller, sent.ref, said)

    @app.post("/v1/tasks/{task_id}/claim")
    async def claim(task_id: Id, request: Request) -> SaidOut:
        caller, sent = await brought(request, task_id, ClaimIn)
        return await _bring(desk, caller, sent.ref, ReviewAnswer(task_id, sent.as_, ClaimAct.CLAIM))

    @app.post("/v1/tasks/{task_id}/release")
    async def release(task_id: Id, request: Request) -> SaidOut:
        caller, sent = await brought(request, task_id, ClaimIn)
        return await _bring(desk, caller, sent.ref, ReviewAnswer(task_id, sent.as_, ClaimAct.RELEASE))


def _for(caller: Caller, person: str) -> str:
    """Return the person for whom the caller speaks; it is none itself, and the directory says whose word it brings."""
    if person not in caller.grants.answers_for:
        raise Denied("caller.answers_for", person, f"{caller.id} may not answer for {person}")
    return person


def _query(model: type[Q], request: Request) -> Q:
    """Return what stands in the query string, each name once."""
    given = request.query_params.multi_items()
    if len(dict(given)) != len(given):
        raise Problem(422, "a name appears twice in the query string")
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise Problem(422, "; ".join(faults)) from error


def _expect(view: ApprovalView | None, task_id: str, person: str) -> ApprovalView:
    """Return the review; raise Problem where there is none for the person."""
    if view is None:
        raise Problem(404, f"no task {task_id} for {person}")
    return view


async def _bring(desk: TaskService, caller: str, ref: str, said: ReviewAnswer) -> SaidOut:
    facts = await desk.bring(caller, ref, said)
    refusal, status = outcome_of(facts)
    if refusal is not None:
        raise _problem(refusal, said.person)
    return SaidOut(task_id=said.task_id, status=str(status or ApprovalStatus.REQUESTED))


def _problem(refusal: Refusal, person: str) -> Problem:
    status, words = _REFUSED.get(refusal.code, (409, "this does not count"))
    return problem_of(status, words.format(", ".join(refusal.about)), refusal.code, person)


def _task(view: ApprovalView) -> TaskOut:
    word = view.progress
    return TaskOut(
        task_id=view.approval_id,
        status=str(view.status),
        title=view.operation,
        run_id=view.run_id,
        run=view.run_title,
        step=view.step,
        fields=[FieldOut(name=field.name, value=field.after) for field in view.fields],
        groups=list(view.groups),
        requested_by=view.requester,
        requested_at=view.requested_at,
        expires_at=view.expires_at,
        escalated=view.escalated,
        assignee=view.assignee,
        progress=None if word is None else ProgressOut(**{**vars(word), "at": word.at.isoformat()}),
        stamp=view.stamp,
    )
