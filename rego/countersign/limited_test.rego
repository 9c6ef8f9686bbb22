package countersign.effect.limited_test

import data.countersign.effect
import data.countersign.effect.given_test as given

requirements := {
	"high": given.requirement,
	"treasury": {
		"quorum": 1,
		"groups": ["treasury"],
		"all_groups": false,
		"expires_in": "PT2H",
		"escalate_to": [],
	},
	"policy_activate": given.requirement,
}

tenant(limits) := object.union(given.tenant, {"requirements": requirements, "limits": limits})

decide(limits, question) := decision if {
	tenants := {"t1": tenant(limits)}
	decision := effect.decision with input as question with data.countersign_config as tenants
	listed := effect.decisions with input as [question] with data.countersign_config as tenants
	listed[0] == decision
}

large := {"comment": "Much money", "when": {"connector": ["ledger"], "operation": ["note", "sort"], "fields": {"amount": {"over": 5000}}}}

limit(members) := {"large": object.union(large, members)}

noting(amount, votes) := given.asked({"operation": "note", "fields": {"amount": amount}}, votes)

filing(amount, votes) := given.asked({"operation": "file", "fields": {"amount": amount}}, votes)

codes(decision) := {reason.code | some reason in decision.reasons}

tess := given.vote("tess", "treasury", "approve")

bob := given.approve("bob")

cyd := given.approve("cyd")

test_limit_that_does_not_hold_changes_nothing if {
	every question in [noting(5000, []), filing(9, []), filing(9, [bob, cyd]), given.asked({"target": "elsewhere", "fields": {"amount": 1}}, [])] {
		core := effect.decision with input as question with data.countersign_config as {"t1": tenant({})}
		decide(limit({"tier": "high", "requirement": "treasury"}), question) == core
	}
}

test_limit_raises_the_tier_and_never_lowers_it if {
	raised := decide(limit({"tier": "high"}), noting(5001, []))
	raised.outcome == "needs_approval"
	raised.tier == "high"
	codes(raised) == {"writes.high_tier", "limits.applies"}
	decide(limit({"tier": "medium"}), noting(5001, [])).tier == "medium"
	all := {"all": {"comment": "c", "when": {"connector": ["ledger"]}, "tier": "medium"}}
	decide(all, filing(1, [])).tier == "high"
}

test_limit_asks_for_signatures_below_the_high_tier if {
	limits := limit({"requirement": "treasury"})
	asked := decide(limits, noting(5001, []))
	asked.outcome == "needs_approval"
	asked.tier == "low"
	asked.requirement == object.union(requirements.treasury, {"exclude": ["ann", "hook"], "reason_required": false})
	asked.reasons == [
		{"code": "limits.demand", "msg": "A limit of the tenant asks for signatures"},
		{"code": "limits.applies", "msg": "large: Much money"},
	]
	asked.rules == [
		"countersign.effect.limited.applied#limits.applies",
		"countersign.effect.limited.demand#limits.demand",
		"countersign_config.t1.limits.large",
		"countersign_config.t1.requirements.treasury",
	]
	decide(limits, noting(5001, [bob])).outcome == "needs_approval"
	signed := decide(limits, noting(5001, [tess]))
	signed.outcome == "allow"
	signed.tier == "low"
	codes(signed) == {"approvals.fulfilled"}
	rejected := decide(limits, noting(5001, [object.union(tess, {"verdict": "reject"})]))
	codes(rejected) == {"approvals.rejected"}
	rejected.tier == "low"
}

test_limit_on_what_people_sign_anyway_asks_for_both if {
	filed := {"large": {"comment": "c", "when": {"connector": ["ledger"], "operation": ["file"]}, "requirement": "treasury"}}
	asked := decide(filed, filing(1, []))
	asked.requirement.quorum == 2
	asked.requirement.expires_in == "PT2H"
	asked.requirement.classes == [
		{"groups": ["compliance"], "quorum": 2, "all_groups": false},
		{"groups": ["treasury"], "quorum": 1, "all_groups": false},
	]
	asked.rules == [
		"countersign.effect.approvals.demand#writes.high_tier",
		"countersign.effect.limited.applied#limits.applies",
		"countersign_config.t1.limits.large",
		"countersign_config.t1.requirements.high",
		"countersign_config.t1.requirements.treasury",
	]
}

