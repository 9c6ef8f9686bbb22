"""People who vote for others: by a delegation on record, in its time and groups, and told as that everywhere."""

from datetime import timedelta
from typing import Any

import pytest

from receipts.acts import Act, DelegationRefused
from receipts.chain import Leaf, in_place
from receipts.tenant_acts import DelegationEnded, DelegationRecorded, act_of, chain_of
from runtime.model.votes import RefusalCode
from tests.bench import PEOPLE, TENANT, Bench
from tests.integration.acts_stage import delegate, undelegate

FILE = {"company": "ACME", "text": "report"}
HOUR = timedelta(hours=1)


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", FILE)
    await bench.settle()
    return await bench.approval_id()


async def _refused(bench: Bench, person: str, approval: str) -> tuple[RefusalCode | None, RefusalCode | None]:
    """Return why the person may not decide, and why their click does not count."""
    before = await bench.desk.may_decide(approval, person)
    clicked = (await bench.click(person, approval, nonce=str(bench.clock()))).refusal
    return (before.code if before else None, clicked.code if clicked else None)


async def _sees(bench: Bench, person: str) -> int:
    return (await bench.pending(person, 10)).total


async def test_a_delegate_is_called_sees_it_and_votes_for_who_is_away(bench: Bench) -> None:
    assert (await delegate(bench, "ann", "sam"))["status"] == "applied"
    approval = await _asked(bench)
    view = await bench.desk.approval(approval)
    assert view
    assert {"UANN", "USAM"} <= set(view.asked)
    assert (await _sees(bench, "sam"), await bench.desk.may_decide(approval, "sam")) == (1, None)
    assert (await bench.click("sam", approval)).counted
    view = await bench.desk.approval(approval)
    assert view
    assert [vote.person_name for vote in view.votes] == ["Sam for Ann"]
    (vote,) = await bench.rows("SELECT person, delegator, groups FROM votes")
    assert vote == {"person": "sam", "delegator": "ann", "groups": ["compliance"]}
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    assert [row["status"] for row in await bench.rows("SELECT status FROM runs WHERE trigger_type = 'bench.file'")] == [
        "succeeded"
    ]
    assert any(said["text"].startswith("Sam for Ann approved") for said in bench.chat.said("post_message"))
    (row,) = await bench.rows("SELECT run_id FROM runs WHERE trigger_type = 'bench.file'")
    leaves = [leaf for leaf in await bench.chain(row["run_id"]) if leaf.event == "vote.counted"]
    assert [(leaf.actor.id, leaf.data.get("delegator")) for leaf in leaves] == [("sam", "ann"), ("ben", None)]
    (told,) = await bench.rows(
        "SELECT document -> 'input' -> 'votes' -> 1 -> 'delegation' AS d FROM policy_decisions"
        " WHERE document ->> 'outcome' = 'allow' AND json_array_length(document -> 'input' -> 'votes') > 0"
    )
    assert told["d"] == {"delegator": "ann", "recorded_by": "omar"}


