"""Twenty thousand clicks: runtime, policy and verifier say the same of each request, and nobody counts who may not."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.material.contents import BrokenError
from evidence.verify.people.quorum import check_quorum
from policy.bundle import build_bundle
from policy.vet import run_opa
from receipts.fields import timestamp
from runtime.model.approvals.votes import Vote
from runtime.model.states import ApprovalStatus
from tests.integration.vote_worlds import CLICKS, ENDS, LEADS, REQUESTERS, Played, World, play, worlds
from tests.opa_server import SHIPPED, opa_program, question
from tests.unit.test_approvals import NOW

VOTES = 20_000
SEED = 20_260_105
PORTION = 500

_EACH = """[said |
    some [question, requirement] in input
    config := {"acme": {"requirements": {"high": requirement}}}
    granted := count([true | data.countersign.effect.approvals.granted
        with input as question with data.countersign_config as config
        with data.countersign.effect.tiers.effective as "high"])
    denied := count([code | some reason in data.countersign.effect.approvals.deny
        with input as question with data.countersign_config as config
        with data.countersign.effect.tiers.effective as "high"
        code := reason.code])
    said := [granted, denied]
]"""


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(build_bundle(SHIPPED).data)
        yield file


def told(vote: Vote) -> dict[str, Any]:
    """Return a vote as policy and the verifier are told of it."""
    names = ("delegator", "recorded_by")
    by = {"delegation": {name: vote.delegation[name] for name in names}} if vote.delegation else {}
    said = {"person": vote.person, "groups": list(vote.groups), "verdict": str(vote.verdict), "at": timestamp(vote.at)}
    return {**said, **by}


def asked(world: World, played: Played) -> list[Any]:
    votes = [told(vote) for vote in played.votes]
    about = question(votes or None).model_dump(mode="json")
    times = {"requested_at": timestamp(NOW), "expires_at": timestamp(ENDS)}
    at = {"time": timestamp(played.at), "approval": times if votes else None}
    return [
        {**about, **at},
        {name: world.document[name] for name in world.document if name not in ("reason_required", "exclude")},
    ]


async def policy_says(bundle: Path, questions: list[list[Any]]) -> list[list[int]]:
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    return list(json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=json.dumps(questions))))


def verifier_grants(world: World, played: Played) -> bool:
    votes = [VoteRecord(**told(vote)) for vote in played.votes]
    required = RequirementRecord(**world.document)
    try:
        check_quorum("", required, votes, {vote.person: {*required.groups, LEADS} for vote in votes})
    except BrokenError:
        return False
    return all(vote.verdict == "approve" for vote in votes)


def wrongful(world: World, played: Played) -> Iterator[str]:
    """Yield what must never be counted, told without the rules of the runtime."""
    people = [person for vote in played.votes for person in vote.people]
    accounts = [(vote.team, vote.account) for vote in played.votes]
    if len(set(people)) < len(people) or len(set(accounts)) < len(accounts):
        yield "somebody counts twice"
    for vote in played.votes:
        by = {str(vote.delegation["recorded_by"])} if vote.delegation else set()
        if (set(vote.people) | by) & {*REQUESTERS, *world.document["exclude"]}:
            yield f"{vote.person} must not count"
        if not set(vote.groups) & {*world.document["groups"], LEADS}:
            yield f"{vote.person} was not asked"
        if not NOW <= vote.at < ENDS:
            yield f"{vote.person} was late"
        if vote.verdict != "approve" and len(vote.reason) < len("abc"):
            yield f"{vote.person} gave no reason"
        if vote.delegation and not vote.delegation["starts_at"] <= timestamp(vote.at) < vote.delegation["ends_at"]:
            yield f"{vote.person} stood in outside the time of that"


@pytest.mark.parametrize("portion", range(VOTES // CLICKS // PORTION))
async def test_of_twenty_thousand_clicks_all_three_say_the_same_and_none_counts_wrongfully(
    bundle: Path, portion: int
) -> None:
    made = list(worlds(PORTION, SEED + portion))
    played = [play(world) for world in made]
    said = await policy_says(bundle, [asked(*pair) for pair in zip(made, played, strict=True)])
    for world, found, (granted, denied) in zip(made, played, said, strict=True):
        approved, rejected = found.status is ApprovalStatus.APPROVED, found.status is ApprovalStatus.REJECTED
        by_runtime = (approved, rejected)
        assert (world, by_runtime, verifier_grants(world, found)) == (world, (granted > 0, denied > 0), approved)
        assert [world, *wrongful(world, found)] == [world]
    ends = {found.status for found in played}
    assert ends == {ApprovalStatus.APPROVED, ApprovalStatus.REJECTED, ApprovalStatus.REQUESTED}
