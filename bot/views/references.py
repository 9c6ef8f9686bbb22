"""References: what our buttons and modals carry: which approval, in which state, the person saw."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.services.approval_view import ApprovalView

DIGEST_PREFIX = 16

APPROVE = "countersign_approve"
REJECT = "countersign_reject"
CLAIM = "countersign_claim"
RELEASE = "countersign_release"
SHOW_ALL = "countersign_show_all"
SHOW_REPLACEMENT = "countersign_show_replacement"
UNDO = "countersign_undo"
MORE = ("countersign_more", "countersign_more_still")
CANCEL = "countersign_cancel"
PAGE_ACTIONS = ("countersign_page_back", "countersign_page_next")
REASON_MODAL = "countersign_reason"
UNDO_MODAL = "countersign_undo_modal"
SIGNING_MODAL = "countersign_signing"
TURN = "countersign_list_turn"
ANSWER = "countersign_answer"
REPLY_MODAL = "countersign_reply"
MORE_MODAL = "countersign_more_modal"
NOTE_MODAL = "countersign_note"
DETAILS_MODAL = "countersign_details"
REASON = "reason"
LONGEST_WORDS = 300
"""Characters of what is searched for that a button carries: a value has two thousand, and one takes six at most."""
WHOM = "whom"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CardRef(_Strict):
    """A button's value: the approval, the head of its digest and its stamp as the card showed them.

    What only shows something, and decides nothing, carries neither digest nor stamp.
    """

    id: Annotated[str, Field(min_length=1, max_length=128)]
    digest: Annotated[str, Field(max_length=DIGEST_PREFIX)]
    stamp: Annotated[str, Field(max_length=64)] = ""


class PageRef(CardRef):
    """A page of the details of an approval."""

    page: Annotated[int, Field(ge=0)]


class ReasonRef(CardRef):
    """A reason modal's private metadata: the verdict asked about, and where to answer the person.

    `over` says that it lies over the details, which go with it, and `signs` that the vote has to be signed.
    """

    verdict: Annotated[VoteVerdict, Field(strict=False)]
    channel: str | None
    over: bool = False
    signs: bool = False


class EditRef(CardRef):
    """An edit modal's private metadata: the request as it was shown, and where to answer the person.

    `over` says that it lies over the details, which go with it.
    """

    act: Literal["edit"]
    channel: str | None
    over: bool


class UndoRef(_Strict):
    """An undo modal's private metadata: the step of the run, and where to answer the person."""

    run_id: Annotated[str, Field(min_length=1, max_length=128)]
    step: Annotated[str, Field(min_length=1, max_length=1000)]
    channel: str | None


class RunRef(_Strict):
    """The value of a button beside a run."""

    run_id: Annotated[str, Field(min_length=1, max_length=128)]


class TurnRef(_Strict):
    """The value of the button that turns a list: which one, for which words, and behind what it goes on.

    Of requests that is the moment `at` and the id of one, of runs the id alone.
    """

    list: Literal["pending", "mine", "search"]
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""
    behind: Annotated[str, Field(min_length=1, max_length=128)]
    at: datetime | None = None


class QuestionRef(_Strict):
    """The value of the button beside a question: the approval, and the question about it."""

    id: Annotated[str, Field(min_length=1, max_length=128)]
    question: Annotated[str, Field(min_length=1, max_length=128)]


class ReplyRef(QuestionRef):
    """The private metadata of the modal that answers it, with where to answer the person."""

    act: Literal["reply"]
    channel: str | None


class CancelRef(RunRef):
    """A cancel modal's private metadata: the run, where to answer the person, and whether it lies over the details."""

    act: Literal["cancel"]
    channel: str | None
    over: bool


def of(view: ApprovalView) -> dict[str, Any]:
    """Return the members of a CardRef for an approval as it is now."""
    return {"id": view.approval_id, "digest": view.digest[:DIGEST_PREFIX], "stamp": view.stamp}


def stale(ref: CardRef, view: ApprovalView | None) -> Refusal | None:
    """Say why a click on a card that showed `ref` cannot count, or None. The inbox decides again when it applies it."""
    if view is None:
        return Refusal(RefusalCode.UNKNOWN)
    if ref.digest != view.digest[:DIGEST_PREFIX] or not ref.digest:
        return Refusal(RefusalCode.OTHER_ACTION)
    if view.status is not ApprovalStatus.REQUESTED:
        return Refusal(RefusalCode.CLOSED, (str(view.status),))
    return Refusal(RefusalCode.STALE) if ref.stamp != view.stamp else None
