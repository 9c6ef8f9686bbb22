package countersign_pack_test.kyc.bloomberg

import data.countersign.effect
import data.countersign.effect.given_test as given

lei := "5493001KJTIIGC8Y1R12"

decide(more) := decision if {
	about := {
		"connector": "bloomberg",
		"operation": "query_subsidiaries",
		"target": concat("", ["company:", lei]),
		"fields": {"identifier_type": "LEGAL_ENTITY_IDENTIFIER", "entity_identifier": lei},
		"reads": true,
	}
	question := object.union(given.asked(object.union(about, more), []), {"tenant": "acme"})
	decision := effect.decision with input as question
}

codes(more) := {reason.code | some reason in decide(more).reasons}

test_the_shipped_configuration_lets_companies_be_asked_about_by_lei if {
	decide({}).outcome == "allow"
}

test_another_identifier_does_not_leave if {
	every fields in [
		{"identifier_type": "ISIN"},
		{"entity_identifier": "Jane Doe"},
		{"entity_identifier": lower(lei)},
		{"entity_identifier": null},
	] {
		decide({"fields": fields}).outcome == "deny"
		codes({"fields": fields}) == {"bloomberg.identifier"}
	}
}

test_a_question_is_about_the_company_that_it_names if {
	codes({"target": "company:984500000000009999XX"}) == {"bloomberg.identifier"}
}

test_a_question_about_nothing_is_denied if {
	decision := effect.decision with input as object.union(
		given.asked({"connector": "bloomberg", "operation": "query_subsidiaries", "target": "company:x", "fields": 1}, []),
		{"tenant": "acme"},
	)
	decision.outcome == "deny"
}

test_who_wants_it_signed_raises_its_tier if {
	decide({"tier": "high"}).outcome == "needs_approval"
	codes({"tier": "high"}) == {"reads.high_tier"}
}
