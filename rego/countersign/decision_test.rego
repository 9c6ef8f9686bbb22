package countersign.effect_test

import data.countersign.effect
import data.countersign.effect.given_test as given

answer(question) := decision if {
	decision := effect.decision with input as question with data.countersign_config as given.config
}

codes(question) := {reason.code | some reason in answer(question).reasons}

test_low_tier_write_is_allowed if {
	answer(given.question) == {
		"outcome": "allow",
		"tier": "low",
		"requirement": null,
		"reasons": [],
		"obligations": [],
	}
}

test_high_tier_write_needs_two_signatures if {
	answer(given.filing([])) == {
		"outcome": "needs_approval",
		"tier": "high",
		"requirement": {
			"quorum": 2,
			"groups": ["compliance"],
			"all_groups": false,
			"exclude": ["ann", "hook"],
			"expires_in": "PT8H",
			"reason_required": false,
			"escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}],
		},
		"reasons": [{"code": "writes.high_tier", "msg": "High-tier writes need signatures"}],
		"rules": ["countersign.effect.approvals.demand#writes.high_tier", "countersign_config.t1.requirements.high"],
		"obligations": [],
	}
}

test_signed_high_tier_write_is_allowed if {
	answer(given.filing([given.approve("bob"), given.approve("cyd")])) == {
		"outcome": "allow",
		"tier": "high",
		"requirement": null,
		"reasons": [{"code": "approvals.fulfilled", "msg": "All required signatures are given"}],
		"rules": ["countersign.effect.approvals.signed#approvals.fulfilled"],
		"obligations": [],
	}
}

test_denied_write_says_why_and_asks_nobody if {
	answer(given.asked({"target": "elsewhere"}, [])) == {
		"outcome": "deny",
		"tier": "low",
		"requirement": null,
		"reasons": [{"code": "connectors.target", "msg": "The tenant may not use this operation on this target"}],
		"rules": ["countersign.effect.connectors.deny#connectors.target"],
		"obligations": [],
	}
}

test_signatures_do_not_outweigh_a_denial if {
	votes := [given.approve("bob"), given.approve("cyd")]
	answer(object.union(given.filing(votes), {"counters": {"writes": 3}})).outcome == "deny"
}

test_each_denial_is_named if {
	question := object.union(
		given.asked({"tier": "none", "target": "x"}, []),
		{"actor": {"id": ""}, "counters": {"writes": 9}},
	)
	codes(question) == {"connectors.target", "duties.requester_unknown", "limits.writes_per_run", "tiers.unknown"}
	answer(question).rules == [
		"countersign.effect.connectors.deny#connectors.target",
		"countersign.effect.duties.deny#duties.requester_unknown",
		"countersign.effect.limits.deny#limits.writes_per_run",
		"countersign.effect.tiers.deny#tiers.unknown",
	]
}

named(rules) := {split(rule, "#")[1] | some rule in rules; not startswith(rule, "countersign_config.")}

test_each_reason_has_a_rule_and_what_has_none_names_none if {
	every asked in [
		{},
		{"tenant": "t2"},
		object.union(given.question, {"tenant": "none"}),
		given.filing([]),
		given.filing([given.reject("bob")]),
		given.filing([given.approve("bob"), given.approve("cyd")]),
		given.asked({"connector": "none"}, []),
		given.asked({"operation": "none"}, []),
	] {
		named(answer(asked).rules) == codes(asked)
	}
	not answer(given.question).rules
}

test_input_of_the_wrong_kind_is_denied if {
	every broken in [null, [], {}, "", 0, false, [{}], {"effect": null}, {"tenant": ["t1"]}] {
		answer(broken).outcome == "deny"
		"config.tenant_unknown" in codes(broken)
	}
}

test_each_missing_member_but_votes_denies if {
	every path in [
		"/tenant", "/actor", "/actor/id", "/actor/submitted_by", "/effect", "/effect/connector", "/effect/operation",
		"/effect/target", "/effect/tier", "/counters", "/counters/writes",
	] {
		answer(json.patch(given.question, [{"op": "remove", "path": path}])).outcome == "deny"
	}
}

test_each_member_of_the_wrong_kind_denies if {
	every path in [
		"/tenant", "/actor", "/actor/id", "/actor/submitted_by", "/effect", "/effect/connector", "/effect/operation",
		"/effect/target", "/effect/tier", "/counters", "/counters/writes",
	] {
		every wrong in [null, {}, [], true, -1] {
			answer(json.patch(given.question, [{"op": "replace", "path": path, "value": wrong}])).outcome == "deny"
		}
	}
}

test_missing_votes_do_not_sign if {
	answer(json.patch(given.filing([]), [{"op": "remove", "path": "/votes"}])).outcome == "needs_approval"
	answer(object.union(given.filing([]), {"votes": null})).outcome == "needs_approval"
}

test_what_no_module_decides_is_denied if {
	decision := effect.decision with input as given.question
		with data.countersign_config as given.config
		with data.countersign.effect.permitted as false
	decision.outcome == "deny"
	decision.reasons[0].code == "policy.undefined"
	decision.rules == ["countersign.effect.decision#policy.undefined"]
}

answers(questions) := decisions if {
	decisions := effect.decisions with input as questions with data.countersign_config as given.config
}

test_each_question_of_a_list_is_answered_as_if_it_stood_alone if {
	questions := [
		given.question,
		given.filing([]),
		given.filing([given.approve("bob"), given.approve("cyd")]),
		given.asked({"target": "elsewhere"}, []),
		{},
		null,
		given.question,
	]
	decisions := answers(questions)
	count(decisions) == count(questions)
	every place, question in questions {
		decisions[place] == answer(question)
	}
}

test_list_of_nothing_has_no_answers if {
	every broken in [[], {}, "x", null, 0] {
		answers(broken) == {}
	}
}

test_tenant_of_the_shipped_configuration_files_reports_with_signatures if {
	question := object.union(
		given.asked({"connector": "register", "operation": "file_report", "target": "register:5493001KJTIIGC8Y1R12", "tier": "high"}, []),
		{"tenant": "acme"},
	)
	decision := effect.decision with input as question
	decision.outcome == "needs_approval"
	decision.requirement.quorum >= 2
}
