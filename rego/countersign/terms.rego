# METADATA
# title: Terms
# description: >-
#   Under which terms people sign: those of each requirement that is demanded, and what limits and rules of packs add.
#   Of all of them the strictest holds.
# schemas:
#   - input: schema.input
package countersign.effect.terms

import data.countersign.effect.approvals
import data.countersign.effect.conditions
import data.countersign.effect.config
import data.countersign.effect.packs
import data.countersign.effect.reasons

# METADATA
# title: Demanded requirements
# description: The names of the tenant's requirements that have to be fulfilled, all of them.
names contains approvals.demand.requirement if approvals.demand.requirement != "none"

names contains limit.requirement if some limit in conditions.matching

# METADATA
# title: Nobody signs
# description: Neither the tier nor a pack nor a limit asks for signatures.
unsigned if {
	approvals.demand.requirement == "none"
	count(names) == 0
}

# METADATA
# title: Additions
# description: >-
#   What the limits that hold, and rules of packs, add to a requirement: each an object that may have `quorum`,
#   `exclude`, `sign_with`, `expires_in` and `execute`.
additions contains limit if some limit in conditions.matching

additions contains rules.demand.terms if some rules in packs.concerned

# METADATA
# title: Stated
# description: >-
#   The requirement, without who is excluded. One that is demanded alone, and to which nothing is added, stands as the
#   tenant states it. Several become one, of which each is a class. Undefined where the tenant does not state one.
stated := _alone if count(_tighter) == 0

stated := _tightened(_alone) if count(_tighter) > 0

stated := _tightened(_joined) if count(names) > 1

# METADATA
# title: Fields that name people
# description: The fields in which those are named who may not sign.
exclude contains path if {
	some one in additions
	some path in one.exclude
}

# METADATA
# title: People who are named
# description: Those of the fields, as the directory knows them.
named contains person if {
	some path in exclude
	some person in input.named[path]
}

# METADATA
# title: Permitted
# description: Of each field that names who may not sign, everybody is known; it does not matter where nobody signs.
permitted if count(names) == 0

permitted if count(exclude) == 0

permitted if {
	every path in exclude {
		is_array(input.named[path])
		every person in input.named[path] {
			is_string(person)
			person != ""
		}
	}
}

# METADATA
# title: Asked back
# description: The member `names` of an answer, with the fields whose people have to be looked up before policy can decide.
default asked_back := {}

asked_back := {"names": sort(exclude)} if {
	not permitted
	not "named" in object.keys(input)
}

# METADATA
# title: People not known
# description: Denies what people must sign while it is not known who of them may not.
# custom:
#   short_name: terms.people_unknown
#   failure_msg: The directory does not know everybody who is named as having no part in this decision
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	not permitted
}

# METADATA
# title: Limits that apply
# description: Says which limits of the tenant apply, each with its comment.
# custom:
#   short_name: limits.applies
#   failure_msg: A limit of the tenant applies
applied contains {"code": rule.custom.short_name, "msg": concat(": ", [name, limit.comment])} if {
	rule := rego.metadata.rule()
	some name, limit in conditions.matching
}

# METADATA
# title: Limits to come
# description: Says which limits will apply to such an effect, and from when on.
# custom:
#   short_name: limits.announced
#   failure_msg: A limit of the tenant will apply
announced contains {"code": rule.custom.short_name, "msg": msg} if {
	rule := rego.metadata.rule()
	some name, limit in conditions.announced
	msg := sprintf("From %s on: %s: %s", [limit.effective_from, name, limit.comment])
}

# METADATA
# title: Reasons
# description: What is said about limits beside the other reasons of an answer; sorted.
told := sort(applied | announced)

# METADATA
# title: Rules behind what is told
# description: Their names, PATH#CODE each.
told_rules := {sprintf("countersign.effect.terms.%s#%s", [_rule_of[one.code], one.code]) | some one in told}

# METADATA
# title: Where the terms are stated
# description: The configuration's members that state the requirements and the limits.
stated_at := {concat(".", ["countersign_config", input.tenant, "requirements", name]) | some name in names} | {at |
	some name, _ in conditions.matching
	at := concat(".", ["countersign_config", input.tenant, "limits", name])
}

