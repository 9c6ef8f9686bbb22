package countersign.effect.approvals_test

import data.countersign.effect
import data.countersign.effect.approvals
import data.countersign.effect.given_test as given

decide(question, tenant) := decision if {
	decision := effect.decision with input as question with data.countersign_config as {"t1": tenant}
}

outcome(question, tenant) := decide(question, tenant).outcome

filed(votes) := outcome(given.filing(votes), given.tenant)

either := json.patch(given.tenant, [{"op": "add", "path": "/requirements/high/groups/-", "value": "legal"}])

each := json.patch(either, [{"op": "replace", "path": "/requirements/high/all_groups", "value": true}])

by_legal(person) := given.vote(person, "legal", "approve")

by_both(person) := object.union(given.approve(person), {"groups": ["compliance", "legal"]})

expiring(at) := object.union(
	given.filing([given.approve("bob"), given.approve("cyd")]),
	{"approval": {"expires_at": at}},
)

test_tier_below_high_is_allowed_unless_a_pack_asks if {
	outcome(given.asked({"operation": "sort"}, []), given.tenant) == "allow"
	outcome(given.question, given.tenant) == "allow"
}

test_read_of_high_tier_is_signed_in_words_of_its_own if {
	read := object.union(given.filing([]), {"effect": {"reads": true}})
	answer := decide(read, given.tenant)
	answer.outcome == "needs_approval"
	[reason.code | some reason in answer.reasons] == ["reads.high_tier"]
}

test_quorum_counts_distinct_people if {
	filed([given.approve("bob")]) == "needs_approval"
	filed([given.approve("bob"), object.union(given.approve("bob"), {"groups": ["compliance", "x"]})]) == "needs_approval"
	filed([given.approve("bob"), given.approve("cyd")]) == "allow"
}

test_requester_and_submitter_do_not_count if {
	filed([given.approve("ann"), given.approve("bob")]) == "needs_approval"
	filed([given.approve("hook"), given.approve("bob")]) == "needs_approval"
	filed([given.approve("ann"), given.approve("bob"), given.approve("cyd")]) == "allow"
}

test_next_in_line_counts_as_one_of_those_asked if {
	line := [{"after": "PT1H", "to": ["board"]}, {"after": "PT2H", "to": ["legal"]}]
	tenant := json.patch(given.tenant, [{"op": "replace", "path": "/requirements/high/escalate_to", "value": line}])
	outcome(given.filing([by_legal("eve"), given.approve("bob")]), tenant) == "allow"
	outcome(given.filing([by_legal("ann"), given.approve("bob")]), tenant) == "needs_approval"
}

test_people_outside_the_groups_do_not_count if {
	filed([by_legal("eve"), given.approve("bob")]) == "needs_approval"
	filed([object.union(given.approve("eve"), {"groups": null}), given.approve("bob")]) == "needs_approval"
}

test_votes_without_person_or_verdict_do_not_count if {
	filed([given.approve("bob"), given.approve(null)]) == "needs_approval"
	filed([given.approve("bob"), json.remove(given.approve("cyd"), ["person"])]) == "needs_approval"
	filed([given.approve("bob"), object.union(given.approve("cyd"), {"verdict": "APPROVE"})]) == "deny"
	filed([given.approve("bob"), json.remove(given.approve("cyd"), ["verdict"])]) == "deny"
}

test_one_rejection_outweighs_every_approval if {
	answer := decide(given.filing([given.reject("dan"), given.approve("bob"), given.approve("cyd")]), given.tenant)
	answer.outcome == "deny"
	answer.reasons[0].code == "approvals.rejected"
}

test_rejection_by_someone_who_may_not_sign_does_not_count if {
	filed([given.reject("ann"), given.approve("bob"), given.approve("cyd")]) == "allow"
}

test_a_vote_for_somebody_else_counts_in_their_groups if {
	filed([given.approve("bob"), given.for_other(given.approve("eve"), "cyd")]) == "allow"
	filed([given.approve("bob"), given.for_other(by_legal("eve"), "cyd")]) == "needs_approval"
}

