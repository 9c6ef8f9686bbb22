# Five of seven, among them two of risk and one of legal, and only legal has a veto.
package countersign.effect.classes_test

import data.countersign.effect
import data.countersign.effect.config
import data.countersign.effect.given_test as given

committee := object.union(given.requirement, {
	"quorum": 5,
	"groups": ["risk", "legal", "operations"],
	"classes": [
		{"groups": ["risk"], "quorum": 2, "all_groups": false},
		{"groups": ["legal"], "quorum": 1, "all_groups": false},
	],
	"veto": ["legal"],
})

with_committee(patches) := {"t1": json.patch(
	given.tenant,
	[{"op": "add", "path": "/requirements/high", "value": json.patch(committee, patches)}],
)}

set_to(path, value) := [{"op": "add", "path": path, "value": value}]

answer(votes, patches) := decision if {
	decision := effect.decision with input as given.filing(votes)
		with data.countersign_config as with_committee(patches)
}

outcome(votes) := answer(votes, []).outcome

of(group, people) := [given.vote(person, group, "approve") | some person in people]

no(person, group) := given.vote(person, group, "reject")

five := array.concat(of("risk", ["r1", "r2"]), array.concat(of("legal", ["l1"]), of("operations", ["o1", "o2"])))

test_the_requirement_names_its_classes_and_who_has_a_veto if {
	asked := answer([], [])
	asked.outcome == "needs_approval"
	asked.requirement.classes == committee.classes
	asked.requirement.veto == ["legal"]
	plain := effect.decision with input as given.filing([]) with data.countersign_config as given.config
	{"classes", "veto"} & object.keys(plain.requirement) == set()
}

test_quorum_and_each_class_are_met if {
	outcome(five) == "allow"
	outcome(array.slice(five, 0, 4)) == "needs_approval"
	outcome(array.concat(array.slice(five, 0, 2), of("operations", ["o1", "o2", "o3"]))) == "needs_approval"
	outcome(array.concat(array.slice(five, 1, 5), of("operations", ["o3"]))) == "needs_approval"
}

test_one_person_counts_in_several_classes if {
	both := object.union(given.approve("r1"), {"groups": ["risk", "legal"]})
	outcome(array.concat([both], array.concat(of("risk", ["r2"]), of("operations", ["o1", "o2", "o3"])))) == "allow"
	twice := [both, object.union(both, {"groups": ["risk"]})]
	outcome(array.concat(twice, of("operations", ["o1", "o2", "o3", "o4"]))) == "needs_approval"
}

test_each_group_of_a_class_by_a_person_of_its_own if {
	each := set_to("/classes", [{"groups": ["risk", "legal"], "quorum": 1, "all_groups": true}])
	answer(five, each).outcome == "allow"
	both := object.union(given.approve("r1"), {"groups": ["risk", "legal"]})
	others := of("operations", ["o1", "o2", "o3", "o4"])
	answer(array.concat([both], others), each).outcome == "needs_approval"
	answer(array.concat(of("risk", ["r2"]), array.concat([both], others)), each).outcome == "allow"
}

test_those_next_in_line_count_in_a_class if {
	seniors := set_to("/classes", [{"groups": ["senior-compliance"], "quorum": 1, "all_groups": false}])
	answer(five, seniors).outcome == "needs_approval"
	answer(array.concat(five, of("senior-compliance", ["s1"])), seniors).outcome == "allow"
}

test_only_a_veto_group_ends_it_with_a_no if {
	outcome([no("l9", "legal")]) == "deny"
	outcome(array.concat(five, [no("l9", "legal")])) == "deny"
	answer([no("l9", "legal")], []).reasons[0].code == "approvals.rejected"
	outcome([no("r9", "risk")]) == "needs_approval"
	outcome(array.concat(five, [no("r9", "risk")])) == "allow"
	outcome(array.concat(five, [given.vote("r9", "risk", "changes")])) == "allow"
	outcome(array.concat(five, [given.vote("l9", "legal", "changes")])) == "deny"
	answer([no("r9", "risk")], [{"op": "remove", "path": "/veto"}]).outcome == "deny"
}

