"""Votes: whose they are, who might give one, when they were counted, and what one of them leads to.

Who gave a vote might, whatever it says, and whatever came of it. Votes rest on acts of the tenant: passkeys were
registered by them, and delegations recorded.
"""

from collections.abc import Iterator, Sequence

from evidence import names
from evidence.verify.approvals import UNTIL_KNOWN
from evidence.verify.authority import asked_at, requesters_of
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Counted, Facts, Requested
from evidence.verify.quorum import uses_break_glass
from evidence.verify.rules import Rule, agree, broken_leaf, counted, rule
from evidence.verify.vote_forms import ShownForm, VoteForm
from receipts import canonical
from receipts.chain import Leaf, is_sound
from receipts.tenant_acts import chain_of

STAMP = 16
"""Characters of a stamp."""
REASON_MIN = 3
"""Characters of a reason, spaces around it not counted."""


def _count(facts: Facts) -> str:
    return counted(sum(len(approval.votes) for approval in facts.approvals.values()), "vote")


@rule(
    "votes.as-told",
    "A vote's leaf is by the person who voted, and says the `person`, `verdict`, effect and step of the vote and its"
    " approval and, of one for somebody else, its `delegator`, of one that uses break-glass, its"
    " `break_glass`; the vote's `at` is the leaf's.",
)
def _as_told(facts: Facts) -> str:
    for approval in facts.approvals.values():
        for vote in approval.votes:
            record, leaf = vote.record, vote.leaf
            agree(
                approval.name,
                f"{names.AUDIT} line {leaf.seq}",
                person=(record.person, leaf.data.get("person")),
                verdict=(record.verdict, leaf.data.get("verdict")),
                delegator=(record.delegator, leaf.data.get("delegator")),
                break_glass=(_break_glass(record), leaf.data.get("break_glass")),
                voter=((record.person, "person"), (leaf.actor.id, leaf.actor.kind)),
                at=(record.at, leaf.at),
                effect_id=(approval.record.effect_id, leaf.correlation.effect_id),
                step=(approval.record.step, leaf.correlation.step or ""),
            )
    return _count(facts)


def _break_glass(record: VoteForm) -> object:
    return record.break_glass.model_dump() if record.break_glass else None


@rule(
    "votes.in-time",
    "A vote was counted before its approval's `expires_at`, as it was moved, unless it says what became of an"
    " attempt (`in_doubt`), or afterwards whether it was right (`afterwards`), which is asked until somebody answers.",
)
def _in_time(facts: Facts) -> str:
    for approval in facts.approvals.values():
        for vote in approval.votes:
            until = facts.until(approval.record.id, approval.record.expires_at, vote.leaf)
            if approval.record.kind not in UNTIL_KNOWN and vote.leaf.at >= until:
                raise broken_leaf(vote.leaf, f"{vote.record.person} voted after {until}, when"
                                        f" approval {approval.record.id} had expired")  # fmt: skip
    return _count(facts)


@rule("votes.while-open", "A vote was counted after its approval was requested, and before it ended.")
def _while_open(facts: Facts) -> str:
    for approval in facts.approvals.values():
        end = approval.end.seq if approval.end else len(facts.leaves) + 1
        for vote in approval.votes:
            if not approval.leaf.seq < vote.leaf.seq < end:
                raise broken_leaf(
                    vote.leaf, f"approval {approval.record.id} was not open when {vote.record.person} voted"
                )
    return _count(facts)


@rule(
    "votes.accounts",
    "No two votes on an approval that counted at one time came from one Slack account (`team` and `user`), or from one"
    " account of the console (`issuer` and `subject`).",
)
def _accounts(facts: Facts) -> str:
    for approval in facts.approvals.values():
        for vote in approval.votes:
            standing = approval.standing_before(vote.leaf)
            before = {account: other.record.person for other in standing for account in _accounts_of(other)}
            for account in _accounts_of(vote):
                if account in before:
                    raise BrokenError(
                        approval.name,
                        f"{before[account]} and {vote.record.person} voted from one account, {account[2]}",
                    )
    return _count(facts)


def _accounts_of(vote: Counted) -> Iterator[tuple[str, str, str]]:
    slack, console = vote.record.slack, vote.record.console
    yield "slack", slack.team, slack.user
    if console is not None:
        yield "console", console.issuer, console.subject


@rule(
    "votes.console",
    "A vote that came by the `console`, and no other, has a `console`: the `issuer` and `subject` of the account, and"
    " what the page had `shown`: the `id` and `digest` of its approval, and as `stamp` the first 16 hex digits of the"
    " digest of the list of that digest, the requirement and `requested`.",
)
def _by_console(facts: Facts) -> str:
    found = 0
    for approval in facts.approvals.values():
        for vote in approval.votes:
            console = vote.record.console
            if (console is not None) != vote.record.is_from_console:
                said = "says what the console showed" if console else "does not say what the console showed"
                raise BrokenError(approval.name, f"the vote of {vote.record.person} {said}, and came otherwise")
            if console is not None:
                _check_page(approval, console.shown, vote.record.person)
                found += 1
    return counted(found, "vote")


def _check_page(approval: Requested, shown: ShownForm, person: str) -> None:
    record = approval.record
    stamp = canonical.digest([record.digest, record.requirement.model_dump(), "requested"])[:STAMP]
    if (shown.id, shown.digest, shown.stamp) != (record.id, record.digest, stamp):
        raise BrokenError(approval.name, f"the page on which {person} voted showed something else than was asked")


