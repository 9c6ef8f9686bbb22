package countersign.effect.reasons_test

import data.countersign.effect.reasons

test_reason_is_what_the_metadata_states if {
	reasons.of({"custom": {"short_name": "a.b", "failure_msg": "No"}}) == {"code": "a.b", "msg": "No"}
}
