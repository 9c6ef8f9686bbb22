package countersign.effect.config_test

import data.countersign.effect
import data.countersign.effect.config
import data.countersign.effect.given_test as given

codes(tenants) := {reason.code | some reason in reasons} if {
	reasons := config.deny with input as given.question with data.countersign_config as tenants
}

changed(path, value) := {"t1": json.patch(given.tenant, [{"op": "add", "path": path, "value": value}])}

test_complete_configuration_is_accepted if {
	codes(given.config) == set()
}

test_unknown_tenant_is_denied if {
	codes({}) == {"config.tenant_unknown"}
	codes({"t2": given.tenant}) == {"config.tenant_unknown"}
	codes(null) == {"config.tenant_unknown"}
}

flaws(tenants) := found if {
	found := config.flaws with input as given.question with data.countersign_config as tenants
}

# A filing that enough people have signed reads all that a tenant's configuration says of it.
filed(tenants) := decision if {
	question := given.filing([given.approve("bob"), given.approve("cyd")])
	decision := effect.decision with input as question with data.countersign_config as tenants
}

test_complete_configuration_has_no_flaws if {
	flaws(given.config) == set()
	flaws({}) == set()
	filed(given.config).outcome == "allow"
}

test_each_missing_key_is_a_flaw_and_lets_nothing_pass if {
	every path in [
		"/writes_per_run", "/connectors", "/requirements", "/requirements/high", "/requirements/high/quorum",
		"/requirements/high/groups", "/requirements/high/all_groups", "/requirements/high/expires_in",
		"/requirements/high/escalate_to", "/requirements/high/escalate_to/0/after",
		"/requirements/high/escalate_to/0/to", "/connectors/ledger/chat", "/connectors/ledger/operations",
		"/connectors/ledger/operations/file/tier", "/connectors/ledger/operations/file/targets",
	] {
		tenants := {"t1": json.patch(given.tenant, [{"op": "remove", "path": path}])}
		count(flaws(tenants)) > 0
		filed(tenants).outcome == "deny"
	}
}

test_no_wrong_kind_lets_anything_pass if {
	every path in [
		"/writes_per_run", "/connectors", "/requirements", "/requirements/high", "/requirements/high/quorum",
		"/requirements/high/groups", "/requirements/high/all_groups", "/requirements/high/expires_in",
		"/requirements/high/escalate_to", "/requirements/high/escalate_to/0",
		"/requirements/high/escalate_to/0/after", "/requirements/high/escalate_to/0/to", "/connectors/ledger",
		"/connectors/ledger/chat",
		"/connectors/ledger/operations", "/connectors/ledger/operations/file",
		"/connectors/ledger/operations/file/tier", "/connectors/ledger/operations/file/targets",
		"/connectors/ledger/operations/file/targets/0",
	] {
		every wrong in [null, "many", true, -1, [[]], {"a": 1}] {
			tenants := {"t1": json.patch(given.tenant, [{"op": "replace", "path": path, "value": wrong}])}
			_stopped(path, wrong, tenants)
		}
	}
}

_stopped(path, wrong, _) if {path, wrong} in _right

_stopped(_, _, tenants) if {
	count(flaws(tenants)) > 0
	filed(tenants).outcome != "allow"
}

# What is of the right kind, or no part of the answer once enough people have signed.
_right := {
	{"/connectors/ledger/chat", true},
	{"/connectors/ledger/operations/file/targets/0", "many"},
	{"/requirements/high/all_groups", true},
	{"/requirements/high/expires_in", "many"},
	{"/requirements/high/escalate_to/0/after", "many"},
	{"/requirements/high/escalate_to/0/to", [[]]},
}

test_each_wrong_value_is_a_flaw if {
	every change in [
		["/requirements/high/quorum", 0], ["/requirements/high/quorum", -1], ["/requirements/high/quorum", 1.5],
		["/requirements/high/quorum", 1001], ["/requirements/high/quorum", "2"], ["/requirements/high/groups", []],
		["/requirements/high/groups", [""]], ["/requirements/high/groups", ["a\u0000"]],
		["/requirements/high/groups", numbers_as_texts(101)],
		["/requirements/high/expires_in", "PT0H"], ["/requirements/high/expires_in", "-PT8H"],
		["/requirements/high/expires_in", "8h"], ["/requirements/high/quorom", 2], ["/writes_per_run", null],
		["/writes_per_run", -1], ["/connectors/ledger/operations/note/tier", "none"], ["/connectors/ledger/chat", "no"],
	] {
		count(flaws(changed(change[0], change[1]))) > 0
	}
}

