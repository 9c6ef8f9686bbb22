package countersign.effect.windows_test

import data.countersign.effect
import data.countersign.effect.given_test as given

office := {
	"between": [{"days": ["mon", "fri"], "from": "09:00", "until": "17:00"}],
	"time_zone": "Europe/Oslo",
	"within": "P3D",
}

tenant(operation) := json.patch(given.tenant, [{
	"op": "add",
	"path": sprintf("/connectors/ledger/operations/%s/execute", [operation]),
	"value": office,
}])

decide(question, operation) := decision if {
	decision := effect.decision with input as question with data.countersign_config as {"t1": tenant(operation)}
}

signed := [given.approve("bob"), given.approve("cyd")]

test_what_is_allowed_without_asking_says_when if {
	decision := decide(given.question, "note")
	decision.outcome == "allow"
	decision.execute == office
}

test_who_is_asked_is_told_when_and_what_they_allow_says_it if {
	asked := decide(given.filing([]), "file")
	asked.outcome == "needs_approval"
	asked.requirement.execute == office
	not "execute" in object.keys(asked)
	decide(given.filing(signed), "file").execute == office
}

test_what_is_denied_says_nothing_of_it if {
	decision := decide(given.filing([given.reject("bob")]), "file")
	decision.outcome == "deny"
	not "execute" in object.keys(decision)
}

test_nothing_is_said_of_other_operations if {
	not "execute" in object.keys(decide(given.question, "file"))
	not "execute" in object.keys(decide(given.filing([]), "note").requirement)
}

test_an_approval_with_a_time_to_carry_it_out_counts_until_the_end_of_that if {
	late := object.union(given.filing(signed), {"time": "2026-01-06T10:00:00Z"})
	decide(late, "file").outcome == "needs_approval"
	usable := object.union(late, {"approval": {"usable_until": "2026-01-08T09:30:00Z"}})
	decide(usable, "file").outcome == "allow"
	decide(object.union(usable, {"time": "2026-01-08T09:30:00Z"}), "file").outcome == "needs_approval"
}