test_a_no_without_veto_is_no_approval if {
	outcome(array.concat(array.slice(five, 0, 4), [no("o9", "operations")])) == "needs_approval"
	outcome(array.concat(array.slice(five, 1, 5), [no("r1", "risk")])) == "needs_approval"
	outcome(array.concat(array.slice(five, 0, 4), [json.remove(given.approve("o2"), ["verdict"])])) == "needs_approval"
}

test_nobody_vetoes_who_may_not_sign if {
	outcome(array.concat(five, [no("ann", "legal")])) == "allow"
	by_both := object.union(no("r9", "risk"), {"groups": ["risk", "legal"]})
	outcome(array.concat(five, [by_both])) == "deny"
}

test_break_glass_does_without_classes_and_not_against_a_veto if {
	glass := set_to("/break_glass", {
		"groups": ["commanders"], "at_most": 2, "within": "P1D",
		"tell": [], "review_by": ["legal"], "review_within": "P3D",
	})
	used := object.union(given.vote("eve", "commanders", "approve"), {"break_glass": {"ticket": "INC1", "nth": 1}})
	answer([used], glass).outcome == "allow"
	answer([used, no("r9", "risk")], glass).outcome == "allow"
	answer([used, no("l9", "legal")], glass).outcome == "deny"
}

flaws(patches) := found if {
	found := config.flaws with input as given.question with data.countersign_config as with_committee(patches)
}

test_a_committee_has_no_flaws if {
	flaws([]) == set()
}

test_groups_that_nobody_asks_are_named if {
	flaws(set_to("/veto", ["legal", "board"])) == {"requirements.high.veto: board is in neither groups nor escalate_to"}
	strange := set_to("/classes/1/groups", ["audit"])
	where := "requirements.high.classes.1.groups: audit is in neither groups nor escalate_to"
	flaws(strange) == {where}
	config.problems == {concat("", ["t1: ", where])} with data.countersign_config as with_committee(strange)
	flaws(set_to("/veto", ["senior-compliance"])) == set()
}

test_what_cannot_be_read_is_a_flaw_and_lets_nothing_pass if {
	every change in [
		["/classes", null], ["/classes", "risk"], ["/classes", {}], ["/classes/0", "risk"], ["/classes/0/groups", []],
		["/classes/0/groups", "risk"], ["/classes/0/quorum", 0], ["/classes/0/quorum", "2"],
		["/classes/0/quorum", null], ["/classes/0/all_groups", "no"], ["/veto", null], ["/veto", []],
		["/veto", "legal"], ["/veto", false], ["/veto", {}],
	] {
		count(flaws(set_to(change[0], change[1]))) > 0
		answer(five, set_to(change[0], change[1])).outcome == "deny"
	}
}

test_more_than_there_may_be_is_a_flaw if {
	every change in [
		["/classes", []], ["/classes/0/quorum", 1001], ["/classes/0/quorum", 1.5], ["/classes/0/name", "risk"],
		["/classes", [one | some _ in numbers.range(1, 21); one := committee.classes[0]]],
		["/veto", ["legal", "legal"]],
	] {
		count(flaws(set_to(change[0], change[1]))) > 0
	}
	few := [sprintf("g%d", [number]) | some number in numbers.range(1, 9)]
	nine := {"groups": few, "quorum": 1, "all_groups": true}
	patches := array.concat(set_to("/groups", few), array.concat(set_to("/classes", [nine]), set_to("/veto", ["g1"])))
	count(flaws(patches)) > 0
	flaws(array.concat(patches, set_to("/classes/0/all_groups", false))) == set()
}

test_more_groups_than_eight_are_never_met if {
	groups := [sprintf("g%d", [number]) | some number in numbers.range(1, 9)]
	votes := [given.vote(group, group, "approve") | some group in groups]
	nine := [{"op": "add", "path": "/groups", "value": groups}, {"op": "remove", "path": "/veto"}]
	class := {"groups": groups, "quorum": 1, "all_groups": true}
	answer(votes, array.concat(nine, set_to("/classes", [class]))).outcome == "needs_approval"
	eight := object.union(class, {"groups": array.slice(groups, 0, 8)})
	answer(votes, array.concat(nine, set_to("/classes", [eight]))).outcome == "allow"
}