async def test_of_a_delegator_and_their_delegate_one_counts(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await delegate(bench, "ann", "pam")
    approval = await _asked(bench)
    assert (await bench.click("ann", approval)).counted
    assert await _refused(bench, "sam", approval) == (RefusalCode.REPEATED, RefusalCode.REPEATED)
    assert await _sees(bench, "sam") == 0
    other = await _asked_again(bench)
    assert (await bench.click("sam", other)).counted
    assert await _refused(bench, "ann", other) == (RefusalCode.REPEATED, RefusalCode.REPEATED)
    assert await _refused(bench, "pam", other) == (RefusalCode.REPEATED, RefusalCode.REPEATED)
    assert await _refused(bench, "sam", other) == (RefusalCode.REPEATED, RefusalCode.REPEATED)
    assert (await _sees(bench, "pam"), await _sees(bench, "ann")) == (0, 0)


async def _asked_again(bench: Bench) -> str:
    before = {row["approval_id"] for row in await bench.rows("SELECT approval_id FROM approvals")}
    await bench.start("bench.file", FILE, ref="another")
    await bench.settle()
    (new,) = {row["approval_id"] for row in await bench.rows("SELECT approval_id FROM approvals")} - before
    return str(new)


async def test_one_person_counts_once_however_many_they_stand_in_for(bench: Bench) -> None:
    for delegator in ("ann", "ben"):
        await delegate(bench, delegator, "sam")
    approval = await _asked(bench)
    assert (await bench.click("sam", approval)).counted
    assert await _refused(bench, "sam", approval) == (RefusalCode.REPEATED, RefusalCode.REPEATED)
    assert await _sees(bench, "sam") == 0


async def test_requesters_gain_no_vote_by_a_delegation_from_or_to_or_recorded_by_them(bench: Bench) -> None:
    await bench.meddle("""UPDATE actors SET groups = '["compliance", "operators"]' WHERE actor_id = 'rita'""")
    await delegate(bench, "rita", "sam", "compliance")
    await delegate(bench, "ann", "rita")
    await delegate(bench, "ben", "pam", by="rita")
    approval = await _asked(bench)
    for person in ("sam", "rita", "pam"):
        assert await _refused(bench, person, approval) == (RefusalCode.REQUESTER, RefusalCode.REQUESTER), person
        assert await _sees(bench, person) == 0, person


async def test_nor_do_they_where_a_review_excludes_nobody(bench: Bench) -> None:
    await bench.meddle("""UPDATE actors SET groups = '["compliance", "operators"]' WHERE actor_id = 'rita'""")
    for delegator, to, by in (("rita", "sam", "omar"), ("ann", "pam", "rita"), ("ben", "rita", "omar")):
        assert (await delegate(bench, delegator, to, "compliance", by=by))["status"] == "applied"
    task = await bench.review()
    for person in ("sam", "pam", "rita"):
        assert await _refused(bench, person, task) == (RefusalCode.REQUESTER, RefusalCode.REQUESTER), person
        assert await _sees(bench, person) == 0, person


async def test_two_people_with_one_account_stand_in_for_nobody_who_shares_it_with_the_requester(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.meddle(
        "INSERT INTO slack_accounts SELECT tenant, team, account, 'ann' FROM slack_accounts WHERE actor_id = 'rita'"
    )
    approval = await _asked(bench)
    assert await _refused(bench, "sam", approval) == (RefusalCode.REQUESTER, RefusalCode.REQUESTER)
    assert await _sees(bench, "sam") == 0


async def test_home_and_card_agree_on_everybody(bench: Bench) -> None:
    for delegator, to in (("ann", "sam"), ("ben", "pam"), ("sue", "olga"), ("omar", "ivy"), ("rita", "omar")):
        await delegate(bench, delegator, to)
    approvals = [await _asked(bench), await _asked_again(bench)]
    assert (await bench.click("pam", approvals[0])).counted
    await bench.later(hours=6)
    for person in PEOPLE:
        may = [one for one in approvals if await bench.desk.may_decide(one, person) is None]
        seen = [entry.view.approval_id for entry in (await bench.pending(person, 10)).page.entries]
        assert sorted(seen) == sorted(may), person
    now = {one for one in PEOPLE if await bench.desk.may_decide(approvals[0], one) is None}
    assert now == {"ann", "cat", "sam", "sue", "olga"}


async def test_a_delegation_is_not_handed_on(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    refused = await delegate(bench, "sam", "olga", "compliance")
    assert refused["reason"] == "sam is not in compliance"
    await delegate(bench, "sam", "olga")
    approval = await _asked(bench)
    assert await _refused(bench, "olga", approval) == (RefusalCode.NOT_IN_GROUP, RefusalCode.NOT_IN_GROUP)
    assert await _sees(bench, "olga") == 0


async def test_a_delegation_gives_the_groups_that_it_names_alone(bench: Bench) -> None:
    await bench.meddle("""UPDATE actors SET groups = '["compliance", "legal"]' WHERE actor_id = 'ann'""")
    assert (await delegate(bench, "ann", "sam", "legal"))["groups"] == ["legal"]
    approval = await _asked(bench)
    assert await _refused(bench, "sam", approval) == (RefusalCode.NOT_IN_GROUP, RefusalCode.NOT_IN_GROUP)
    view = await bench.desk.approval(approval)
    assert view
    assert (await _sees(bench, "sam"), "USAM" in view.asked) == (0, False)


async def test_a_delegation_holds_from_its_beginning_until_before_its_end(bench: Bench) -> None:
    await delegate(bench, "ann", "sam", starts=HOUR, lasts=HOUR)
    approval = await _asked(bench)
    not_asked = (RefusalCode.NOT_IN_GROUP, RefusalCode.NOT_IN_GROUP)
    assert (await _sees(bench, "sam"), await _refused(bench, "sam", approval)) == (0, not_asked)
    await bench.later(hours=1)
    assert (await _sees(bench, "sam"), await bench.desk.may_decide(approval, "sam")) == (1, None)
    await bench.later(hours=1)
    assert (await _sees(bench, "sam"), await _refused(bench, "sam", approval)) == (0, not_asked)


async def test_what_is_ended_counts_no_more_and_what_was_voted_before_stays(bench: Bench) -> None:
    named = (await delegate(bench, "ann", "sam"))["delegation_id"]
    approval = await _asked(bench)
    assert (await bench.click("sam", approval)).counted
    assert (await undelegate(bench, named))["status"] == "applied"
    assert "there is no delegation" in (await undelegate(bench, named))["reason"]
    other = await _asked_again(bench)
    assert await _refused(bench, "sam", other) == (RefusalCode.NOT_IN_GROUP, RefusalCode.NOT_IN_GROUP)
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    (row,) = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval)
    assert row["status"] == "approved"


@pytest.mark.parametrize("leaves", ["groups = '[]' WHERE actor_id = 'ann'", "kind = 'agent' WHERE actor_id = 'ann'"])
async def test_the_delegator_has_to_be_in_the_group_when_the_vote_is_given(bench: Bench, leaves: str) -> None:
    await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    await bench.meddle(f"UPDATE actors SET {leaves}")
    assert await _refused(bench, "sam", approval) == (RefusalCode.NOT_IN_GROUP, RefusalCode.NOT_IN_GROUP)
    assert await _sees(bench, "sam") == 0


async def test_a_vote_for_who_has_left_the_group_since_counts_no_more(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    assert (await bench.click("sam", approval)).counted
    await bench.meddle("UPDATE actors SET groups = '[]' WHERE actor_id = 'ann'")
    assert (await bench.click("ben", approval)).counted
    (row,) = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval)
    assert row["status"] == "requested"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"to": "ann"}, "nobody votes for themselves"),
        ({"to": "omar"}, "denied by policy: A delegate may not record their own delegation"),
        ({"to": "nobody"}, "the directory has no person nobody"),
        ({"to": "portal-bot"}, "the directory has no person portal-bot"),
        ({"to": "sam", "by": "ben"}, "denied by policy: Only the tenant's operators may do this"),
        ({"to": "sam", "lasts": timedelta()}, "it would be over before it begins"),
        ({"to": "sam", "starts": -2 * HOUR, "lasts": HOUR}, "it would be over before it begins"),
    ],
)
async def test_what_cannot_be_or_is_not_allowed_is_refused_and_changes_nothing(
    bench: Bench, asked: dict[str, Any], why: str
) -> None:
    facts = await delegate(bench, "ann", **asked)
    assert facts["status"] == "refused"
    assert why in facts["reason"]
    assert await bench.rows("SELECT 1 FROM delegations") == []


