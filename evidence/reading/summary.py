"""`summary.md`: one page for people, which follows from the bundle's records alone and is bounded in length."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from evidence import names
from evidence.reading.account import Account, account_of
from evidence.reading.markdown import prose, quoted, quoted_json
from evidence.reading.material import Material
from evidence.reading.outcomes import Act, Handled, Refusal
from evidence.reading.requests import Field, Question, Request, Vote
from evidence.reading.words import KINDS, counted, listed, moment

T = TypeVar("T")

_NAME = 120
"""Characters of a name, a target or a title."""
_TEXT = 300
"""Characters of a reason or another sentence."""
_VALUE = 150
"""Characters of a field of what was asked about."""
_MOST = {
    "about": 6,
    "requests": 6,
    "fields": 6,
    "votes": 9,
    "questions": 9,
    "refusals": 9,
    "acts": 12,
    "handled": 9,
    "skipped": 9,
    "costs": 9,
}
"""How many of a kind are told one by one."""

_HEAD = """\
Text in “ ” quotes people, programs and policies; all other words are this format's. This page is derived from the other
files of the bundle. It proves nothing by itself; verification compares it with them.
"""

_MOCKED = "**This run was on mocks: nothing was done for real.**\n"

_REST = """\
- `timeline.md`: every change of state in order; `audit.jsonl`: the same, hash-chained
- `approvals/`: requests, cards as shown, votes; `decisions/`: every policy decision
- `policies/`: the policy text then in force; `definition.json`: what was executed
- `receipts/`: requests and responses; `reads/`: lookups; `costs.json`: totals
- `run.json`: the run; `log/`: its place in the audit log; `statement.dsse.json`: the signature over all of this
- `README.md`: how to verify it, with a program or by hand
"""


def summary(material: Material) -> bytes:
    """Return the page."""
    account = account_of(material, _MOST["requests"])
    parts = [
        f"# {prose(account.title, _NAME) or 'A run'}: {_ending(account) or 'not ended'}\n",
        *([_MOCKED] if account.mocked else []),
        *([f"**{account.policy_notice}**\n"] if account.policy_notice else []),
        _HEAD,
        *_lines("", _facts(account)),
        *_part("Policy decisions", _policy(account)),
        *_part("Requests and signatures", _requests(account)),
        *_part(
            "Rejections and refusals", _several(account.refusals, "refusals", _refusal, names.AUDIT) or ["- Nothing."]
        ),
        *_part("Actions and results", _done(account)),
        *_part("Undone", _several(account.undone, "acts", _undone, names.RECEIPTS) or ["- Nothing."]),
        *_part("Costs", _costs(account)),
        *_part("Other files", [_REST.rstrip()]),
    ]
    return "\n".join(parts).encode()


def _ending(account: Account) -> str:
    return quoted(account.outcome, _NAME) if account.outcome else prose(account.status, _NAME)


def _facts(account: Account) -> Iterable[str]:
    through = f" via {quoted(account.submitted_by, _NAME)}"
    by = quoted(account.requested_by, _NAME)
    yield f"- **Requested by:** {by}{through if account.submitted_by != account.requested_by_id else ''}"
    yield f"- **Runbook:** {quoted(account.name, _NAME)}, version {account.version}" + _also(account.description, ": ")
    yield f"- **About:** {'; '.join(quoted(one, _NAME) for one in account.about[: _MOST['about']])}"
    yield f"- **Tenant:** {quoted(account.tenant, _NAME)}"
    yield f"- **Started:** {moment(account.began_at)}"
    word = f"{quoted(account.outcome, _NAME)}; the run itself " if account.outcome else ""
    yield f"- **Ended:** {moment(account.ended_at)}: {word}{prose(account.status, _NAME)}{_also(account.error, ', ')}"


def _policy(account: Account) -> Iterable[str]:
    allow, ask, deny = (account.answers[outcome] for outcome in ("allow", "needs_approval", "deny"))
    asked = counted(sum(account.answers.values()), "decision")
    yield f"- {asked}: {allow:,} allowed, {ask:,} needed approval, {deny:,} denied."
    for code, words, needed in account.needs[: _MOST["requests"]]:
        yield f"- {quoted(words or code, _TEXT)}: {prose(needed, _TEXT)}"


def _requests(account: Account) -> Iterable[str]:
    told = [line for one in account.requests for line in _request(one)] or ["- No requests."]
    return [*told, *_more(account.asked, "requests", names.APPROVALS)]


def _request(request: Request) -> Iterable[str]:
    yield f"- **{KINDS.get(request.kind, 'A request')}**, {moment(request.asked_at)}: {quoted(request.what, _NAME)}"
    yield f"  - Why: {quoted(request.purpose, _TEXT)}" + _rules(request)
    yield f"  - Required: {prose(request.needed, _TEXT)}"
    if request.kind != "task":
        undo = f"can be undone: {quoted(request.undone_by, _NAME)}" if request.undone_by else "cannot be undone"
        yield f"  - Risk: {prose(request.tier, _NAME)}; {undo}"
    yield from _several(request.fields, "fields", _field, names.DECISIONS)
    yield from _several(request.questions, "questions", _question, names.APPROVALS)
    yield from _several(request.votes, "votes", _vote, names.APPROVALS)
    ended = f" on {moment(request.ended_at)}" if request.ended_at else ""
    yield f"  - Result: {prose(request.ending, _NAME)}{ended}"


def _rules(request: Request) -> str:
    told = [quoted(words or code, _TEXT) for code, words in request.rules]
    return f"; rule {listed(told)}" if told else ""


def _field(field: Field) -> Iterable[str]:
    before = f"{quoted_json(field.before, _VALUE)} → " if field.is_change else ""
    yield f"  - Shown: {quoted(field.name, _NAME)}: {before}{quoted_json(field.after, _VALUE)}"


def _question(told: Question) -> Iterable[str]:
    yield f"  - Asked: **{prose(told.name, _NAME)}**, {moment(told.at)}: {quoted(told.question, _TEXT)}"
    if not told.answered_at:
        yield "    - Not answered"
    else:
        by = f"**{prose(told.answered_by, _NAME)}**"
        yield f"    - Answered: {by}, {moment(told.answered_at)}: {quoted(told.answer, _TEXT)}"


def _vote(vote: Vote) -> Iterable[str]:
    reason = f": {quoted(vote.reason, _TEXT)}" if vote.reason else ", without a reason"
    meaning = f"; meaning: {prose(vote.name, _NAME)} {vote.meaning}" if vote.meaning else ""
    yield f"  - Signed: **{prose(vote.name, _NAME)}** {prose(vote.said, _NAME)}, {moment(vote.at)}{reason}{meaning}"


def _refusal(refusal: Refusal) -> Iterable[str]:
    what = refusal.what.replace("{}", quoted(refusal.about, _NAME))
    yield f"- {moment(refusal.at)}: **{prose(refusal.who, _NAME)}** {what}{_also(refusal.why, ': ')}"


def _done(account: Account) -> Iterable[str]:
    yield from _several([act for act in account.acts if not act.is_card], "acts", _act, names.RECEIPTS) or [
        "- Nothing."
    ]
    if account.looks:
        times, answers = len(account.looks), sum(not look.error for look in account.looks)
        yield f"- {counted(times, 'lookup')}, {counted(answers, 'answer')}"
    yield from _several(account.handled, "handled", _handled, names.AUDIT)
    if account.skipped:
        yield f"- Skipped, condition not met: {_steps([step for step, _ in account.skipped])}"
    if account.not_begun:
        yield f"- Not started when the run ended: {_steps(account.not_begun)}"


def _handled(handled: Handled) -> Iterable[str]:
    instead = f"; next came {_steps(handled.by)}" if handled.by else ""
    failed = f"{prose(handled.step, _NAME)} failed and was handled"
    yield f"- {moment(handled.at)}: {failed}{_also(handled.error, ', ')}{instead}"


def _steps(steps: Sequence[str]) -> str:
    return listed([prose(step, _NAME) for step in steps[: _MOST["skipped"]]])


def _act(act: Act) -> Iterable[str]:
    on = f" on {quoted(act.target, _NAME)}" if act.target else ""
    yield f"- {moment(act.at)}: {prose(act.what, _NAME)}{on}: **{prose(act.outcome, _NAME)}**{_also(act.error, ', ')}"
    if act.purpose:
        yield f"  - Purpose: {quoted(act.purpose, _TEXT)}"
    if act.answer is not None:
        yield f"  - Response: {quoted_json(act.answer, _VALUE)}"
    for who, at in act.replied:
        yield f"  - Answered by {quoted(who, _NAME)}, {moment(at)}"


def _undone(act: Act) -> Iterable[str]:
    undone = listed([quoted(step, _NAME) for step in act.undoes[: _MOST["acts"]]])
    yield f"- {moment(act.at)}: {prose(act.what, _NAME)} undid {undone}"


def _costs(account: Account) -> Iterable[str]:
    def told(cost_number: int) -> Iterable[str]:
        cost = account.costs[cost_number]
        who = listed([quoted(part, _NAME) for part in (cost.provider, cost.model) if part]) or "somebody"
        used = ", ".join(prose(part, _TEXT) for part in (cost.calls, cost.units) if part)
        yield f"- {who}: {used}: {prose(cost.amounts, _TEXT) or 'cost not reported'}"

    return _several(range(len(account.costs)), "costs", told, names.COSTS) or ["- No costs were reported."]


def _also(text: str, before: str) -> str:
    """Return words of others where there are any, with what stands before them."""
    return f"{before}{quoted(text, _TEXT)}" if text else ""


def _several(all_: Sequence[T], kind: str, tell: Callable[[T], Iterable[str]], where: str) -> list[str]:
    """Return the lines about the first ones, and how many more there are, and where."""
    return [*(line for one in all_[: _MOST[kind]] for line in tell(one)), *_more(len(all_), kind, where)]


def _more(count: int, kind: str, where: str) -> list[str]:
    more = count - _MOST[kind]
    return [f"- … and {more:,} more in `{where}`"] if more > 0 else []


def _part(title: str, told: Iterable[str]) -> list[str]:
    return _lines(f"## {title}\n", told)


def _lines(title: str, told: Iterable[str]) -> list[str]:
    return [*filter(None, [title]), *told, ""]
