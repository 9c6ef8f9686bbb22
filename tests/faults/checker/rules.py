"""What has to hold of a world that has settled. Each rule yields a sentence for whatever breaks it."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.faults.checker.budget_rules import BUDGET_RULES
from tests.faults.checker.facts import Facts, Row, checkpoints_are_of_the_log, leaf_hash, leaves_have_one_place
from tests.faults.checker.policy_rules import CHANGES, POLICY_RULES

Rule = Callable[[Facts], Iterator[str]]

_ENDS = ("succeeded", "failed_terminal", "canceled")
_OVER = ("dispatched", "rejected", "failed")
_BETWEEN_CLOCKS = 0.25
"""Seconds by which the program's moment, told by the database, and an upstream's own may differ."""
_RECORDS = ("receipts", "reads", "decisions")
_FORBIDDEN = "leave"
_OURS = ("slack", "run", "policy")
"""Connectors whose effects rules of their own look at."""
_OF_ACTS = {
    "EDIT": "effect.edited",
    "WITHDRAW": "vote.withdrawn",
    "HAND": "approval.handed",
    "ASK": "question.asked",
    "CHANGES": "vote.counted",
}
_OF_EFFECTS = ("receipts", "decisions", "approvals")
_NOWHERE = 1 << 30


def triggers_reach_one_end(facts: Facts) -> Iterator[str]:
    """Each accepted trigger is one run, whoever sent it how often, and that run has ended."""
    told: dict[str, set[str]] = defaultdict(set)
    for line in facts.told("triggered"):
        if line["ok"]:
            told[line["ref"]].add(line["run_id"])
    runs = {row["run_id"]: row for row in facts.tables["runs"]}
    asked_for = (row for row in runs.values() if row["parent"] is None and row["definition_name"] not in CHANGES)
    made = Counter(row["trigger_ref"] for row in asked_for)
    sent = {line["ref"] for line in facts.told("triggered")}
    for ref, ids in told.items():
        if len(ids) > 1:
            yield f"trigger {ref} was answered with {len(ids)} runs: {', '.join(sorted(ids))}"
        for run_id in ids:
            if run_id not in runs:
                yield f"trigger {ref} was accepted as run {run_id}, which is not there"
            elif runs[run_id]["status"] not in _ENDS:
                yield f"run {run_id} of trigger {ref} has not ended: {runs[run_id]['status']}"
    yield from (f"trigger {ref} made {number} runs" for ref, number in made.items() if number > 1)
    yield from (f"there is a run of {ref}, which nobody asked for" for ref in made.keys() - sent)


def effects_happen_once(facts: Facts) -> Iterator[str]:
    """An effect happens at most once under its key; once where a receipt says so; and never without a receipt."""
    acted = Counter((line["operation"], line["key"]) for line in facts.told("acted"))
    done = {
        (row["document"]["operation"], row["idempotency_key"])
        for row in facts.tables["receipts"]
        if row["outcome"] == "success" and row["document"]["connector"] not in _OURS
    }
    for (operation, key), times in acted.items():
        if times > 1:
            yield f"{operation} under {key} happened {times} times"
        if (operation, key) not in done:
            yield f"{operation} under {key} happened, and no receipt says so"
    yield from (f"a receipt says that {name} under {key} happened, and it did not" for name, key in done - acted.keys())
    yield from (f"{name} under {key} happened, which policy forbids" for name, key in acted if name == _FORBIDDEN)


def runs_start_runs_once(facts: Facts) -> Iterator[str]:
    """Each step that says it started a run started one, and no run comes from a step that does not say so."""
    said = Counter(
        (row["document"]["run_id"], row["document"]["step"])
        for row in facts.tables["receipts"]
        if row["outcome"] == "success" and row["document"]["connector"] == "run"
    )
    below = Counter(
        (row["parent"]["run_id"], row["parent"]["step"]) for row in facts.tables["runs"] if row["parent"] is not None
    )
    for (run_id, step), times in below.items():
        if times > 1:
            yield f"step {step} of run {run_id} started {times} runs"
    yield from (
        f"a receipt says that {step} of {run_id} started a run, and it did not" for run_id, step in said - below
    )
    yield from (f"{step} of {run_id} started a run, and no receipt says so" for run_id, step in below - said)
    for row in facts.tables["runs"]:
        if row["parent"] is not None and row["status"] not in _ENDS:
            yield f"run {row['run_id']}, which another started, has not ended: {row['status']}"


def effects_are_allowed(facts: Facts) -> Iterator[str]:
    """Each effect has an earlier allow, and where signatures were asked for, an earlier quorum on the same digest."""
    for line in facts.told("acted"):
        what = f"{line['operation']} under {line['key']}"
        effect = facts.effects_by_key.get((line["operation"], line["key"]))
        if effect is None:
            yield f"{what} happened, and no effect of that key is known"
            continue
        known, until = facts.of_effect[effect["effect_id"]], line["at"] + _BETWEEN_CLOCKS
        outcomes = {row["outcome"] for row in known["decisions"] if row["at_s"] <= until}
        if "allow" not in outcomes:
            yield f"{what} happened, and policy had not allowed it"
        if "needs_approval" in {row["outcome"] for row in known["decisions"]}:
            yield from _unsigned(facts, what, effect, known["approvals"], until)


def _unsigned(facts: Facts, what: str, effect: Row, approvals: list[Row], until: float) -> Iterator[str]:
    """Yield if no approval of exactly this action had enough distinct people by then."""
    enough = 0
    for row in (row for row in approvals if row["kind"] == "effect" and row["digest"] == effect["digest"]):
        given = (vote for vote in facts.votes_of[row["approval_id"]] if vote["at_s"] <= until)
        votes = [vote for vote in given if vote["withdrawn_at"] is None]
        people = {vote["person"] for vote in votes if vote["verdict"] == "approve"}
        accounts = {(vote["team"], vote["account"]) for vote in votes if vote["verdict"] == "approve"}
        enough = max(enough, min(len(people), len(accounts)) >= row["requirement"]["quorum"])
    if not enough:
        yield f"{what} happened without the signatures that policy had asked for"


def votes_are_clicks(facts: Facts) -> Iterator[str]:
    """Each vote was clicked, by that person on that card; no click counts twice, but after a vote was withdrawn."""
    clicked = {(line["approval_id"], line["person"]) for line in facts.told("clicking")}
    given = [(row["approval_id"], row["person"], row["withdrawn_at"] is None) for row in facts.tables["votes"]]
    for approval, person in {(approval, person) for approval, person, _ in given} - clicked:
        yield f"the vote of {person} on {approval} was never clicked"
    standing = Counter((approval, person) for approval, person, stands in given if stands)
    for (approval, person), times in standing.items():
        if times > 1:
            yield f"{person} voted {times} times on {approval}"


def counted_votes_are_on_record(facts: Facts) -> Iterator[str]:
    """Each click that was told that it counts is a vote, and each that was acknowledged is a notification."""
    written = {row["notification_id"] for row in facts.tables["votes"]}
    clicks = [row for row in facts.tables["notifications"] if row["kind"] == "vote"]
    for row in clicks:
        if (row["outcome"] or {}).get("counted") and row["notification_id"] not in written:
            yield f"click {row['notification_id']} was told that it counts, and its vote is not on record"
    recorded = {(row["payload"]["approval_id"], row["payload"]["user"]) for row in clicks}
    for line in facts.told("clicked"):
        if line["ok"] and (line["approval_id"], line["account"]) not in recorded:
            yield f"the click of {line['person']} on {line['approval_id']} was acknowledged, and is not on record"


def acts_are_on_record(facts: Facts) -> Iterator[str]:
    """What somebody did with a request beside deciding it, and was told is taken, is in its run's chain, or refused."""
    leaves = (row["leaf"] for row in facts.tables["leaves"])
    found = {(leaf["data"].get("approval_id"), leaf["event"]) for leaf in leaves if "approval_id" in leaf["data"]}
    for line in facts.told("whim"):
        approval = line["approval_id"]
        if line["ok"] and not {(approval, _OF_ACTS[line["whim"]]), (approval, "vote.refused")} & found:
            yield f"{line['person']} was told that {line['whim']} of {approval} is taken, and no leaf says so"


