package countersign.effect.conditions_test

import data.countersign.effect.conditions
import data.countersign.effect.given_test as given

question := given.asked(
	{"fields": {"amount": 5000, "price": "5000.00", "country": "NO", "tags": ["a", "vip"], "to": {"iban": "NO1"}, "none": null, "empty": []}},
	[],
)

holds(when) if conditions.holds(when) with input as question

asked(changes, when) if conditions.holds(when) with input as object.union(question, changes)

field(path, test) if {
	fields := {path: test}
	holds({"fields": fields})
}

with_limits(limits) := {"t1": object.union(given.tenant, {"limits": limits})}

matching(limits) := found if {
	tenants := with_limits(limits)
	found := {name | some name, _ in conditions.matching} with input as question with data.countersign_config as tenants
}

announced(limits) := found if {
	tenants := with_limits(limits)
	found := {name | some name, _ in conditions.announced} with input as question with data.countersign_config as tenants
}

test_each_member_of_a_condition_has_to_be_met if {
	holds({"connector": ["ledger"], "operation": ["file", "note"], "runbook": ["d"], "requester": ["ann"]})
	not holds({"connector": ["ledger"], "operation": ["file"]})
	every when in [
		{"connector": ["chat"]}, {"operation": ["file"]}, {"runbook": ["e"]}, {"requester": ["hook"]},
		{"requester_kind": ["agent", "system"]}, {"requester_groups": ["legal"]}, {"agent": ["ann"]},
	] {
		not holds(when)
	}
}

test_requester_agent_and_groups if {
	every when in [{"requester_kind": ["person"]}, {"requester_groups": ["legal", "compliance"]}, {"agent": ["hook"]}] {
		holds(when)
	}
	asked({"actor": {"kind": "agent", "id": "robot"}}, {"agent": ["robot"]})
}

test_amount_over_or_under_a_bound if {
	field("amount", {"over": 4999.99})
	not field("amount", {"over": 5000})
	field("amount", {"under": 5000.01})
	not field("amount", {"under": 5000})
	field("price", {"over": 4999.99, "under": 5000.01})
	not field("price", {"over": 5000})
	not field("price", {"under": 5000})
}

test_value_among_some_or_of_a_pattern if {
	field("country", {"in": ["SE", "NO"]})
	not field("country", {"in": ["SE", "no"]})
	field("country", {"matches": "N."})
	not field("country", {"matches": "N"})
	not field("country", {"matches": "O"})
	field("to.iban", {"matches": "NO[0-9]+"})
	not field("to.iban", {"matches": "SE.*"})
}

test_one_item_of_a_list_is_enough if {
	field("tags", {"in": ["vip"]})
	not field("tags", {"in": ["b"]})
	field("tags", {"matches": "v.*", "in": ["vip"]})
	not field("tags", {"matches": "v.*", "in": ["a"]})
}

test_what_cannot_be_read_counts_as_met if {
	every path in ["missing", "none", "empty", "to", "to.missing", "country.missing"] {
		field(path, {"over": 1})
		field(path, {"under": 1})
		field(path, {"in": ["x"]})
		field(path, {"matches": "x"})
	}
	field("country", {"over": 1})
	field("amount", {"matches": "x"})
	field("country", {"matches": "["})
}

test_only_decimal_numbers_are_numbers if {
	every text in ["0", "-1", "12.50", "5000"] {
		conditions.number(text) == to_number(text)
	}
	every text in ["", "1e3", "01", "1.", ".5", "0x10", " 1", "1 ", "NaN", true, null] {
		not conditions.number(text)
	}
}

at(moment, window) if asked({"time": moment}, {"time": {"between": [window], "time_zone": "Europe/Oslo"}})

test_time_of_the_week_by_the_clock_of_the_zone if {
	day := {"days": ["mon"], "from": "09:00", "until": "17:00"}
	at("2026-01-05T08:00:00Z", day)
	at("2026-01-05T15:59:59.5Z", day)
	not at("2026-01-05T07:59:59Z", day)
	not at("2026-01-05T16:00:00Z", day)
	not at("2026-01-06T10:00:00Z", day)
	at("2026-07-06T07:00:00Z", day)
	at("2026-01-05T22:59:00Z", {"days": ["mon"], "from": "17:00", "until": "24:00"})
}

test_window_over_midnight_belongs_to_the_day_it_begins_on if {
	night := {"days": ["sun"], "from": "22:00", "until": "06:00"}
	at("2026-01-04T21:00:00Z", night)
	at("2026-01-05T04:59:00Z", night)
	not at("2026-01-05T05:00:00Z", night)
	not at("2026-01-04T20:59:00Z", night)
	not at("2026-01-04T04:00:00Z", night)
	not at("2026-01-05T21:30:00Z", night)
}

limit(moment) := {"comment": "c", "when": {"connector": ["ledger"]}, "effective_from": moment}

test_limit_holds_from_its_moment_on_and_is_announced_before if {
	limits := {
		"now": {"comment": "c", "when": {"connector": ["ledger"]}},
		"past": limit("2026-01-05T10:00:00Z"),
		"soon": limit("2026-01-05T10:00:01Z"),
		"elsewhere": {"comment": "c", "when": {"connector": ["chat"]}},
	}
	matching(limits) == {"now", "past"}
	announced(limits) == {"soon"}
}

test_tenant_without_limits_has_none if {
	matching({}) == set()
}