test_nobody_counts_twice_by_the_name_of_another if {
	filed([given.approve("bob"), given.for_other(given.approve("eve"), "bob")]) == "needs_approval"
	filed([given.approve("bob"), given.for_other(given.approve("bob"), "cyd")]) == "needs_approval"
	filed([given.for_other(given.approve("eve"), "bob"), given.for_other(given.approve("eve"), "cyd")]) == "needs_approval"
	filed([given.for_other(given.approve("eve"), "cyd"), given.for_other(given.approve("fay"), "cyd")]) == "needs_approval"
	filed([given.for_other(given.approve("eve"), "cyd"), given.for_other(given.approve("cyd"), "dan")]) == "needs_approval"
	filed([given.approve("bob"), given.for_other(given.approve("cyd"), "cyd")]) == "needs_approval"
}

test_a_vote_for_somebody_else_is_no_way_round_the_separation_of_duties if {
	every requester in ["ann", "hook"] {
		filed([given.approve("bob"), given.for_other(given.approve("eve"), requester)]) == "needs_approval"
		filed([given.approve("bob"), given.for_other(given.approve(requester), "cyd")]) == "needs_approval"
		leave := {"delegation": {"delegator": "cyd", "recorded_by": requester}}
		filed([given.approve("bob"), object.union(given.approve("eve"), leave)]) == "needs_approval"
	}
	leave := {"delegation": {"delegator": "cyd", "recorded_by": "eve"}}
	filed([given.approve("bob"), object.union(given.approve("eve"), leave)]) == "needs_approval"
}

test_a_vote_that_does_not_say_for_whom_does_not_count if {
	every leave in [null, {}, {"delegator": "cyd"}, {"recorded_by": "omar"}, {"delegator": 1, "recorded_by": "omar"}] {
		filed([given.approve("bob"), object.union(given.approve("eve"), {"delegation": leave})]) == "needs_approval"
	}
}

test_a_rejection_for_somebody_else_outweighs_every_approval if {
	rejected := given.for_other(given.reject("eve"), "cyd")
	filed([rejected, given.approve("bob"), given.approve("dan")]) == "deny"
	filed([rejected, given.approve("bob"), given.approve("cyd")]) == "deny"
}

test_a_vote_counts_from_slack_and_from_the_console_alone if {
	by := [object.union(given.approve("cyd"), {"via": via}) | some via in ["console", "pigeon"]]
	outcome(given.filing([given.approve("bob"), by[0]]), given.tenant) == "allow"
	outcome(given.filing([given.approve("bob"), by[1]]), given.tenant) == "needs_approval"
}

test_where_a_passkey_is_asked_for_only_what_is_signed_with_one_approves if {
	tenant := json.patch(given.tenant, [{"op": "add", "path": "/requirements/high/sign_with", "value": "passkey"}])
	signed := [object.union(given.approve(person), {"signed_with": "passkey"}) | some person in ["bob", "cyd"]]
	outcome(given.filing(signed), tenant) == "allow"
	outcome(given.filing([signed[0], given.approve("cyd")]), tenant) == "needs_approval"
	outcome(given.filing([signed[0], object.union(given.approve("cyd"), {"signed_with": "x"})]), tenant) == "needs_approval"
	outcome(given.filing([signed[0], given.reject("cyd")]), tenant) == "deny"
	decide(given.filing([]), tenant).requirement.sign_with == "passkey"
	not "sign_with" in object.keys(decide(given.filing([]), given.tenant).requirement)
	outcome(given.filing(signed), given.tenant) == "allow"
}

test_any_group_is_enough_unless_each_is_asked if {
	votes := [given.approve("bob"), given.approve("cyd")]
	outcome(given.filing(votes), either) == "allow"
	outcome(given.filing(votes), each) == "needs_approval"
	outcome(given.filing([given.approve("bob"), by_legal("eve")]), each) == "allow"
}

