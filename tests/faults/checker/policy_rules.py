"""What has to hold of the policy while versions of it come into force. Each rule yields a sentence for what breaks it.

The order of commits is what PostgreSQL remembers of them: an activation waits for the decisions before it, and those
after it wait for the activation, so no moment is said by the program itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

from tests.faults.checker.facts import Facts, Row, digest

_ROLLBACK = "countersign-rollback-policy"
CHANGES = ("countersign-activate-policy", _ROLLBACK)
"""The runbooks whose runs change the policy."""
_WISHES = ("activate_policy", "rollback_policy")
_CONFIG = "countersign_config/data.json"
REPLACED = "another policy came into force"
"""What is on record of a decision that was not made since another version came into force."""
_BEGINNING, _END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_ACTIVATED = ("number", "version", "replaces", "run_id")


@dataclass(frozen=True)
class Timeline:
    """Which version was in force when; none before the first activation."""

    facts: Facts

    @cached_property
    def _activations(self) -> list[Row]:
        return self.facts.tables["activations"]

    @cached_property
    def _version_of(self) -> dict[str, int]:
        return {row["digest"]: row["version"] for row in self.facts.tables["versions"]}

    @cached_property
    def _before(self) -> dict[int, int | None]:
        """Return which version each one replaced when it first came into force."""
        return {row["version"]: row["replaces"] for row in reversed(self._activations)}

    @cached_property
    def _done_at(self) -> dict[str, datetime]:
        """Return when runs brought versions into force."""
        return {row["run_id"]: row["committed_at"] for row in self._activations}

    @cached_property
    def _rollbacks(self) -> set[str]:
        return {row["run_id"] for row in self.facts.tables["runs"] if row["definition_name"] == _ROLLBACK}

    def in_force(self, moment: datetime) -> set[int | None]:
        """Return the version in force at a moment: both where that is the moment of an activation."""
        changes = [(_BEGINNING, None), *((row["committed_at"], row["version"]) for row in self._activations)]
        spans = pairwise([*changes, (_END, None)])
        return {version for (began, version), (ended, _) in spans if began <= moment <= ended}

    def wanted(self, decision: Row) -> set[int | None]:
        """Return the versions that may have decided: of a rollback the one before does, until it is done."""
        run_id, moment = decision["run_id"], decision["committed_at"]
        found = self.in_force(moment)
        if run_id not in self._rollbacks or moment > self._done_at.get(run_id, _END):
            return found
        return {None if version is None else self._before[version] or version for version in found}

    def named(self, decision: Row) -> int | str | None:
        """Return the version that a decision names; None where it says that none was in force."""
        if decision["document"].get("development"):
            return None
        return self._version_of.get(decision["policy_digest"], "none that was proposed")


def decisions_are_of_the_policy_in_force(facts: Facts) -> Iterator[str]:
    """Each decision is by the version that was in force when it was committed, or says that none was."""
    timeline = Timeline(facts)
    for row in facts.tables["decisions"]:
        named, wanted = timeline.named(row), timeline.wanted(row)
        if named not in wanted:
            yield f"decision {row['decision_id']} is by version {named}, and {wanted} was to decide"


def decisions_are_of_the_text_they_name(facts: Facts) -> Iterator[str]:
    """The text that a decision names is there, has that digest, and holds the terms of the answer."""
    texts = {row["digest"]: row["files"] for row in facts.tables["texts"]}
    yield from (f"text {name} is another, {found}" for name, files in texts.items() if (found := digest(files)) != name)
    for row in facts.tables["decisions"]:
        files = texts.get(row["policy_digest"])
        if files is None:
            yield f"the text of decision {row['decision_id']} is not there"
        elif (asked := row["document"]["answer"]["requirement"]) and asked["expires_in"] not in _terms(files, row):
            yield f"decision {row['decision_id']} asks for {asked['expires_in']}, which its text does not say"


def _terms(files: dict[str, str], decision: Row) -> set[str]:
    """Return how long approvals may last by a text."""
    config = json.loads(files[_CONFIG])[decision["document"]["input"]["tenant"]]
    return {one["expires_in"] for one in config["requirements"].values()}


def activations_are_of_runs(facts: Facts) -> Iterator[str]:
    """Each run of a change that succeeded has brought its version into force, once, and no other run has."""
    activations = facts.tables["activations"]
    runs = {row["run_id"]: row for row in facts.tables["runs"] if row["definition_name"] in CHANGES}
    done = Counter(row["run_id"] for row in activations if row["run_id"] is not None)
    for run_id in done.keys() - runs.keys():
        yield f"run {run_id} brought a version into force, and nobody had asked it to"
    for run_id, run in runs.items():
        if done[run_id] != (run["status"] == "succeeded"):
            yield f"run {run_id} is {run['status']}, and brought {done[run_id]} versions into force"
    for row in activations:
        if row["run_id"] in runs and runs[row["run_id"]]["trigger"]["version"] != row["version"]:
            yield f"activation {row['number']} is of another version than its run was asked for"
    for before, after in pairwise([{"number": 0, "version": None}, *activations]):
        if (after["number"], after["replaces"]) != (before["number"] + 1, before["version"]):
            yield f"activation {after['number']} does not follow the one before it"


def activations_are_signed(facts: Facts) -> Iterator[str]:
    """For each activation that a run asked for, as many people as policy wanted had signed it, its author not among."""
    authors = {row["version"]: row["author"] for row in facts.tables["versions"]}
    effects = {row["run_id"]: row for row in facts.tables["effects"] if row["connector"] == "policy"}
    for row in (row for row in facts.tables["activations"] if row["run_id"] in effects):
        effect, author = effects[row["run_id"]], authors.get(row["version"])
        approvals = [one for one in facts.of_effect[effect["effect_id"]]["approvals"] if one["kind"] == "effect"]
        if not any(_is_met(facts, one, author) for one in approvals if one["digest"] == effect["digest"]):
            yield f"activation {row['number']} was done without the signatures of others than its author"


def _is_met(facts: Facts, approval: Row, author: str | None) -> bool:
    votes = [vote for vote in facts.votes_of[approval["approval_id"]] if vote["withdrawn_at"] is None]
    people = {vote["person"] for vote in votes if vote["verdict"] == "approve"} - {author}
    return len(people) >= int(approval["requirement"]["quorum"])


def activations_are_on_record(facts: Facts) -> Iterator[str]:
    """Each proposed version, and each activation, stands in the chain of every tenant, once, and nothing else does."""
    proposed = Counter((row["version"], row["digest"]) for row in facts.tables["versions"])
    activated = Counter(_said(row) for row in facts.tables["activations"])
    for tenant in (row["run_id"] for row in facts.tables["tenants"] if row["audit_seq"]):
        leaves = [row["leaf"] for row in facts.chains[tenant]]
        said = [leaf["data"] for leaf in leaves if leaf["event"] == "policy.proposed"]
        if Counter((data["version"], data["digest"]) for data in said) != proposed:
            yield f"{tenant}: its chain tells otherwise which versions were proposed"
        said = [leaf["data"] for leaf in leaves if leaf["event"] == "policy.activated"]
        if Counter(map(_said, said)) != activated:
            yield f"{tenant}: its chain tells otherwise which versions came into force"


def _said(activation: Row) -> tuple[Any, ...]:
    return tuple(activation[name] for name in _ACTIVATED)


def wishes_for_versions_are_kept(facts: Facts) -> Iterator[str]:
    """Each wish that was recorded is one run, or was refused, and no change of the policy comes from anything else."""
    wishes = {row["notification_id"]: row for row in facts.tables["notifications"] if row["kind"] in _WISHES}
    runs = {row["run_id"]: row for row in facts.tables["runs"] if row["definition_name"] in CHANGES}
    for line in facts.told("wanted"):
        if line["notification_id"] not in wishes:
            yield f"the wish {line['notification_id']} was recorded, and is not there"
    if len(wishes) > len(facts.told("wanting")):
        yield f"{len(wishes)} wishes for a version are on record, and people had {len(facts.told('wanting'))}"
    of_wish = {(row["outcome"] or {}).get("run_id"): wish for wish, row in wishes.items() if row["status"] == "applied"}
    gone = of_wish.keys() - runs.keys()
    yield from (f"the run {run_id} of wish {of_wish[run_id]} is not there" for run_id in gone)
    for run_id, run in runs.items():
        if of_wish.get(run_id) != run["trigger_ref"]:
            yield f"run {run_id} would change the policy, and nobody wished for it"


def postponed_effects_are_decided(facts: Facts) -> Iterator[str]:
    """An effect that was not begun since another version came into force is decided later, or wanted no more."""
    effects = {row["effect_id"]: row for row in facts.tables["effects"]}
    for leaves in facts.chains.values():
        last = {_effect(row): row["seq"] for row in leaves if row["leaf"]["event"] == "decision.recorded"}
        for row in filter(is_postponed, leaves):
            effect = effects[_effect(row)]
            if last.get(effect["effect_id"], 0) < row["seq"] and effect["status"] not in ("dispatched", "rejected"):
                yield f"effect {effect['effect_id']} waited for another version, and is {effect['status']}"


def is_postponed(leaf: Row) -> bool:
    """Return whether a leaf's row says that an effect was not begun since another version came into force."""
    said = leaf["leaf"]
    return bool(said["event"] == "policy.unavailable" and REPLACED in said["data"]["error"])


def _effect(leaf: Row) -> str:
    return str(leaf["leaf"]["correlation"]["effect_id"])


POLICY_RULES: tuple[Callable[[Facts], Iterator[str]], ...] = (
    decisions_are_of_the_policy_in_force,
    decisions_are_of_the_text_they_name,
    activations_are_of_runs,
    activations_are_signed,
    activations_are_on_record,
    wishes_for_versions_are_kept,
    postponed_effects_are_decided,
)
