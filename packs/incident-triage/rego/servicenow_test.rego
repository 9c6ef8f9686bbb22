package countersign_pack_test.incident_triage.servicenow

import data.countersign.effect
import data.countersign.effect.given_test as given

tenant := json.patch(given.tenant, [
	{
		"op": "add",
		"path": "/connectors/servicenow",
		"value": {"chat": false, "operations": {
			"add_work_note": {"tier": "low", "targets": ["incident/*"]},
			"assign": {"tier": "medium", "targets": ["incident/*"]},
		}},
	},
	{
		"op": "add",
		"path": "/requirements/urgent_incident",
		"value": object.union(given.requirement, {"quorum": 1, "groups": ["incident-managers"]}),
	},
])

decide(operation, fields, votes) := decision if {
	question := given.asked(
		{"connector": "servicenow", "operation": operation, "target": "incident/1", "fields": fields},
		votes,
	)
	decision := effect.decision with input as question with data.countersign_config as {"t1": tenant}
}

outcome(fields, votes) := decide("assign", fields, votes).outcome

test_change_of_a_routine_incident_is_allowed if {
	every priority in [2, 3, 4, 5, "2", "3", "4", "5"] {
		outcome({"priority": priority}, []) == "allow"
	}
}

test_urgent_incident_takes_an_incident_manager if {
	manager := object.union(given.approve("dan"), {"groups": ["incident-managers"]})
	decision := decide("assign", {"priority": 1}, [])
	decision.outcome == "needs_approval"
	decision.reasons[0].code == "incidents.urgent"
	outcome({"priority": "1"}, []) == "needs_approval"
	outcome({"priority": "1"}, [given.approve("bob")]) == "needs_approval"
	outcome({"priority": "1"}, [manager]) == "allow"
}

test_incident_of_unknown_priority_counts_as_urgent if {
	every fields in [{}, {"priority": 0}, {"priority": null}, {"priority": "9"}, {"priority": ["2"]}] {
		outcome(fields, []) == "needs_approval"
	}
}

test_work_note_of_low_tier_needs_nobody if {
	decide("add_work_note", {"priority": 1}, []).outcome == "allow"
}
