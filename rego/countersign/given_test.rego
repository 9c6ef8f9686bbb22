# What the tests beside this file start from: one tenant, and one question that it may ask.
package countersign.effect.given_test

requirement := {
	"quorum": 2,
	"groups": ["compliance"],
	"all_groups": false,
	"expires_in": "PT8H",
	"escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}],
}

tenant := {
	"writes_per_run": 3,
	"connectors": {
		"chat": {"chat": true, "operations": {"say": {"tier": "low", "targets": ["C*"]}}},
		"ledger": {"chat": false, "operations": {
			"file": {"tier": "high", "targets": ["books/*"]},
			"note": {"tier": "low", "targets": ["books/*", "desk/**"]},
			"sort": {"tier": "medium", "targets": ["books/*"]},
		}},
	},
	"requirements": {"high": requirement},
}

config := {"t1": tenant}

question := {
	"time": "2026-01-05T10:00:00Z",
	"tenant": "t1",
	"actor": {"id": "ann", "kind": "person", "groups": ["compliance"], "submitted_by": "hook"},
	"run": {"id": "r1", "definition": "d", "version": 1, "trigger_type": "t"},
	"step": "s",
	"effect": {
		"connector": "ledger",
		"operation": "note",
		"target": "books/1",
		"fields": {},
		"tier": "low",
		"reversible": true,
		"digest": "d1",
	},
	"approval": {"requested_at": "2026-01-05T09:00:00Z", "expires_at": "2026-01-05T17:00:00Z"},
	"votes": [],
	"counters": {"writes": 0},
}

asked(effect, votes) := object.union(question, {"effect": effect, "votes": votes})

filing(votes) := asked({"operation": "file"}, votes)

approve(person) := vote(person, "compliance", "approve")

reject(person) := vote(person, "compliance", "reject")

vote(person, group, verdict) := {"person": person, "groups": [group], "verdict": verdict, "at": "2026-01-05T09:30:00Z"}

for_other(vote, delegator) := object.union(vote, {"delegation": {"delegator": delegator, "recorded_by": "omar"}})