@rule(
    "votes.reasons",
    "A vote that rejects or asks for changes, or is on an approval that wants reasons (`reason_required`), has a"
    " reason of three characters or more.",
)
def _reasons(facts: Facts) -> str:
    for approval in facts.approvals.values():
        for vote in approval.votes:
            needed = vote.record.verdict != "approve" or approval.record.requirement.reason_required
            if needed and len(vote.record.reason.strip()) < REASON_MIN:
                raise BrokenError(approval.name, f"the vote of {vote.record.person} has to have a reason, and has none")
    return _count(facts)


@rule(
    "votes.rejections",
    "One vote that rejects or asks for changes (`changes`) ends its approval: it is the last one, and the approval is"
    " `rejected`. Where the requirement has a `veto`, only such a vote by somebody of these groups does; another one"
    " ends nothing. None is rejected without a vote that ends it, and nobody asks for changes of what has happened, or"
    " may have (`in_doubt`, `afterwards`).",
)
def _rejections(facts: Facts) -> str:
    for approval in facts.approvals.values():
        ends = [approval.record.requirement.is_ended_by(vote.record) for vote in approval.votes]
        if any(ends[:-1]):
            raise BrokenError(approval.name, "counts votes after one that rejects")
        is_no = ends[-1:] == [True]
        if is_no != (approval.record.status == "rejected"):
            said = "a vote rejects" if is_no else "no vote rejects"
            raise BrokenError(approval.name, f"is {approval.record.status}, and {said}")
        if approval.record.kind in UNTIL_KNOWN and any(vote.record.verdict == "changes" for vote in approval.votes):
            raise BrokenError(approval.name, "asks for changes of what has happened, or may have")
    return _count(facts)


@rule(
    "votes.counted",
    "The leaf with which an approval ended as `approved`, `rejected` or `expired` says how many votes counted"
    " then, and is of the approval's effect and step.",
)
def _counted(facts: Facts) -> str:
    for approval in facts.approvals.values():
        if approval.end is not None and approval.end.event != "approval.canceled":
            _check_end(approval)
    return _count(facts)


def _check_end(approval: Requested) -> None:
    end = approval.end
    if end is not None:
        agree(
            approval.name,
            f"{names.AUDIT} line {end.seq}",
            votes=(len(approval.standing), end.data.get("votes")),
            effect_id=(approval.record.effect_id, end.correlation.effect_id),
            step=(approval.record.step, end.correlation.step or ""),
        )


TOLD: tuple[Rule[Facts], ...] = (_as_told, _counted)
RULES: tuple[Rule[Facts], ...] = (_in_time, _while_open, _accounts, _by_console, _reasons, _rejections)


@rule(
    "votes.entitled",
    "Whoever gave a vote might, whatever it says and whatever came of it: neither its people nor who recorded its"
    " `delegation` wanted the effect or is excluded, as in `approvals.consent`; none of its people had another vote on"
    " the approval that counted then; and it is of a group that was asked by then, or uses break-glass.",
)
def _entitled(facts: Facts) -> str:
    votes = 0
    for approval in facts.approvals.values():
        asked, barred = asked_at(facts.contents, approval.record), barred_from(facts, approval)
        for vote in approval.votes:
            if wrong := _why_not_entitled(approval, vote, asked[vote.leaf.seq], barred):
                raise broken_leaf(vote.leaf, f"the vote of {vote.record.person} does not count: {wrong}")
            votes += 1
    return counted(votes, "vote")


def barred_from(facts: Facts, approval: Requested) -> set[str]:
    """Return who may decide nothing of an approval: who wanted its effect, and whom policy excludes."""
    return requesters_of(facts.contents, approval.record) | set(approval.record.requirement.exclude)


def _why_not_entitled(approval: Requested, vote: Counted, asked: set[str], barred: set[str]) -> str:
    """Return why a vote might not be given, "" where it might; `asked` are the groups by then."""
    record = vote.record
    people = {*record.people, *([record.delegation.recorded_by] if record.delegation else ())}
    if wanting := sorted(people & barred):
        return f"{wanting[0]} wanted it, or was excluded"
    if any(not set(other.record.people).isdisjoint(record.people) for other in approval.standing_before(vote.leaf)):
        return "they had voted"
    is_asked = not asked.isdisjoint(record.groups) or uses_break_glass(approval.record.requirement, record)
    return "" if is_asked else "they are in none of the groups that were asked"


VOTERS: tuple[Rule[Facts], ...] = (_entitled,)


def acts_of_votes(facts: Facts) -> Iterator[tuple[str, Leaf]]:
    """Give each act on which a vote rests, with the member that has it."""
    for approval in facts.approvals.values():
        for vote in approval.votes:
            for rests_on in (vote.record.passkey, vote.record.delegation):
                for leaf in rests_on.acts if rests_on else ():
                    yield approval.name, leaf


def demand_of_tenant(facts: Facts, name: str, whose: str, acts: Sequence[Leaf]) -> None:
    """Raise unless each act gives its hash and is one of the tenant's chain."""
    for leaf in acts:
        if not is_sound(leaf) or leaf.run_id != chain_of(facts.contents.run.tenant):
            raise BrokenError(name, f"{whose}: leaf {leaf.seq} is not one of the tenant's chain")