test_limit_on_a_change_of_the_policy_asks_for_it if {
	limits := {"l": {"comment": "c", "when": {"connector": ["policy"]}, "requirement": "treasury"}}
	policy := {"connectors": {"policy": {"chat": false, "operations": {"activate": {"tier": "low", "targets": ["policy:*"]}}}}}
	question := given.asked({"connector": "policy", "operation": "activate", "target": "policy:2", "fields": {"author": "rita"}}, [])
	tenants := {"t1": object.union(tenant(limits), policy)}
	asked := effect.decision with input as question with data.countersign_config as tenants
	asked.outcome == "needs_approval"
	asked.requirement.groups == ["treasury"]
	asked.requirement.exclude == ["ann", "hook", "rita"]
}

test_limit_tightens_what_is_required if {
	asked := decide(limit({"tier": "high", "quorum": 3, "sign_with": "passkey", "expires_in": "PT1H"}), noting(5001, []))
	[asked.requirement.quorum, asked.requirement.sign_with, asked.requirement.expires_in] == [3, "passkey", "PT1H"]
}

week := {"between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Berlin", "within": "P3D"}

test_limit_says_when_it_is_carried_out if {
	decide(limit({"execute": week}), noting(5001, [])).execute == week
	not "execute" in object.keys(decide(limit({"execute": week}), noting(5000, [])))
	asked := decide(limit({"execute": week, "tier": "high"}), noting(5001, []))
	asked.requirement.execute == week
}

test_limit_and_list_both_say_when_it_is_carried_out if {
	listed := json.patch(tenant(limit({"execute": week})), [{
		"op": "add",
		"path": "/connectors/ledger/operations/note/execute",
		"value": {"not_before": "2026-01-06T10:00:00Z", "within": "PT6H"},
	}])
	tenants := {"t1": listed}
	decision := effect.decision with input as noting(5001, []) with data.countersign_config as tenants
	decision.execute == object.union(week, {"not_before": "2026-01-06T10:00:00Z", "within": "PT6H"})
}

test_limits_with_different_times_of_the_week_contradict_each_other if {
	other := object.union(large, {"execute": object.union(week, {"time_zone": "Europe/Oslo"})})
	decision := decide({"large": object.union(large, {"execute": week}), "other": other}, noting(5001, []))
	decision.outcome == "deny"
	codes(decision) == {"limits.contradiction"}
	decision.rules == ["countersign.effect.limited.contradiction#limits.contradiction"]
}

test_nothing_that_is_not_listed_becomes_so_by_a_limit if {
	limits := {"all": {"comment": "c", "when": {"connector": ["ledger", "other"]}, "tier": "medium", "execute": week}}
	codes(decide(limits, given.asked({"operation": "burn"}, []))) == {"connectors.operation"}
	codes(decide(limits, given.asked({"connector": "other"}, []))) == {"connectors.connector"}
}

ticket := {"ticket": {
	"comment": "Who answered does not sign",
	"when": {"connector": ["ledger"], "operation": ["file"]},
	"exclude": ["answered_by", "to.owners"],
}}

named(people, votes) := object.union(filing(1, votes), {"named": people})

test_people_named_in_fields_are_looked_up_first_and_then_do_not_sign if {
	first := decide(ticket, filing(1, []))
	first.outcome == "deny"
	first.names == ["answered_by", "to.owners"]
	codes(first) == {"approvals.named_unknown"}
	known := {"answered_by": ["bob"], "to.owners": []}
	decide(ticket, named(known, [])).requirement.exclude == ["ann", "bob", "hook"]
	decide(ticket, named(known, [bob, cyd])).outcome == "needs_approval"
	decide(ticket, named(known, [given.approve("dan"), cyd])).outcome == "allow"
}