test_a_target_that_is_no_pattern_is_a_flaw_and_named if {
	every pattern in ["incident:[", "a{b", "{a,", "[z-a]", "[^", "a\\"] {
		tenants := changed("/connectors/ledger/operations/note/targets/1", pattern)
		where := sprintf("connectors.ledger.operations.note.targets.1: %s is no pattern", [json.marshal(pattern)])
		flaws(tenants) == {where}
		config.problems == {concat("", ["t1: ", where])} with data.countersign_config as tenants
	}
	flaws(changed("/connectors/ledger/operations/note/targets/1", "{a,b}/[a-z]*/?**")) == set()
}

line(afters) := [{"after": after, "to": ["legal"]} | some after in afters]

test_those_next_in_line_are_asked_one_after_the_other_and_in_time if {
	every afters in [[], ["PT1S"], ["PT479M"], ["PT1H", "PT90M", "PT28799S"]] {
		flaws(changed("/requirements/high/escalate_to", line(afters))) == set()
	}
	every afters in [["PT8H"], ["P1D"], ["PT480M"], ["PT2H", "PT2H"], ["PT2H", "PT119M"], ["PT1H", "PT8H"]] {
		count(flaws(changed("/requirements/high/escalate_to", line(afters)))) == 1
	}
}

test_no_quorum_below_one_is_ever_reached if {
	every quorum in [0, -1, null, false, "2", [], {}] {
		filed(changed("/requirements/high/quorum", quorum)).outcome == "deny"
	}
}

numbers_as_texts(count) := [sprintf("g%d", [number]) | some number in numbers.range(1, count)]

test_more_than_eight_groups_cannot_each_have_to_sign if {
	groups := [{"op": "add", "path": "/requirements/high/groups", "value": numbers_as_texts(9)}]
	each := [{"op": "add", "path": "/requirements/high/all_groups", "value": true}]
	flaws({"t1": json.patch(given.tenant, groups)}) == set()
	count(flaws({"t1": json.patch(given.tenant, array.concat(groups, each))})) > 0
}

test_problems_name_tenant_and_member if {
	problems := config.problems with data.countersign_config as changed("/requirements/high/quorum", 0)
	problems == {"t1: requirements.high.quorum: Must be greater than or equal to 1"}
	late := config.problems with data.countersign_config as changed("/requirements/high/escalate_to", line(["PT8H"]))
	late == {"t1: requirements.high.escalate_to.0.after: it is not before expires_in"}
	flaws(changed("/requirements/high/quorum", 0)) == {"requirements.high.quorum: Must be greater than or equal to 1"}
}

test_shipped_configuration_has_no_problems if {
	config.problems == set()
}

office := {"between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Oslo", "within": "P3D"}

timed(operation, execute) := changed(sprintf("/connectors/%s/execute", [operation]), execute)

test_windows_that_are_whole_are_accepted if {
	every execute in [office, {"within": "PT4H"}, {"not_before": "2026-12-01T08:00:00Z"}] {
		tenants := timed("ledger/operations/file", execute)
		flaws(tenants) == set()
		count(config.problems) == 0 with data.countersign_config as tenants
		filed(tenants).execute == execute
	}
}

test_windows_that_never_open_or_are_half_said_are_flaws if {
	every patch in [
		{"op": "replace", "path": "/between", "value": []},
		{"op": "replace", "path": "/between/0/days", "value": []},
		{"op": "replace", "path": "/between/0/until", "value": "09:00"},
		{"op": "replace", "path": "/between/0/from", "value": "24:00"},
		{"op": "replace", "path": "/between/0/from", "value": "9"},
		{"op": "remove", "path": "/time_zone"},
		{"op": "remove", "path": "/between"},
		{"op": "replace", "path": "/within", "value": "P1M"},
		{"op": "add", "path": "/not_before", "value": "soon"},
		{"op": "add", "path": "/after", "value": "P1D"},
	] {
		tenants := timed("ledger/operations/file", json.patch(office, [patch]))
		count(flaws(tenants)) > 0
		problems := config.problems with data.countersign_config as tenants
		count(problems) > 0
	}
	count(flaws(timed("ledger/operations/file", {}))) > 0
}

