"""The cover of a report: what it is about, what was done, who asked, who signed when, and how it ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evidence.reading.account import Account
from evidence.reading.exceptions import LABELS, Exceptions, length, seconds_between
from evidence.reading.requests import Request, Vote


@dataclass(frozen=True)
class Signed:
    """One vote on the cover: whose, what it says, on what, when, and how long after its person opened the request."""

    name: str
    said: str
    title: str
    at: str
    opened: str


@dataclass(frozen=True)
class Cover:
    """The cover. `subject` names the matter in words, `done` what was changed outside."""

    subject: str
    done: Sequence[str]
    signed: Sequence[Signed]
    exceptions: str


def cover_of(account: Account, exceptions: Exceptions) -> Cover:
    """Return the cover of an account and its exceptions."""
    return Cover(
        subject=_subject(account),
        done=list(dict.fromkeys(_done(account))),
        signed=[_signed(request, vote) for request in account.requests for vote in request.votes],
        exceptions=summary_of(exceptions),
    )


def summary_of(exceptions: Exceptions) -> str:
    """Return how many exceptions there are of each kind."""
    kinds = [one.kind for one in exceptions.entries]
    parts = [f"{LABELS[kind].lower()} ({kinds.count(kind)})" for kind in LABELS if kind in kinds]
    return f"{len(kinds)}: {', '.join(parts)}" if kinds else "none"


def _subject(account: Account) -> str:
    """Return the title of the last action that people were asked to approve, else of a review, else another name."""
    effects = [request for request in account.requests if request.kind == "effect"]
    asked = effects[-1:] or account.requests[:1]
    return next(filter(None, [*(request.title for request in asked), *account.about, account.title]), "")


def _done(account: Account) -> Iterator[str]:
    """Yield what was changed outside: what people approved, where they approved anything."""
    acts = [act for act in account.acts if act.is_done and not act.is_chat and not act.is_read]
    titles = {request.id: request.title for request in account.requests}
    for act in [act for act in acts if act.approval_id] or acts:
        yield titles.get(act.approval_id) or act.purpose or act.what


def _signed(request: Request, vote: Vote) -> Signed:
    after = seconds_between(vote.opened_at, vote.at)
    opened = "opening was not recorded" if after is None else f"{length(after)} after opening"
    return Signed(vote.name, vote.said, request.title, vote.at, opened)