def chains_hold(facts: Facts) -> Iterator[str]:
    """Each chain, a run's or a tenant's own, has no gap, derives anew, and ends where the row of its owner says."""
    for owner in (*facts.tables["runs"], *facts.tables["tenants"]):
        chain, before = owner["run_id"], "0" * 64
        leaves = facts.chains[chain]
        for number, row in enumerate(leaves, 1):
            leaf = {**row["leaf"], "run_id": chain, "seq": row["seq"], "prev_hash": before}
            if row["seq"] != number:
                yield f"{chain}: leaf {number} is missing"
            if leaf_hash(leaf) != row["hash"]:
                yield f"{chain}: leaf {number} does not give its hash behind the one before it"
            before = row["hash"]
        if (owner["audit_seq"], owner["audit_hash"]) != (len(leaves), before):
            yield f"{chain}: its chain ends elsewhere than its row says"


def records_are_in_chains(facts: Facts) -> Iterator[str]:
    """Each receipt, read and decision is named, by its digest, by a leaf of its run; what leaves name is there."""
    named = _named(facts)
    there = {(row["run_id"], row["digest"]) for table in _RECORDS for row in facts.tables[table]}
    for run_id, _ in named.keys() - there:
        yield f"run {run_id}: a leaf names a receipt, a read or a decision that is not there"
    for table in _RECORDS:
        for row in facts.tables[table]:
            if (row["run_id"], row["digest"]) not in named:
                yield f"{table}: no leaf names a record of run {row['run_id']}"


