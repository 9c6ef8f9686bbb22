package countersign.effect.limits_test

import data.countersign.effect.given_test as given
import data.countersign.effect.limits

codes(effect, writes) := {reason.code | some reason in reasons} if {
	question := object.union(given.asked(effect, []), {"counters": {"writes": writes}})
	reasons := limits.deny with input as question with data.countersign_config as given.config
}

test_run_below_its_limit_may_write if {
	codes({}, 0) == set()
	codes({}, 2) == set()
}

test_run_at_its_limit_may_not_write if {
	codes({}, 3) == {"limits.writes_per_run"}
	codes({}, 4) == {"limits.writes_per_run"}
}

test_run_at_its_limit_may_chat if {
	codes({"connector": "chat", "operation": "say", "target": "C1"}, 3) == set()
}

test_run_at_its_limit_may_read if {
	codes({"reads": true}, 3) == set()
	every reads in [false, null, "true", 1] {
		codes({"reads": reads}, 3) == {"limits.writes_per_run"}
	}
}

test_count_that_is_no_count_may_not_write if {
	every writes in [null, false, "1", -1, [], {}] {
		codes({}, writes) == {"limits.writes_per_run"}
	}
}
