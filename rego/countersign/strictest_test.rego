package countersign.effect.strictest_test

import data.countersign.effect.given_test as given
import data.countersign.effect.strictest

plain := object.union(given.requirement, {"escalate_to": []})

legal := {"quorum": 1, "groups": ["legal"], "all_groups": false, "expires_in": "PT2H", "escalate_to": []}

test_highest_tier if {
	strictest.tier({"low", "high"}) == "high"
	strictest.tier({"low", "medium"}) == "medium"
	not strictest.tier({"low", "HIGH"})
	not strictest.tier(set())
}

test_shortest_duration if {
	strictest.duration({"P1D", "PT23H", "PT1440M"}) == "PT23H"
	strictest.duration({"PT60M", "PT1H"}) == "PT1H"
	not strictest.duration({"PT1H", "soon"})
}

week := {"between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Oslo"}

test_narrowest_window if {
	strictest.window({{"within": "P3D"}}) == {"within": "P3D"}
	strictest.window({week, {"not_before": "2026-01-05T10:00:00Z", "within": "PT5H"}, {"not_before": "2026-01-06T10:00:00Z"}}) == object.union(
		week,
		{"not_before": "2026-01-06T10:00:00Z", "within": "PT5H"},
	)
	strictest.window({{"within": "P3D"}, week}) == object.union(week, {"within": "P1D"})
}

test_windows_of_different_weeks_are_none if {
	other := object.union(week, {"time_zone": "Europe/Berlin"})
	strictest.weeks_differ({week, other})
	not strictest.weeks_differ({week, object.union(week, {"within": "P2D"}), {"within": "P3D"}})
	not strictest.window({week, other})
}

test_one_requirement_without_additions_stays_as_it_is if {
	strictest.of({given.requirement}, {{"comment": "c"}}) == given.requirement
	strictest.of({given.requirement}, set()) == given.requirement
}

test_additions_raise_quorum_shorten_time_and_ask_for_a_passkey if {
	strictest.of({given.requirement}, {{"quorum": 3}, {"quorum": 1}}).quorum == 3
	strictest.of({given.requirement}, {{"quorum": 1}}).quorum == 2
	strictest.of({given.requirement}, {{"sign_with": "passkey"}}).sign_with == "passkey"
	strictest.of({given.requirement}, {{"expires_in": "P2D"}}) == given.requirement
	shorter := strictest.of({given.requirement}, {{"expires_in": "PT7H"}})
	shorter.expires_in == "PT7H"
	shorter.escalate_to == given.requirement.escalate_to
}

test_who_would_be_asked_too_late_is_not_asked_and_in_no_class if {
	base := object.union(given.requirement, {
		"classes": [{"groups": ["compliance", "senior-compliance"], "quorum": 1, "all_groups": false}],
		"veto": ["compliance", "senior-compliance"],
	})
	strictest.of({base}, {{"expires_in": "PT6H"}}) == object.union(plain, {
		"expires_in": "PT6H",
		"classes": [{"groups": ["compliance"], "quorum": 1, "all_groups": false}],
		"veto": ["compliance"],
	})
	lead := object.union(given.requirement, {"veto": ["senior-compliance"]})
	not "veto" in object.keys(strictest.of({lead}, {{"expires_in": "PT6H"}}))
}

test_several_requirements_become_one_with_a_class_for_each if {
	strictest.of({given.requirement, legal}, set()) == {
		"quorum": 2,
		"groups": ["compliance", "legal"],
		"all_groups": false,
		"expires_in": "PT2H",
		"escalate_to": [],
		"classes": [
			{"groups": ["compliance"], "quorum": 2, "all_groups": false},
			{"groups": ["legal"], "quorum": 1, "all_groups": false},
		],
	}
}

test_leads_of_all_are_asked_each_at_their_time if {
	one := object.union(legal, {"expires_in": "PT9H", "escalate_to": [
		{"after": "PT1H", "to": ["legal-lead"]},
		{"after": "PT360M", "to": ["board"]},
	]})
	found := strictest.of({given.requirement, one}, set())
	found.escalate_to == [
		{"after": "PT3600S", "to": ["legal-lead"]},
		{"after": "PT21600S", "to": ["board", "senior-compliance"]},
	]
	found.classes == [
		{"groups": ["board", "legal", "legal-lead"], "quorum": 1, "all_groups": false},
		{"groups": ["compliance", "senior-compliance"], "quorum": 2, "all_groups": false},
	]
}

test_classes_of_all_stay_and_all_groups_sign_by_people_of_their_own if {
	each := object.union(legal, {"groups": ["a", "b"], "all_groups": true, "classes": [{"groups": ["a"], "quorum": 2, "all_groups": false}]})
	strictest.of({each, legal}, set()).classes == [
		{"groups": ["a"], "quorum": 2, "all_groups": false},
		{"groups": ["legal"], "quorum": 1, "all_groups": false},
		{"groups": ["a", "b"], "quorum": 1, "all_groups": true},
	]
}

test_what_leaves_people_out_or_more_time_stays_only_if_all_have_it if {
	glass := {"break_glass": {"groups": ["operators"]}, "editors_may_sign": true, "pause_on_question": "PT1H", "veto": ["legal"]}
	one := object.union(legal, glass)
	members := {"break_glass", "editors_may_sign", "pause_on_question", "veto"}
	members & object.keys(strictest.of({one, plain}, set())) == set()
	both := strictest.of({one, object.union(object.union(plain, glass), {"pause_on_question": "PT5M", "veto": ["compliance"]})}, set())
	both.break_glass == glass.break_glass
	both.editors_may_sign == true
	both.pause_on_question == "PT5M"
	both.veto == ["compliance", "legal"]
}

test_one_that_wants_a_passkey_is_enough if {
	strictest.of({plain, object.union(legal, {"sign_with": "passkey"})}, set()).sign_with == "passkey"
	not "sign_with" in object.keys(strictest.of({plain, legal}, set()))
}
