package countersign.effect.packs_test

import data.countersign.effect
import data.countersign.effect.given_test as given
import data.countersign.effect.packs

reason := {"code": "p.rule", "msg": "The pack says so"}

wants(requirement) := {"ledger": {"demand": {"requirement": requirement, "reason": reason}}}

none := {"ledger": {"demand": {"requirement": "none"}}}

decide(asked, votes, rules) := decision if {
	decision := effect.decision with input as given.asked(asked, votes)
		with data.countersign_config as given.config
		with data.countersign_pack as rules
}

codes(rules) := {reason.code | some reason in decide({}, [], rules).reasons}

test_effect_without_packs_needs_no_demand if {
	every rules in [{}, {"p": {}}, {"p": none}, {"p": none, "q": none}] {
		decide({}, [], rules).outcome == "allow"
	}
}

test_pack_asks_for_signatures_below_the_high_tier if {
	every operation in ["note", "sort"] {
		decision := decide({"operation": operation}, [], {"p": wants("high"), "q": none})
		decision.outcome == "needs_approval"
		decision.reasons == [reason]
		decision.rules == ["countersign_config.t1.requirements.high", "countersign_pack.p.ledger.demand#p.rule"]
		votes := [given.approve("bob"), given.approve("cyd")]
		decide({"operation": operation}, votes, {"p": wants("high")}).outcome == "allow"
	}
}

test_pack_cannot_lower_what_the_high_tier_asks if {
	every rules in [{"p": none}, {"p": wants("lead")}] {
		decision := decide({"operation": "file"}, [], rules)
		decision.outcome == "needs_approval"
		decision.requirement.quorum == 2
	}
}

test_pack_has_no_word_about_connectors_of_others if {
	others := {"p": {"mail": {"demand": {"requirement": "high"}, "deny": {reason}}, "post": {}}}
	decide({}, [], others).outcome == "allow"
}

test_what_a_pack_denies_is_denied if {
	rules := {"p": {"ledger": {"demand": {"requirement": "none"}, "deny": {reason}}}}
	decide({}, [], rules).outcome == "deny"
	codes(rules) == {"p.rule"}
	decide({"target": "x"}, [], rules).rules == [
		"countersign.effect.connectors.deny#connectors.target",
		"countersign_pack.p.ledger.deny#p.rule",
	]
}

test_pack_without_an_answer_denies if {
	every rules in [{}, {"demand": null}, {"demand": {}}, {"demand": {"requirement": 1}}, {"deny": set()}] {
		codes({"p": {"ledger": rules}}) == {"packs.silent"}
		codes({"p": none, "q": {"ledger": rules}}) == {"packs.silent"}
	}
}

test_packs_that_contradict_each_other_deny if {
	codes({"p": wants("high"), "q": wants("other")}) == {"packs.contradiction"}
	decide({}, [], {"p": wants("high"), "q": wants("high")}).rules == [
		"countersign_config.t1.requirements.high",
		"countersign_pack.p.ledger.demand#p.rule",
		"countersign_pack.q.ledger.demand#p.rule",
	]
}

test_demand_that_the_tenant_does_not_know_is_denied if {
	codes({"p": wants("other")}) == {"approvals.requirement_missing"}
}

test_packs_vouch_by_an_answer if {
	packs.permitted with input as given.question with data.countersign_pack as {"p": none}
	not packs.permitted with input as given.question with data.countersign_pack as {"p": {"ledger": {}}}
	not packs.permitted with input as given.question with data.countersign_pack as {"p": wants("a"), "q": wants("b")}
}

adding(requirement, members) := {"ledger": {
	"demand": {"requirement": requirement, "reason": reason},
	"limits": {"more": object.union({"comment": "Of the pack"}, members)},
}}

strict := {"quorum": 3, "sign_with": "passkey", "expires_in": "PT1H"}

test_pack_adds_to_what_it_and_the_high_tier_ask if {
	every operation in ["note", "file"] {
		asked := decide({"operation": operation}, [], {"p": adding("high", strict)})
		[asked.requirement.quorum, asked.requirement.sign_with, asked.requirement.expires_in] == [3, "passkey", "PT1H"]
		asked.reasons[1] == {"code": "limits.applies", "msg": "more: Of the pack"}
		"countersign_pack.p.ledger.limits#limits.applies" in asked.rules
	}
}

test_limits_of_several_packs_all_hold if {
	asked := decide({}, [], {"p": adding("high", {"quorum": 3}), "q": adding("high", {"sign_with": "passkey"})}).requirement
	[asked.quorum, asked.sign_with] == [3, "passkey"]
}

test_a_packs_limit_asks_where_its_demand_does_not if {
	decision := decide({}, [], {"p": adding("none", {"requirement": "high"})})
	decision.outcome == "needs_approval"
	{one.code | some one in decision.reasons} == {"limits.applies", "limits.demand"}
}

test_pack_says_when_it_is_carried_out if {
	week := {"between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Oslo"}
	decide({}, [], {"p": adding("none", {"execute": week})}).execute == week
	decide({}, [], {"p": adding("high", {"execute": week})}).requirement.execute == week
}

test_pack_excludes_people_whom_fields_name if {
	rules := {"p": adding("high", {"exclude": ["answered_by"]})}
	first := decide({}, [], rules)
	first.names == ["answered_by"]
	codes(rules) == {"approvals.named_unknown"}
	asked := object.union(given.asked({}, []), {"named": {"answered_by": ["bob"]}})
	told := effect.decision with input as asked with data.countersign_config as given.config with data.countersign_pack as rules
	told.requirement.exclude == ["ann", "bob", "hook"]
}

test_editors_who_may_sign_may_not_if_they_are_named if {
	rules := {"p": adding("high", {"exclude": ["answered_by"]})}
	asked := object.union(given.asked({}, []), {
		"named": {"answered_by": ["bob"]},
		"edited": {"by": ["bob", "cyd"], "requested": {}},
	})
	tenants := {"t1": object.union(given.tenant, {"requirements": {"high": {"editors_may_sign": true}}})}
	told := effect.decision with input as asked with data.countersign_config as tenants with data.countersign_pack as rules
	told.requirement.exclude == ["ann", "bob", "hook"]
}

test_pack_limits_no_connector_of_others if {
	decide({}, [], {"p": {"mail": {"demand": {"requirement": "none"}, "limits": {"l": {"comment": "c", "tier": "high"}}}}}).outcome == "allow"
}

test_limits_of_packs_that_cannot_be_read_let_nothing_pass if {
	every members in [
		{"quorum": "3"}, {"sign_with": "click"}, {"expires_in": "soon"}, {"execute": "P1D"}, {"exclude": "bob"},
		{"exclude": [1]}, {"veto": ["legal"]}, {"budget": "one"}, {"comment": 1, "quorum": 3}, {}, {"writes_per_run": 9000},
		{"quorum": 3, "when": {}}, {"quorum": 3, "effective_from": "2026-01-01T00:00:00Z"},
	] {
		codes({"p": adding("high", members)}) == {"limits.unreadable"}
	}
	every limits in [true, false, null, "x", ["x"], {"a": null}, {"a": {"quorum": 3}}, {"A b": {"comment": "c", "quorum": 3}}] {
		codes({"p": {"ledger": {"demand": {"requirement": "none"}, "limits": limits}}}) == {"limits.unreadable"}
	}
}