async def test_who_is_away_says_so_themselves_and_takes_it_back(bench: Bench) -> None:
    named = (await delegate(bench, "ann", "sam", by="ann"))["delegation_id"]
    assert "denied by policy" in (await undelegate(bench, named, by="ben"))["reason"]
    assert (await undelegate(bench, named, by="ann"))["status"] == "applied"


async def test_delegations_are_on_record_in_the_tenants_chain(bench: Bench) -> None:
    named = (await delegate(bench, "ann", "sam", "compliance"))["delegation_id"]
    await undelegate(bench, named)
    rows = await bench.rows("SELECT seq, hash, leaf FROM tenant_leaves WHERE tenant = %s ORDER BY seq", TENANT)
    said = [(row["seq"], row["hash"].hex(), row["leaf"]) for row in rows]
    leaves = [Leaf.model_validate(leaf) for leaf in in_place(chain_of(TENANT), said)]
    leaves = [leaf for leaf in leaves if leaf.event.startswith("delegation.")]
    began, ended = (act_of(leaf) for leaf in leaves)
    assert isinstance(began, DelegationRecorded)
    assert isinstance(ended, DelegationEnded)
    assert (began.delegator, began.delegate, began.groups, began.reason) == ("ann", "sam", ["compliance"], "on leave")
    assert (ended.delegation_id, ended.reason) == (named, "back early")
    assert {leaf.actor.id for leaf in leaves} == {"omar"}


async def _acts(bench: Bench) -> list[tuple[str, Act]]:
    """Return the acts of the tenant's chain with who did each."""
    rows = await bench.rows("SELECT seq, hash, leaf FROM tenant_leaves WHERE tenant = %s ORDER BY seq", TENANT)
    said = [(row["seq"], row["hash"].hex(), row["leaf"]) for row in rows]
    return [(leaf.actor.id, act_of(leaf)) for leaf in map(Leaf.model_validate, in_place(chain_of(TENANT), said))]


async def test_what_policy_denies_of_a_delegation_is_on_record_with_who_wanted_it(bench: Bench) -> None:
    named = (await delegate(bench, "ann", "sam", "compliance"))["delegation_id"]
    assert (await delegate(bench, "ann", "sam", by="ben"))["status"] == "refused"
    assert (await undelegate(bench, named, by="ben"))["status"] == "refused"
    (who, began), (also, ended) = (await _acts(bench))[-2:]
    assert isinstance(began, DelegationRefused)
    assert isinstance(ended, DelegationRefused)
    assert (who, began.act, began.delegator, began.delegate, began.groups) == ("ben", "delegate", "ann", "sam", [])
    assert (also, ended.act, ended.groups, ended.reason) == ("ben", "undelegate", ["compliance"], "back early")
    assert "Only the tenant's operators may do this" in began.why
    assert began.policy.decision_id != ended.policy.decision_id


async def test_what_cannot_be_is_no_denial_and_leaves_no_leaf(bench: Bench) -> None:
    before = len(await _acts(bench))
    assert (await delegate(bench, "ann", "nobody"))["status"] == "refused"
    assert (await undelegate(bench, "dlg_none"))["status"] == "refused"
    assert len(await _acts(bench)) == before


async def test_a_delegate_answers_the_review_that_their_delegator_has_claimed(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    task = await bench.review()
    await bench.claim("ann", task)
    assert await _sees(bench, "sam") == 1
    assert (await bench.click("sam", task)).counted
    assert not await bench.rows("SELECT 1 FROM audit_leaves WHERE leaf ->> 'event' = 'task.released'")