test_a_window_that_cannot_be_read_lets_nothing_pass if {
	every execute in [false, null, "P1D", []] {
		count(flaws(timed("ledger/operations/file", execute))) > 0
		filed(timed("ledger/operations/file", execute)).outcome == "deny"
	}
}

test_word_in_the_chat_has_no_window if {
	count(flaws(timed("chat/operations/say", office))) > 0
}

test_a_pause_on_questions_is_a_duration if {
	pausing := changed("/requirements/high/pause_on_question", "PT2H")
	flaws(pausing) == set()
	filed(pausing).outcome == "allow"
	every wrong in ["soon", "PT0H", 7] {
		flaws(changed("/requirements/high/pause_on_question", wrong)) != set()
	}
	filed(changed("/requirements/high/pause_on_question", 7)).outcome == "deny"
}

limited(members) := changed("/limits", {"large": object.union({"comment": "c", "when": {"connector": ["ledger"]}, "tier": "high"}, members)})

test_limits_have_no_flaws if {
	every members in [
		{"when": {"connector": ["ledger"], "operation": ["note"], "fields": {"a.b": {"over": 1.5, "matches": "[a-z]+"}}}},
		{"when": {"requester_kind": ["agent"], "agent": ["robot"], "requester": ["ann"], "requester_groups": ["g"]}},
		{"when": {"runbook": ["d"]}, "writes_per_run": 9}, {"requirement": "high", "exclude": ["by"], "quorum": 2},
		{"when": {"time": {"between": office.between, "time_zone": "Europe/Oslo"}}, "effective_from": "2026-12-01T00:00:00Z"},
		{"execute": office, "expires_in": "PT1H", "sign_with": "passkey"},
	] {
		flaws(limited(members)) == set()
	}
	flaws(changed("/$schema", "../../schemas/tenant.json")) == set()
}

test_flaws_of_limits if {
	every members in [
		{"comment": ""}, {"when": {"connector": []}},
		{"when": {"connector": ["ledger"], "fields": {"a": {"over": 1}}}}, {"when": {"place": ["x"]}}, {"tier": "low"},
		{"when": {"connector": ["ledger"], "operation": ["note"], "fields": {"a": {}}}}, {"more": 1},
		{"when": {"connector": ["ledger"], "operation": ["note"], "fields": {"a..b": {"over": 1}}}},
		{"when": {"requester": ["ann"]}, "writes_per_run": 9}, {"writes_per_run": 9}, {"exclude": []},
		{"effective_from": "2026-12-01"}, {"when": {"requester_kind": ["bot"]}},
	] {
		flaws(limited(members)) != set()
	}
	every when in [{}, {"operation": ["note"]}] {
		flaws(changed("/limits", {"large": {"comment": "c", "when": when, "tier": "high"}})) != set()
	}
	flaws(changed("/limits", {"large": {"comment": "c", "when": {"connector": ["ledger"]}}})) != set()
	flaws(changed("/limits", {"Large": {"comment": "c", "when": {"connector": ["ledger"]}, "tier": "high"}})) != set()
}

test_limits_that_would_hold_for_nothing_are_flaws if {
	flaws(limited({"when": {"connector": ["books"]}})) == {"limits.large.when.connector: books is not listed"}
	flaws(limited({"when": {"connector": ["ledger", "chat"], "operation": ["say", "burn"]}})) == {
		"limits.large.when.operation: burn is not listed",
	}
	flaws(limited({"requirement": "gone"})) == {"limits.large.requirement: gone is not among the requirements"}
	flaws(limited({"when": {"connector": ["ledger"], "operation": ["note"], "fields": {"a": {"matches": "["}}}})) == {
		"limits.large.when.fields.a.matches: it is no regular expression",
	}
	flaws(limited({"when": {"connector": ["chat"]}, "execute": office})) == {
		"limits.large.execute: word in the chat has no window",
	}
	empty := json.patch(office, [{"op": "replace", "path": "/between/0/until", "value": "09:00"}])
	flaws(limited({"execute": empty})) == {"limits.large.execute.between.0: it is empty"}
}
