"""The cover of a report: what it is about, what was done, who asked, who signed when, and how it ended.

At the top stands the verdict: whether the bundle was verified, whether it holds, and why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.reading.account import Account
from evidence.reading.exceptions import LABELS, Exceptions, length, seconds_between
from evidence.reading.requests import Request, Vote
from evidence.verify.judgement import Judgement, Standing
from evidence.verify.procedure import STEPS
from evidence.verify.trust import Trust
from evidence.verify.verify import FIRST_RULES, PassedStep, VerificationError, VerificationReport


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


_SENTENCES = {
    **FIRST_RULES,
    **{rule.name: rule.sentence for step in STEPS for rule in step.rules},
    **{rule.name: rule.sentence for step in STEPS for rule in step.bound},
}
_SIGNED = 4
"""The step after which somebody who has the key is known to have said all that is in the bundle."""


class Kind(StrEnum):
    """How it looks."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"


@dataclass(frozen=True)
class Verdict:
    """`standing` is the word on each sheet of paper; `trusted` what was checked beside the signature, and what not."""

    kind: Kind
    mark: str
    heading: str
    standing: str
    sentences: Sequence[str]
    footer: str
    exit_status: Standing = Standing.HOLDS
    key_id: str = ""
    steps: Sequence[PassedStep] = ()
    trusted: Sequence[tuple[str, str]] = ()


_FOOTER = (
    "Countersign made this page from the bundle alone. The evidence is the bundle, not this page. The same bundle and"
    " key give the same page, byte for byte."
)

NO_KEY = Verdict(
    kind=Kind.OPEN,
    mark="!",
    heading="Not verified: no key was given",
    standing="NOT VERIFIED",
    sentences=(
        "This page shows what the file says. Its signature was not checked, nor whether it was changed.",
        "Give the public key (--key) to verify it.",
    ),
    footer=_FOOTER,
)


def verdict_on(judged: Judgement, trust: Trust) -> Verdict:
    """Return the verdict on a bundle for which a key was given."""
    if isinstance(judged.found, VerificationReport):
        return _good(judged.found, trust)
    if isinstance(judged.found, VerificationError):
        return verdict_of(judged.found, judged.standing)
    raise judged.found  # what was asked for cannot be decided


def _good(report: VerificationReport, trust: Trust) -> Verdict:
    return Verdict(
        kind=Kind.GOOD,
        mark="✓",
        heading="Verified: everything holds",
        standing="VERIFIED",
        sentences=(
            f"Signed with the key {report.key_id[:16]}…, and unchanged since. Its records agree with each other.",
            trust.log_key,
            f"{len(report.rules)} rules in {len(report.steps)} steps hold. Compare the key with its owner's.",
        ),
        footer=_FOOTER,
        key_id=report.key_id,
        steps=report.steps,
        trusted=_trusted(report, trust),
    )


def _trusted(report: VerificationReport, trust: Trust) -> list[tuple[str, str]]:
    """Say what was checked beside the signature."""
    found = {held.rule: held.found for held in report.rules}
    log = "not checked: no key of the log was given (--log-key)"
    if trust.log:
        log = f"checked: the log's key signed the run's records: {found['log.signed']}"
    cosigned = f"at least {trust.witnessed} must have cosigned the log: {found.get('log.witnessed', '')}"
    return [
        ("Register of keys", found["key.counted"] if trust.register else "not checked: none was given (--keys)"),
        ("Audit log", log),
        ("Witnesses", cosigned if trust.witnesses else "not checked: none was given (--witness)"),
        ("Kept checkpoints", found.get("log.kept", "not checked: none was given (--checkpoint)")),
        ("Time stamp", found["log.stamped"] if trust.authority else "not checked: no authority was given (--tsa)"),
    ]


def verdict_of(error: VerificationError, standing: Standing) -> Verdict:
    """Return the verdict on a bundle in which something does not hold."""
    what = f"{error.member}: {error.what}" if error.member else error.what
    rest = (
        "The rest of this page shows what the bundle says. Do not rely on it."
        if error.step > _SIGNED
        else "Nobody is known to have signed its contents, so this page does not show them."
    )
    return Verdict(
        kind=Kind.BAD,
        mark="✗",
        heading="Not signed by this key" if standing is Standing.UNSIGNED else "This bundle does not hold",
        standing="DOES NOT HOLD",
        sentences=(
            f"Step {error.step}, rule {error.rule}: {what}.",
            f"The rule: {_SENTENCES.get(error.rule, error.rule).replace('`', '')}",
            rest,
        ),
        footer=_FOOTER,
        exit_status=standing,
        key_id=(error.about and error.about.key_id) or "",
    )