# METADATA
# title: Shortest duration
# description: Of durations, one that lasts no longer than any other.
shortest(durations) := min({one | some one in durations; config.seconds(one) == least}) if {
	least := min({config.seconds(one) | some one in durations})
}

_rule_of := {"limits.applies": "applied", "limits.announced": "announced"}

_alone := requirement if {
	count(names) == 1
	some name in names
	requirement := config.tenant.requirements[name]
	config.is_requirement(requirement)
}

_required := {requirement |
	some name in names
	requirement := config.tenant.requirements[name]
}

# What is added that a requirement has a member for.
_tighter contains one if {
	some one in additions
	some member in ["quorum", "sign_with", "expires_in"]
	member in object.keys(one)
}

# Every requirement as a class; of all else the strictest. What lets people do without others, or leaves them more time,
# stays only if all have it: a veto, since without one anybody may end it; break-glass, if it is the same.
_joined := object.union_n([
	{
		"quorum": max({one.quorum | some one in _required}),
		"groups": sort({group | some one in _required; some group in one.groups}),
		"all_groups": false,
		"expires_in": shortest({one.expires_in | some one in _required}),
		"escalate_to": _joined_leads,
		"classes": sort({_as_class(one) | some one in _required} | {class |
			some one in _required
			some class in one.classes
		}),
	},
	{"sign_with": way | some one in _required; way := one.sign_with},
	{"veto": sort({group | some vetoes in _of_all("veto"); some group in vetoes}) | count(_of_all("veto")) > 0},
	{"pause_on_question": shortest(_of_all("pause_on_question")) | count(_of_all("pause_on_question")) > 0},
	{"editors_may_sign": true | _of_all("editors_may_sign") == {true}},
	{"break_glass": glass | count(_of_all("break_glass")) == 1; some glass in _of_all("break_glass")},
]) if {
	count(names) > 1
	every name in names {
		config.is_requirement(config.tenant.requirements[name])
	}
}

# The values of a member; none if one of the requirements does not have it.
_of_all(member) := {one[member] | some one in _required} if {
	every one in _required {
		member in object.keys(one)
	}
} else := set()

_as_class(one) := {"groups": one.groups, "quorum": one.quorum, "all_groups": true} if one.all_groups == true

_as_class(one) := {"groups": sort(groups), "quorum": one.quorum, "all_groups": false} if {
	one.all_groups == false
	groups := {group | some group in one.groups} | {group | some entry in one.escalate_to; some group in entry.to}
}

_joined_leads := [{"after": sprintf("PT%dS", [seconds]), "to": sort(groups)} |
	some seconds in sort({config.seconds(entry.after) | some one in _required; some entry in one.escalate_to})
	groups := {group |
		some one in _required
		some entry in one.escalate_to
		config.seconds(entry.after) == seconds
		some group in entry.to
	}
]

# A requirement with what is added. Those who would be asked only after its end are not asked, and are in no class.
_tightened(base) := object.union_n([object.remove(base, ["veto"]), in_time, _left_of(base, asked), signed_with]) if {
	ends := shortest({base.expires_in} | {one.expires_in | some one in _tighter})
	in_time := {
		"quorum": max({base.quorum} | {one.quorum | some one in _tighter}),
		"expires_in": ends,
		"escalate_to": [entry | some entry in base.escalate_to; config.seconds(entry.after) < config.seconds(ends)],
	}
	asked := {group | some group in base.groups} | {group | some entry in in_time.escalate_to; some group in entry.to}
	signed_with := {"sign_with": way | some one in _tighter; way := one.sign_with}
}

_left_of(base, asked) := object.union(classes, vetoes) if {
	classes := {"classes": [_only(class, asked) | some class in base.classes] | base.classes}
	veto := [group | some group in base.veto; group in asked]
	vetoes := {"veto": veto | count(veto) > 0}
}

_only(class, asked) := object.union(class, {"groups": [group | some group in class.groups; group in asked]})
