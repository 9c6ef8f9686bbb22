# METADATA
# title: Strictest
# description: >-
#   What fulfils all of several requirements, windows or tiers at once. None of it looks at the question.
package countersign.effect.strictest

import data.countersign.effect.config

_ranks := {"low": 1, "medium": 2, "high": 3}

# METADATA
# title: Highest tier
# description: The riskiest of some tiers. Undefined if one is no tier.
tier(tiers) := highest if {
	every one in tiers {
		_ranks[one]
	}
	some highest in tiers
	_ranks[highest] == max({_ranks[one] | some one in tiers})
}

# METADATA
# title: Shortest duration
# description: Of durations, one that lasts no longer than any other. Undefined if one is no duration.
duration(durations) := min({one | some one in durations; config.seconds(one) == least}) if {
	every one in durations {
		config.seconds(one)
	}
	least := min({config.seconds(one) | some one in durations})
}

# METADATA
# title: Narrowest window
# description: When all of some windows let it be carried out. Undefined if they name different times of the week.
window(windows) := one if {
	count(windows) == 1
	some one in windows
}

window(windows) := object.union_n([moment, {"within": within}, week]) if {
	count(windows) > 1
	not weeks_differ(windows)
	moments := {one.not_before | some one in windows}
	moment := {"not_before": max(moments) | count(moments) > 0}
	within := duration({object.get(one, "within", "P1D") | some one in windows})
	week := object.union_n([one | some one in _weeks(windows)])
}

# METADATA
# title: Different weeks
# description: Two windows name different times of the week.
weeks_differ(windows) if count(_weeks(windows)) > 1

_weeks(windows) := {{"between": one.between, "time_zone": one.time_zone} | some one in windows}

# METADATA
# title: Requirement
# description: >-
#   One requirement that fulfils all of some, with what is added: each addition may have `quorum`, `sign_with` and
#   `expires_in`. Of several requirements each is a class. A single one without additions stays as it is.
of(requirements, additions) := one if {
	count(requirements) == 1
	count(_tighter(additions)) == 0
	some one in requirements
}

of(requirements, additions) := _tightened(one, _tighter(additions)) if {
	count(requirements) == 1
	count(_tighter(additions)) > 0
	some one in requirements
}

of(requirements, additions) := _tightened(_joined(requirements), _tighter(additions)) if count(requirements) > 1

_tighter(additions) := {one |
	some one in additions
	count({"quorum", "sign_with", "expires_in"} & object.keys(one)) > 0
}

# What lets people do without others, or leaves them more time, stays only if all have it: a veto, since without one
# anybody may end it; break-glass, if it is the same.
_joined(requirements) := object.union_n([
	{
		"quorum": max({one.quorum | some one in requirements}),
		"groups": sort({group | some one in requirements; some group in one.groups}),
		"all_groups": false,
		"expires_in": duration({one.expires_in | some one in requirements}),
		"escalate_to": _leads(requirements),
		"classes": sort({_as_class(one) | some one in requirements} | {class |
			some one in requirements
			some class in one.classes
		}),
	},
	{"sign_with": way | some one in requirements; way := one.sign_with},
	{"veto": sort({group | some groups in vetoes; some group in groups}) | count(vetoes) > 0},
	{"pause_on_question": duration(pauses) | count(pauses) > 0},
	{"editors_may_sign": true | _of_all(requirements, "editors_may_sign") == {true}},
	{"break_glass": glass | count(glasses) == 1; some glass in glasses},
]) if {
	vetoes := _of_all(requirements, "veto")
	pauses := _of_all(requirements, "pause_on_question")
	glasses := _of_all(requirements, "break_glass")
}

# The values of a member; none if one of the requirements does not have it.
_of_all(requirements, member) := {one[member] | some one in requirements} if {
	every one in requirements {
		member in object.keys(one)
	}
} else := set()

_as_class(one) := {"groups": one.groups, "quorum": one.quorum, "all_groups": true} if one.all_groups == true

_as_class(one) := {"groups": sort(groups), "quorum": one.quorum, "all_groups": false} if {
	one.all_groups == false
	groups := {group | some group in one.groups} | {group | some entry in one.escalate_to; some group in entry.to}
}

_leads(requirements) := [{"after": sprintf("PT%dS", [seconds]), "to": sort(groups)} |
	some seconds in sort({config.seconds(entry.after) | some one in requirements; some entry in one.escalate_to})
	groups := {group |
		some one in requirements
		some entry in one.escalate_to
		config.seconds(entry.after) == seconds
		some group in entry.to
	}
]

# A requirement with what is added. Those who would be asked only after its end are not asked, and are in no class.
_tightened(base, additions) := object.union_n([object.remove(base, ["veto"]), in_time, _left(base, asked), signed]) if {
	ends := duration({base.expires_in} | {one.expires_in | some one in additions})
	in_time := {
		"quorum": max({base.quorum} | {one.quorum | some one in additions}),
		"expires_in": ends,
		"escalate_to": [entry | some entry in base.escalate_to; config.seconds(entry.after) < config.seconds(ends)],
	}
	asked := {group | some group in base.groups} | {group | some entry in in_time.escalate_to; some group in entry.to}
	signed := {"sign_with": way | some one in additions; way := one.sign_with}
}

_left(base, asked) := object.union(classes, veto) if {
	classes := {"classes": [_only(class, asked) | some class in base.classes] | base.classes}
	groups := [group | some group in base.veto; group in asked]
	veto := {"veto": groups | count(groups) > 0}
}

_only(class, asked) := object.union(class, {"groups": [group | some group in class.groups; group in asked]})
