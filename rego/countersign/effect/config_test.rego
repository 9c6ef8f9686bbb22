package countersign.effect.config_test

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

test_each_missing_key_is_denied if {
	every path in [
		"/writes_per_run", "/connectors", "/requirements", "/requirements/high", "/requirements/high/quorum",
		"/requirements/high/groups", "/requirements/high/all_groups", "/requirements/high/expires_in",
		"/requirements/high/escalate_to", "/connectors/ledger/chat", "/connectors/ledger/operations",
		"/connectors/ledger/operations/note/tier", "/connectors/ledger/operations/note/targets",
	] {
		codes({"t1": json.patch(given.tenant, [{"op": "remove", "path": path}])}) == {"config.invalid"}
	}
}

test_each_wrong_value_is_denied if {
	every change in [
		["/requirements/high/quorum", 0], ["/requirements/high/quorum", -1], ["/requirements/high/quorum", 1.5],
		["/requirements/high/quorum", 1001], ["/requirements/high/quorum", "2"], ["/requirements/high/groups", []], ["/requirements/high/groups", [""]], ["/requirements/high/groups", ["a\u0000"]],
		["/requirements/high/groups", numbers_as_texts(101)],
		["/requirements/high/expires_in", "PT0H"], ["/requirements/high/expires_in", "-PT8H"],
		["/requirements/high/expires_in", "8h"], ["/requirements/high/quorom", 2], ["/writes_per_run", null],
		["/writes_per_run", -1], ["/connectors/ledger/operations/note/tier", "none"], ["/connectors/ledger/chat", "no"],
	] {
		codes(changed(change[0], change[1])) == {"config.invalid"}
	}
}

numbers_as_texts(count) := [sprintf("g%d", [number]) | some number in numbers.range(1, count)]

test_more_than_eight_groups_cannot_each_have_to_sign if {
	groups := [{"op": "add", "path": "/requirements/high/groups", "value": numbers_as_texts(9)}]
	each := [{"op": "add", "path": "/requirements/high/all_groups", "value": true}]
	codes({"t1": json.patch(given.tenant, groups)}) == set()
	codes({"t1": json.patch(given.tenant, array.concat(groups, each))}) == {"config.invalid"}
}

test_problems_name_tenant_and_member if {
	problems := config.problems with data.countersign_config as changed("/requirements/high/quorum", 0)
	problems == {"t1: requirements.high.quorum: Must be greater than or equal to 1"}
}

test_shipped_configuration_has_no_problems if {
	config.problems == set()
}
