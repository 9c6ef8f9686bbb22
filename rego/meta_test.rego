package meta_test

import data.meta

ref(names) := [{"type": "string", "value": name, "location": {"file": "p.rego", "row": 9}} | some name in names]

described(row) := {
	"scope": "rule",
	"title": "T",
	"description": "D",
	"location": {"file": "p.rego", "row": row},
}

coded(row, code) := object.union(described(row), {"custom": {"short_name": code, "failure_msg": "No"}})

rule(name, annotations, called) := {
	"head": {"name": name, "ref": ref([name])},
	"annotations": annotations,
	"body": [{"terms": [{"type": "ref", "value": ref(called)}]}],
}

module(package_annotations, rules) := {
	"package": {"path": ref(["data", "p"]), "location": {"file": "p.rego", "row": 1}},
	"annotations": array.concat(package_annotations, [own | some r in rules; some own in r.annotations]),
	"rules": rules,
}

titled := [object.union(described(1), {"scope": "package"})]

codes(modules) := {violation.code | some violation in violations} if {
	violations := meta.deny with input as {"modules": modules}
}

test_described_package_and_rules_pass if {
	codes([module(titled, [
		rule("deny", [coded(5, "p.a")], ["rego", "metadata", "rule"]),
		rule("deny", [coded(7, "p.b")], ["rego", "metadata", "rule"]),
		rule("_private", [], ["input", "x"]),
	])]) == set()
}

test_package_without_description_is_found if {
	codes([module([], [])]) == {"meta.package_undescribed"}
	codes([module([object.remove(titled[0], ["description"])], [])]) == {"meta.package_undescribed"}
	codes([module([object.union(titled[0], {"title": ""})], [])]) == {"meta.package_undescribed"}
}

test_package_of_two_files_is_described_once if {
	codes([module(titled, []), module([], [])]) == set()
}

test_public_rule_without_description_is_found if {
	codes([module(titled, [rule("open", [], [])])]) == {"meta.rule_undescribed"}
	codes([module(titled, [rule("open", [object.remove(described(5), ["title"])], [])])]) == {"meta.rule_undescribed"}
}

test_rule_of_two_bodies_is_described_once if {
	codes([module(titled, [rule("open", [described(5)], []), rule("open", [], [])])]) == set()
}

test_reason_without_code_is_found if {
	codes([module(titled, [rule("deny", [described(5)], [])])]) == {"meta.reason_uncoded"}
	codes([module(titled, [rule("ask", [described(5)], ["rego", "metadata", "rule"])])]) == {"meta.reason_uncoded"}
}

test_code_used_twice_is_found if {
	rules := [rule("deny", [coded(5, "p.a")], []), rule("deny", [coded(9, "p.a")], [])]
	codes([module(titled, rules)]) == {"meta.code_reused"}
}

of_connector(rules) := object.union(
	module(titled, rules),
	{"package": {"path": ref(["data", "countersign_pack", "p", "c"])}},
)

test_rules_of_a_pack_state_who_signs if {
	codes([of_connector([])]) == {"meta.pack_silent"}
	codes([of_connector([rule("demand", [described(5)], [])]), of_connector([])]) == set()
}

test_impure_call_is_found if {
	every called in [["time", "now_ns"], ["http", "send"], ["opa", "runtime"], ["rand", "intn"]] {
		codes([module(titled, [rule("open", [described(5)], called)])]) == {"meta.impure"}
	}
}

test_violation_says_where if {
	violations := meta.deny with input as {"modules": [module(titled, [rule("open", [], [])])]}
	violations == {{
		"code": "meta.rule_undescribed",
		"msg": "the public rule needs METADATA with title and description",
		"file": "p.rego",
		"row": 9,
	}}
}
