"""Twenty thousand clicks: runtime, policy and verifier say the same of each request, and nobody counts who may not."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.authority import check_quorum
from evidence.verify.contents import BrokenError
from policy.bundle import build_bundle
from policy.vetting import run_opa
from receipts.fields import timestamp
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote
from tests.integration.vote_worlds import (
    CLICKS,
    GLASS,
    LEADS,
    REQUESTERS,
    Played,
    World,
    play,
    requirement_of,
    worlds,
)
from tests.opa_server import SHIPPED, opa_program, question

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
    glass = {"break_glass": vote.break_glass} if vote.break_glass else {}
    signed = {"signed_with": "passkey"} if vote.passkey else {}
    said = {"person": vote.person, "groups": list(vote.groups), "verdict": str(vote.verdict), "at": timestamp(vote.at)}
    return {**said, **by, **glass, **signed}


def asked(world: World, played: Played) -> list[Any]:
    votes = [told(vote) for vote in played.votes]
    about = question(votes or None).model_dump(mode="json")
    times = {"requested_at": timestamp(played.asked_at), "expires_at": timestamp(played.ends)}
    edited = {"edited": {"by": played.editors, "requested": {"lei": "another"}}} if played.editors else {}
    at = {"time": timestamp(played.at), "approval": times if votes else None, **edited}
    return [{**about, **at}, {name: value for name, value in world.document.items() if name != "reason_required"}]


async def policy_says(bundle: Path, questions: list[list[Any]]) -> list[list[int]]:
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    return list(json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=json.dumps(questions))))


def verifier_grants(world: World, played: Played) -> bool:
    votes = [VoteRecord(**told(vote)) for vote in played.votes]
    required = RequirementRecord(**requirement_of(world, played).document())
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
    editors = [] if world.document.get("editors_may_sign") else played.editors
    for vote in played.votes:
        by = {str(vote.delegation["recorded_by"])} if vote.delegation else set()
        if (set(vote.people) | by) & {*REQUESTERS, *editors}:
            yield f"{vote.person} must not count"
        yield from (f"{vote.person} {why}" for why in _wrong_with(world, played, vote))


def _wrong_with(world: World, played: Played, vote: Vote) -> Iterator[str]:
    asked_for = GLASS["groups"] if vote.break_glass else [*world.document["groups"], LEADS]
    if not set(vote.groups).intersection(asked_for):
        yield "was not asked"
    if not played.asked_at <= vote.at < played.ends:
        yield "was early, or late"
    if (vote.verdict != "approve" or vote.break_glass) and len(vote.reason) < len("abc"):
        yield "gave no reason"
    if vote.delegation and not vote.delegation["starts_at"] <= timestamp(vote.at) < vote.delegation["ends_at"]:
        yield "stood in outside the time of that"
    if "sign_with" in world.document and vote.verdict == "approve" and not vote.passkey:
        yield "did not sign"
    if vote.break_glass and (vote.break_glass["nth"] > GLASS["at_most"] or "break_glass" not in world.document):
        yield "used break-glass that they might not"


@pytest.mark.parametrize("portion", range(VOTES // CLICKS // PORTION))
async def test_of_twenty_thousand_clicks_all_three_say_the_same_and_none_counts_wrongfully(
    bundle: Path, portion: int
) -> None:
    made = list(worlds(PORTION, SEED + portion))
    played = [play(world) for world in made]
    said = await policy_says(bundle, [asked(*pair) for pair in zip(made, played, strict=True)])
    for world, found, (granted, denied) in zip(made, played, said, strict=True):
        approved, rejected = found.status is ApprovalStatus.APPROVED, found.status is ApprovalStatus.REJECTED
        by_policy = (granted > 0, denied > 0)
        assert (world, (approved, rejected), verifier_grants(world, found)) == (world, by_policy, approved)
        assert [world, *wrongful(world, found)] == [world]
    assert len({found.status for found in played}) == 3
    did = sum((found.did for found in played), Counter[str]())
    assert all(did[act] for act in ("approve", "reject", "changes", "withdraw", "edit", "glass")), did
