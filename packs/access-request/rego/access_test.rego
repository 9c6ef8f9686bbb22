package countersign_pack_test.access_request.access

import data.countersign.effect
import data.countersign.effect.given_test as given

tenant := json.patch(given.tenant, [
	{
		"op": "add",
		"path": "/connectors/access",
		"value": {"chat": false, "operations": {
			"grant": {"tier": "medium", "targets": ["system:*"]},
			"list": {"tier": "low", "targets": ["system:*", "other"]},
			"revoke": {"tier": "low", "targets": ["system:*"]},
		}},
	},
	{
		"op": "add",
		"path": "/requirements/access_payments",
		"value": object.union(given.requirement, {
			"groups": ["payments-owners", "security"],
			"all_groups": true,
			"escalate_to": [],
		}),
	},
])

asked := {"system": "payments", "account": "ann", "role": "operator", "minutes": 60, "justification": "an outage"}

owner := object.union(given.approve("olga"), {"groups": ["payments-owners"]})

guard := object.union(given.approve("sam"), {"groups": ["security"]})

both := object.union(given.approve("olga"), {"groups": ["payments-owners", "security"]})

decide(changes, votes) := decision if {
	question := given.asked(object.union({"connector": "access", "target": "system:payments"}, changes), votes)
	decision := effect.decision with input as question with data.countersign_config as {"t1": tenant}
}

grant(fields, votes) := decide({"operation": "grant", "fields": object.union(asked, fields)}, votes)

codes(decision) := {reason.code | some reason in decision.reasons}

test_access_takes_the_owner_and_security if {
	unsigned := grant({}, [])
	unsigned.outcome == "needs_approval"
	codes(unsigned) == {"access.granted_by_owner"}
	grant({}, [owner]).outcome == "needs_approval"
	grant({}, [guard]).outcome == "needs_approval"
	grant({}, [owner, guard]).outcome == "allow"
}

test_owner_and_security_are_two_people if {
	grant({}, [both]).outcome == "needs_approval"
	grant({}, [both, guard]).outcome == "allow"
}

test_others_sign_nothing if {
	grant({}, [given.approve("bob"), given.approve("cat")]).outcome == "needs_approval"
}

test_who_asks_never_signs if {
	own := object.union(given.approve("ann"), {"groups": ["payments-owners"]})
	grant({}, [own, guard]).outcome == "needs_approval"
}

test_access_is_asked_for_oneself if {
	every account in ["bob", null, ["ann"]] {
		codes(grant({"account": account}, [owner, guard])) == {"access.for_another"}
	}
}

test_access_has_an_end if {
	every minutes in [43201, "60", null] {
		codes(grant({"minutes": minutes}, [owner, guard])) == {"access.too_long"}
	}
}

test_system_without_an_owner_is_given_to_nobody if {
	decision := decide({"operation": "grant", "target": "system:ledger", "fields": asked}, [owner, guard])
	codes(decision) == {"approvals.requirement_missing"}
}

test_end_of_access_needs_nobody if {
	decide({"operation": "revoke", "fields": {}}, []).outcome == "allow"
}

test_other_operations_and_targets_are_denied if {
	codes(decide({"operation": "list", "fields": {}}, [])) == {"packs.silent"}
	"packs.silent" in codes(decide({"operation": "grant", "target": "other", "fields": asked}, [owner, guard]))
}
