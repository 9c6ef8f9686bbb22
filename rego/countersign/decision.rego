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
import data.countersign.effect.limits
import data.countersign.effect.packs
import data.countersign.effect.tiers
import data.countersign.effect.windows

# METADATA
# title: Decision
# description: The answer, with every member present; the default stands when anything in it is undefined.
# entrypoint: true
default decision := {
	"outcome": "deny",
	"tier": "high",
	"requirement": null,
	"reasons": [{"code": "policy.undefined", "msg": "The policy gives no answer for this effect"}],
	"obligations": [],
}

decision := {
	"outcome": "deny",
	"tier": tiers.effective,
	"requirement": null,
	"reasons": sort(denials),
	"obligations": [],
} if {
	count(denials) > 0
}

decision := {
	"outcome": "needs_approval",
	"tier": tiers.effective,
	"requirement": approvals.requirement,
	"reasons": [approvals.demand.reason],
	"obligations": [],
} if {
	permitted
	approvals.pending
}

decision := object.union(windows.said, {
	"outcome": "allow",
	"tier": tiers.effective,
	"requirement": null,
	"reasons": approvals.grounds,
	"obligations": [],
}) if {
	permitted
	approvals.granted
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
# description: The reasons of every module that denies.
denials := union({
	approvals.deny,
	config.deny,
	connectors.deny,
	duties.deny,
	limits.deny,
	packs.denied,
	packs.deny,
	tiers.deny,
})

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