test_each_group_is_met_by_a_person_of_its_own if {
	one := json.patch(each, [{"op": "replace", "path": "/requirements/high/quorum", "value": 1}])
	outcome(given.filing([by_both("bob")]), one) == "needs_approval"
	outcome(given.filing([by_both("bob"), by_both("cyd")]), one) == "allow"
	outcome(given.filing([by_both("bob"), given.approve("cyd")]), one) == "allow"
	outcome(given.filing([by_legal("bob"), by_legal("cyd")]), one) == "needs_approval"
	three := json.patch(one, [{"op": "add", "path": "/requirements/high/groups/-", "value": "risk"}])
	outcome(given.filing([by_both("bob"), by_both("cyd"), by_both("dan")]), three) == "needs_approval"
	outcome(given.filing([by_both("bob"), by_both("cyd"), given.vote("dan", "risk", "approve")]), three) == "allow"
}

test_approval_that_has_expired_is_void if {
	outcome(expiring("2026-01-05T10:00:00.000001Z"), given.tenant) == "allow"
	outcome(expiring("2026-01-05T10:00:00Z"), given.tenant) == "needs_approval"
	outcome(expiring("2026-01-05T09:59:59Z"), given.tenant) == "needs_approval"
	outcome(object.union(expiring("x"), {"approval": null}), given.tenant) == "needs_approval"
	outcome(expiring("soon"), given.tenant) == "needs_approval"
	outcome(object.union(expiring("2026-01-05T17:00:00Z"), {"time": "now"}), given.tenant) == "needs_approval"
}

late(at) := [given.approve("bob"), object.union(given.approve("cyd"), {"at": at})]

test_vote_after_the_expiry_does_not_count if {
	filed(late("2026-01-05T16:59:59Z")) == "allow"
	every at in ["2026-01-05T17:00:00Z", "2026-01-06T09:00:00Z", "later", null] {
		filed(late(at)) == "needs_approval"
	}
}

test_what_cannot_be_undone_is_signed_with_a_reason if {
	approvals.reason_required == false with input as given.question
	every reversible in [false, null, "true", 1] {
		approvals.reason_required == true with input as given.asked({"reversible": reversible}, [])
	}
}

edited_by(people, question) := object.union(question, {"edited": {"by": people, "requested": {}}})

test_who_edited_it_does_not_sign_it if {
	votes := [given.approve("bob"), given.approve("cyd")]
	outcome(edited_by(["dan"], given.filing(votes)), given.tenant) == "allow"
	outcome(edited_by(["bob"], given.filing(votes)), given.tenant) == "needs_approval"
	outcome(edited_by(["dan", "bob"], given.filing(votes)), given.tenant) == "needs_approval"
	answer := decide(edited_by(["bob"], given.filing([])), given.tenant)
	answer.requirement.exclude == ["ann", "bob", "hook"]
}

test_a_vote_for_somebody_else_is_no_way_round_an_edit if {
	by_bob := edited_by(["bob"], given.filing([given.approve("cyd"), given.for_other(given.approve("eve"), "bob")]))
	outcome(by_bob, given.tenant) == "needs_approval"
	through_bob := edited_by(["bob"], given.filing([given.approve("cyd"), given.for_other(given.approve("bob"), "dan")]))
	outcome(through_bob, given.tenant) == "needs_approval"
}

test_who_edited_it_signs_where_the_requirement_says_so if {
	may := json.patch(given.tenant, [{"op": "add", "path": "/requirements/high/editors_may_sign", "value": true}])
	votes := [given.approve("bob"), given.approve("cyd")]
	outcome(edited_by(["bob"], given.filing(votes)), may) == "allow"
	outcome(edited_by(["ann"], given.filing([given.approve("ann"), given.approve("cyd")])), may) == "needs_approval"
	answer := decide(edited_by(["bob"], given.filing([])), may)
	answer.requirement.editors_may_sign == true
	answer.requirement.exclude == ["ann", "hook"]
}

