# METADATA
# title: Decision with limits
# description: >-
#   The answer where there are limits: that of the other rules by a configuration that the limits have changed. Of all
#   that limits and requirements say the strictest holds; of the most writes, the limit that is about the fewest effects.
# schemas:
#   - input: schema.input
package countersign.effect.limited

import data.countersign.effect as unlimited
import data.countersign.effect.budgets
import data.countersign.effect.conditions
import data.countersign.effect.config
import data.countersign.effect.packs
import data.countersign.effect.reasons
import data.countersign.effect.strictest

# METADATA
# title: Decision
# description: The answer. Where nobody could tell which limits hold, or two contradict each other, it is a denial.
decision := _denied("unreadable", unreadable) if {
	not _can_be_read
} else := _said_of(unlimited.core) if {
	count(conditions.holding) == 0
} else := _denied("contradiction", contradiction) if {
	strictest.weeks_differ(_windows)
} else := budgets.refusal if {
	count(budgets.unread) > 0
} else := _asked_by_limits if {
	count(_demanded) > 0
	_is_unsigned(_by_limits)
} else := _said_of(_by_limits) if {
	_by_limits
} else := _denied("unreadable", unreadable)

# METADATA
# title: Limits that cannot be read
# description: Denies what limits may hold for that are of a wrong kind, or ask for a requirement that is not there.
# custom:
#   short_name: limits.unreadable
#   failure_msg: The limits of the tenant, or of a pack, cannot be read
unreadable := reasons.of(rego.metadata.rule())

# METADATA
# title: Limits that contradict each other
# description: Denies what is to be carried out at different times of the week.
# custom:
#   short_name: limits.contradiction
#   failure_msg: Limits of the tenant name different times of the week to carry this out
contradiction := reasons.of(rego.metadata.rule())

# METADATA
# title: Demand of limits
# description: Says that a limit asks for signatures where neither the tier nor a pack does.
# custom:
#   short_name: limits.demand
#   failure_msg: A limit of the tenant asks for signatures
demand := reasons.of(rego.metadata.rule())

# METADATA
# title: Limits that apply
# description: Says which limits apply, each with its comment.
# custom:
#   short_name: limits.applies
#   failure_msg: A limit of the tenant applies
applied contains {"code": rule.custom.short_name, "msg": concat(": ", [name, limit.comment])} if {
	rule := rego.metadata.rule()
	some [name, limit] in conditions.holding
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
	msg := sprintf("from %s on, %s: %s", [limit.effective_from, name, limit.comment])
}

_denied(rule, reason) := {
	"outcome": "deny",
	"tier": "high",
	"requirement": null,
	"reasons": [reason],
	"rules": [sprintf("countersign.effect.limited.%s#%s", [rule, reason.code])],
	"obligations": [],
}

_is_unsigned(answer) if {
	answer.outcome == "allow"
	count(answer.reasons) == 0
}

# An answer that asks people says which limits apply, and which will; one that allows, who has to be told, and what it
# takes of budgets.
_said_of(answer) := answer if answer.outcome == "deny"

_said_of(answer) := object.union_n([answer, {"obligations": _obligations}, budgets.taken]) if answer.outcome == "allow"

_said_of(answer) := object.union(answer, {
	"reasons": array.concat(answer.reasons, _told),
	"rules": sort({rule | some rule in answer.rules} | _behind),
}) if {
	answer.outcome == "needs_approval"
}

# What nobody would have to sign, if it were not for limits, is asked about as of the high tier, with their requirement.
_asked_by_limits := object.union(_said_of(answer), {"tier": _by_limits.tier}) if {
	answer := _as_high
	answer.outcome != "needs_approval"
} else := object.union(answer, {
	"tier": _by_limits.tier,
	"reasons": array.concat([demand], _told),
	"rules": sort({concat("#", ["countersign.effect.limited.demand", demand.code])} | _behind),
}) if {
	answer := _as_high
}

_obligations := [{"type": "notification", "id": name, "to": limit.notify, "body": limit.comment} |
	some [name, limit] in conditions.holding
	limit.notify
]

_told := sort(((applied | announced) | budgets.spent))

_behind := union({
	{concat("#", ["countersign.effect.budgets.spent", one.code]) | some one in budgets.spent},
	{concat("#", ["countersign.effect.limited.applied", one.code]) | some one in applied},
	{concat("#", ["countersign.effect.limited.announced", one.code]) | some one in announced},
	{concat(".", ["countersign_config", input.tenant, "limits", name]) | some name, _ in conditions.matching},
	{concat(".", ["countersign_config", input.tenant, "requirements", name]) | some name in _demanded},
	{sprintf("countersign_pack.%s.%s.limits#limits.applies", [stated.pack, input.effect.connector]) |
		some stated in packs.limits
	},
})

_by_limits := answer if {
	tenants := {input.tenant: _tenant}
	answer := unlimited.core with data.countersign_config as tenants
}

_as_high := answer if {
	asked := strictest.of(_named(_demanded), _matching)
	changed := object.union(object.remove(_tenant, ["requirements"]), {
		"requirements": {"high": asked, concat("_", ["policy", input.effect.operation]): asked},
		"connectors": {input.effect.connector: {"operations": {input.effect.operation: {"tier": "high"}}}},
	})
	tenants := {input.tenant: changed}
	answer := unlimited.core with data.countersign_config as tenants
}

# The tenant's configuration as the limits change it; what it lists stays all that may be done.
_tenant := object.union(object.remove(config.tenant, ["limits", "requirements"]), {
	"connectors": _connectors,
	"exclude": sort({path | some limit in _matching; some path in limit.exclude}),
	"requirements": {name: strictest.of(_named({name} | _demanded), _matching) |
		some name, _ in config.tenant.requirements
	},
	"writes_per_run": _writes,
})

_connectors := {} if not _operation

_connectors := {input.effect.connector: {"operations": {input.effect.operation: object.union(tier, window)}}} if {
	tier := {"tier": strictest.tier({_operation.tier} | {limit.tier | some limit in _matching})}
	window := {"execute": strictest.window(_windows) | count(_windows) > 0}
}

_operation := config.tenant.connectors[input.effect.connector].operations[input.effect.operation]

_windows contains _operation.execute

_windows contains limit.execute if some limit in _matching

_writes := config.tenant.writes_per_run if count(_closeness) == 0

_writes := min({limit.writes_per_run | some limit in _matching; count(limit.when) == max(_closeness)}) if {
	count(_closeness) > 0
}

_closeness := {count(limit.when) | some limit in _matching; limit.writes_per_run}

_demanded := {limit.requirement | some [name, limit] in conditions.holding; budgets.lets_ask(name, limit)}

# Undefined if the tenant does not state one of them.
_named(names) := {config.tenant.requirements[name] | some name in names} if {
	every name in names {
		config.is_requirement(config.tenant.requirements[name])
	}
}

_matching := {limit | some [_, limit] in conditions.holding}

_can_be_read if {
	not packs.limits_unreadable
	limits := object.get(config.tenant, "limits", {})
	is_object(limits)
	every limit in limits {
		is_object(limit.when)
		is_string(limit.comment)
		is_array(object.get(limit, "exclude", []))
		is_number(object.get(limit, "writes_per_run", 0))
		is_object(object.get(limit, "budget", {}))
	}
}