test_somebody_whom_the_directory_does_not_know_denies if {
	every people in [
		{"answered_by": null, "to.owners": []}, {"answered_by": [""], "to.owners": []},
		{"answered_by": [null], "to.owners": []}, {"answered_by": "bob", "to.owners": []},
	] {
		decision := decide(ticket, named(people, [given.approve("dan"), cyd]))
		decision.outcome == "deny"
		codes(decision) == {"approvals.named_unknown"}
		not "names" in object.keys(decision)
	}
}

test_a_field_that_policy_was_told_nothing_about_is_asked_for if {
	every people in [{}, {"answered_by": []}] {
		decision := decide(ticket, named(people, [given.approve("dan"), cyd]))
		decision.outcome == "deny"
		decision.names == ["answered_by", "to.owners"]
	}
}

test_who_is_named_does_not_matter_where_nobody_signs if {
	limits := {"ticket": object.union(ticket.ticket, {"when": {"connector": ["ledger"]}})}
	decide(limits, noting(1, [])).outcome == "allow"
}

test_limit_has_groups_told_of_what_is_allowed if {
	told := [{"type": "notification", "id": "large", "to": ["treasury"], "body": "Much money"}]
	decide(limit({"notify": ["treasury"]}), noting(5001, [])).obligations == told
	decide(limit({"notify": ["treasury"]}), noting(5000, [])).obligations == []
	asking := limit({"notify": ["treasury"], "requirement": "treasury"})
	decide(asking, noting(5001, [])).obligations == []
	decide(asking, noting(5001, [tess])).obligations == told
	decide(asking, given.asked({"target": "elsewhere"}, [])).obligations == []
}

writes(limits, done, changes) := decision.outcome if {
	decision := decide(limits, object.union(noting(1, []), object.union({"counters": {"writes": done}}, changes)))
}

test_closest_limit_of_writes_wins if {
	limits := {
		"campaign": {"comment": "c", "when": {"runbook": ["campaign"]}, "writes_per_run": 2000},
		"notes": {"comment": "c", "when": {"connector": ["ledger"], "operation": ["note"]}, "writes_per_run": 1},
	}
	writes({"campaign": limits.campaign}, 1999, {"run": {"definition": "campaign"}}) == "allow"
	writes({"campaign": limits.campaign}, 2000, {"run": {"definition": "campaign"}}) == "deny"
	writes({"campaign": limits.campaign}, 3, {}) == "deny"
	writes(limits, 1, {"run": {"definition": "campaign"}}) == "deny"
	writes(limits, 0, {}) == "allow"
	same := {"a": limits.campaign, "b": object.union(limits.campaign, {"writes_per_run": 10})}
	writes(same, 9, {"run": {"definition": "campaign"}}) == "allow"
	writes(same, 10, {"run": {"definition": "campaign"}}) == "deny"
}

test_limit_to_come_is_announced_and_changes_nothing_yet if {
	later := {"later": {
		"comment": "Three sign",
		"when": {"connector": ["ledger"]},
		"quorum": 3,
		"effective_from": "2026-02-01T00:00:00Z",
	}}
	asked := decide(later, filing(1, []))
	asked.requirement.quorum == 2
	asked.reasons[1] == {"code": "limits.announced", "msg": "from 2026-02-01T00:00:00Z on, later: Three sign"}
	"countersign.effect.limited.announced#limits.announced" in asked.rules
	decide(later, object.union(filing(1, []), {"time": "2026-02-01T00:00:00Z", "approval": null})).requirement.quorum == 3
}

test_limits_that_cannot_be_read_let_nothing_pass if {
	every limits in [
		true, false, null, "x", [1], {"a": null}, {"a": {"comment": "c"}}, {"a": {"comment": 1, "when": {}}},
		limit({"exclude": "answered_by"}), limit({"writes_per_run": "9"}), limit({"tier": "huge"}),
		limit({"requirement": "nobody"}), limit({"tier": "high", "expires_in": "soon"}),
	] {
		decision := decide(limits, noting(5001, [tess, bob, cyd]))
		decision.outcome == "deny"
	}
}
