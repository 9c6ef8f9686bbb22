# METADATA
# title: Decision on one effect
# description: >-
#   The entrypoints: for one effect, and for a list. An effect is allowed only when every module says so outright; whatever is undefined denies.
# schemas:
#   - input: schema.input
package countersign.effect

import data.countersign.effect.approvals
import data.countersign.effect.config
import data.countersign.effect.connectors
import data.countersign.effect.duties
import data.countersign.effect.limited
import data.countersign.effect.limits
import data.countersign.effect.packs
import data.countersign.effect.tiers
import data.countersign.effect.windows

# METADATA
# title: Decision
# description: The answer to one question, with the limits of the tenant and of packs where there are some.
# entrypoint: true
decision := limited.decision if {
	_has_limits
} else := core

# METADATA
# title: Decision without limits
# description: >-
#   The answer, with every member present, and `rules` where there are any behind it; the default stands when anything in
#   it is undefined. The strictest answer comes first. They are one rule, since OPA forgets between rules what it has
#   found out about a question of a list.
default core := {
	"outcome": "deny",
	"tier": "high",
	"requirement": null,
	"reasons": [{"code": "policy.undefined", "msg": "The policy gives no answer for this effect"}],
	"rules": ["countersign.effect.decision#policy.undefined"],
	"obligations": [],
}

core := object.union(approvals.asked_back, {
	"outcome": "deny",
	"tier": tiers.effective,
	"requirement": null,
	"reasons": sort(denials),
	"rules": denial_rules,
	"obligations": [],
}) if {
	count(denials) > 0
} else := {
	"outcome": "needs_approval",
	"tier": tiers.effective,
	"requirement": approvals.requirement,
	"reasons": [approvals.demand.reason],
	"rules": approvals.demand_rules,
	"obligations": [],
} if {
	permitted
	approvals.pending
} else := object.union(windows.said, {
	"outcome": "allow",
	"tier": tiers.effective,
	"requirement": null,
	"reasons": [],
	"obligations": [],
}) if {
	approvals.demand.requirement == "none"
	permitted
} else := object.union(windows.said, {
	"outcome": "allow",
	"tier": tiers.effective,
	"requirement": null,
	"reasons": [approvals.signed],
	"rules": ["countersign.effect.approvals.signed#approvals.fulfilled"],
	"obligations": [],
}) if {
	permitted
	approvals.unopposed
	approvals.fulfilled
}

# METADATA
# title: Decisions
# description: The answers to a list of questions, each under its place in the list, so that none is taken for another's.
# entrypoint: true
# schemas:
#   - input: schema.questions
decisions[place] := answer if {
	some place, question in input
	answer := decision with input as question
}

# METADATA
# title: Denials
# description: The reasons of every module that denies, and those of packs.
denials := {reason | some reasons in _denials; some reason in reasons} | packs.denied

# METADATA
# title: Rules that deny
# description: Their names, PATH#CODE each, sorted.
denial_rules := sort(packs.denial_rules | {concat("#", [path, reason.code]) |
	some path, reasons in _denials
	some reason in reasons
})

# Of any kind, so that what is wrong is not taken for nothing.
_has_limits if type_name(data.countersign_config[input.tenant].limits)

_has_limits if {
	some rules in packs.concerned
	type_name(rules.limits)
}

_denials := {
	"countersign.effect.approvals.deny": approvals.deny,
	"countersign.effect.config.deny": config.deny,
	"countersign.effect.connectors.deny": connectors.deny,
	"countersign.effect.duties.deny": duties.deny,
	"countersign.effect.limits.deny": limits.deny,
	"countersign.effect.packs.deny": packs.deny,
	"countersign.effect.tiers.deny": tiers.deny,
}

# METADATA
# title: Permitted
# description: >-
#   Every module vouches for the effect. Asked for beside the absence of denials, since a denial whose body fails is
#   undefined and would not be missed.
permitted if {
	count(denials) == 0
	config.valid
	connectors.permitted
	duties.permitted
	limits.permitted
	packs.permitted
	tiers.permitted
}