def allows_come_first(facts: Facts) -> Iterator[str]:
    """In its chain, policy's allow of an effect stands before the receipt of its success."""
    named = _named(facts)
    allowed: dict[str, int] = {}
    for row in facts.tables["decisions"]:
        if row["outcome"] == "allow":
            place = named.get((row["run_id"], row["digest"]), _NOWHERE)
            allowed[row["effect_id"]] = min(place, allowed.get(row["effect_id"], _NOWHERE))
    for row in facts.tables["receipts"]:
        place = named.get((row["run_id"], row["digest"]), 0)
        if row["outcome"] == "success" and allowed.get(row["effect_id"], _NOWHERE) > place:
            yield f"effect {row['effect_id']}: its receipt comes before policy's allow"


def _named(facts: Facts) -> dict[tuple[str, str], int]:
    """Return where in their chains receipts, reads and decisions are named, by run and digest."""
    return {
        (run_id, row["leaf"]["data"]["digest"]): row["seq"]
        for run_id, leaves in facts.chains.items()
        for row in leaves
        if row["leaf"]["event"] in ("receipt.written", "read.recorded", "decision.recorded")
    }


def rows_name_what_is_there(facts: Facts) -> Iterator[str]:
    """What belongs to a run, or to an effect, names one that is there: most of it has no foreign key that says so."""
    runs = {row["run_id"] for row in facts.tables["runs"]}
    effects = {row["effect_id"] for row in facts.tables["effects"]}
    for table in ("steps", "effects", "waits", "receipts", "reads", "decisions", "approvals"):
        for row in facts.tables[table]:
            if row["run_id"] not in runs:
                yield f"{table}: run {row['run_id']} is not there"
            if table in _OF_EFFECTS and row["effect_id"] not in effects:
                yield f"{table}: effect {row['effect_id']} is not there"
    tenants = {row["run_id"] for row in facts.tables["tenants"]}
    yield from (f"leaves: run {run_id} is not there" for run_id in facts.chains if run_id not in runs | tenants)


def nothing_is_left(facts: Facts) -> Iterator[str]:
    """Nothing is leased, pending, waiting to be applied, or unsealed."""
    for row in facts.tables["effects"]:
        if row["status"] not in _OVER:
            yield f"effect {row['effect_id']} ({row['operation']}) is {row['status']}: {row['error']}"
    for row in facts.tables["steps"]:
        if row["status"] in ("ready", "running", "waiting_approval", "parked", "failed_retryable"):
            yield f"step {row['path']} of {row['run_id']} is {row['status']}"
    for row in facts.tables["notifications"]:
        if row["status"] in ("received", "early"):
            yield f"notification {row['notification_id']} ({row['kind']}) is {row['status']}"
    stored = {row["run_id"] for row in facts.tables["bundles"] if row["stored_at"] is not None}
    for row in facts.tables["runs"]:
        if row["run_id"] not in stored:
            yield f"the evidence of run {row['run_id']} is not stored"


RULES: tuple[Rule, ...] = (
    triggers_reach_one_end,
    effects_happen_once,
    runs_start_runs_once,
    effects_are_allowed,
    votes_are_clicks,
    counted_votes_are_on_record,
    acts_are_on_record,
    chains_hold,
    records_are_in_chains,
    allows_come_first,
    leaves_have_one_place,
    checkpoints_are_of_the_log,
    rows_name_what_is_there,
    nothing_is_left,
    *POLICY_RULES,
    *BUDGET_RULES,
)


def broken(facts: Facts) -> dict[str, list[str]]:
    """Return what does not hold, by rule."""
    said: dict[str, list[str]] = {rule.__name__: list(rule(facts)) for rule in RULES}
    return {name: sentences for name, sentences in said.items() if sentences}


def answered_outside(facts: Facts, recovery: float) -> tuple[int, int]:
    """Return (requests, those that were accepted) of clients while nothing was wrong, nor had been shortly before."""
    windows = list(_troubled(facts, recovery))
    calm = [
        line
        for line in facts.told("triggered")
        if not any(began <= line["at"] and line["sent"] <= ended for began, ended in windows)
    ]
    return len(calm), sum(line["ok"] for line in calm)


def _troubled(facts: Facts, recovery: float) -> Iterator[tuple[float, float]]:
    """Yield when something was wrong: faults, ends of the process that answers, and until it answers again."""
    for line in facts.told("fault"):
        yield line["began"], line["at"] + recovery
    for line in facts.told("killed"):
        if line["who"] == "front":
            yield line["at"], line["at"] + recovery
    down: float | None = None
    for line in facts.lines:
        if line["kind"] == "down":
            down = line["at"]
        elif line["kind"] == "up" and down is not None:
            yield down - recovery, line["at"] + recovery
            down = None
    if down is not None:
        yield down - recovery, math.inf
