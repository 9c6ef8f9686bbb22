package countersign.effect.duties_test

import data.countersign.effect.duties
import data.countersign.effect.given_test as given

codes(actor) := {reason.code | some reason in reasons} if {
	reasons := duties.deny with input as object.union(given.question, {"actor": actor})
}

test_requester_and_submitter_are_excluded if {
	duties.excluded == ["ann", "hook"] with input as given.question
}

test_one_person_in_both_roles_is_excluded_once if {
	duties.excluded == ["ann"] with input as object.union(given.question, {"actor": {"submitted_by": "ann"}})
}

test_whoever_edited_has_to_be_known if {
	every by in [["bob"], ["bob", "cyd"]] {
		duties.permitted with input as object.union(given.question, {"edited": {"by": by, "requested": {}}})
	}
	every edited in [null, {}, {"by": null}, {"by": []}, {"by": [""]}, {"by": ["bob", 7]}, {"by": "bob"}] {
		not duties.permitted with input as object.union(given.question, {"edited": edited})
	}
}

test_unknown_requester_is_denied if {
	codes({}) == set()
	codes({"id": ""}) == {"duties.requester_unknown"}
	codes({"id": null}) == {"duties.requester_unknown"}
	codes({"submitted_by": 7}) == {"duties.requester_unknown"}
	codes(null) == {"duties.requester_unknown"}
}

test_author_of_a_policy_is_excluded if {
	changed := {"connector": "policy", "fields": {"author": "cyd"}}
	duties.excluded == ["ann", "cyd", "hook"] with input as object.union(given.question, {"effect": changed})
	not duties.permitted with input as object.union(given.question, {"effect": object.union(changed, {"fields": null})})
}