break_glass := {
	"groups": ["commanders"],
	"at_most": 2,
	"within": "P1D",
	"tell": [],
	"review_by": ["legal"],
	"review_within": "P3D",
}

with_break_glass := json.patch(given.tenant, [{"op": "add", "path": "/requirements/high/break_glass", "value": break_glass}])

using_break_glass(person, said) := object.union(given.vote(person, "commanders", "approve"), {"break_glass": said})

first := {"ticket": "INC1", "nth": 1}

test_one_of_those_named_does_without_the_others if {
	outcome(given.filing([using_break_glass("eve", first)]), with_break_glass) == "allow"
	outcome(given.filing([given.approve("bob"), using_break_glass("eve", {"ticket": "INC1", "nth": 2})]), with_break_glass) == "allow"
}

test_nobody_uses_break_glass_where_there_is_none if {
	filed([using_break_glass("eve", first)]) == "needs_approval"
}

test_break_glass_needs_a_ticket_and_keeps_its_bound if {
	outcome(given.filing([using_break_glass("eve", {"ticket": "", "nth": 1})]), with_break_glass) == "needs_approval"
	outcome(given.filing([using_break_glass("eve", {"ticket": "INC1", "nth": 3})]), with_break_glass) == "needs_approval"
	outcome(given.filing([using_break_glass("eve", {"ticket": "INC1"})]), with_break_glass) == "needs_approval"
}

test_requester_and_outsiders_may_not_use_break_glass if {
	outcome(given.filing([using_break_glass("ann", first)]), with_break_glass) == "needs_approval"
	outcome(given.filing([using_break_glass("hook", first)]), with_break_glass) == "needs_approval"
	outsider := object.union(using_break_glass("eve", first), {"groups": ["legal"]})
	outcome(given.filing([outsider]), with_break_glass) == "needs_approval"
}

test_break_glass_is_for_nobody_else if {
	for_another := object.union(using_break_glass("eve", first), {"delegation": {"delegator": "bob", "recorded_by": "omar"}})
	outcome(given.filing([for_another]), with_break_glass) == "needs_approval"
}

test_break_glass_does_not_override_a_rejection if {
	outcome(given.filing([given.vote("bob", "compliance", "reject"), using_break_glass("eve", first)]), with_break_glass) == "deny"
}

test_demand_says_who_may_use_break_glass if {
	decide(given.filing([]), with_break_glass).requirement.break_glass == break_glass
}

test_break_glass_without_bound_is_no_configuration if {
	boundless := json.remove(with_break_glass, ["/requirements/high/break_glass/at_most"])
	outcome(given.filing([using_break_glass("eve", first)]), boundless) == "deny"
}

policy_change(votes) := object.union(given.filing(votes), {"effect": {
	"connector": "policy",
	"operation": "activate",
	"target": "policy:2",
	"fields": {"author": "dan", "version": 2},
}})

policy_tenant := json.patch(given.tenant, [
	{"op": "add", "path": "/connectors/policy", "value": {
		"chat": false,
		"operations": {"activate": {"tier": "high", "targets": ["policy:*"]}},
	}},
	{"op": "add", "path": "/requirements/policy_activate", "value": given.tenant.requirements.high},
])

test_change_of_policy_is_signed_as_its_own_requirement_says if {
	asked := decide(policy_change([]), policy_tenant)
	asked.outcome == "needs_approval"
	[reason.code | some reason in asked.reasons] == ["policy.change"]
	"countersign_config.t1.requirements.policy_activate" in asked.rules
	outcome(policy_change([given.approve("bob"), given.approve("cyd")]), policy_tenant) == "allow"
}

test_author_of_a_policy_does_not_sign_it if {
	outcome(policy_change([given.approve("bob"), given.approve("dan")]), policy_tenant) == "needs_approval"
	"dan" in decide(policy_change([]), policy_tenant).requirement.exclude
}
