# METADATA
# title: Conditions
# description: >-
#   Which limits hold for the effect: those of the tenant, by their `when`, and those that rules of packs state. What a
#   condition cannot read of the effect counts as met: a limit only ever asks for more.
# schemas:
#   - input: schema.input
package countersign.effect.conditions

import data.countersign.effect.config
import data.countersign.effect.packs

# METADATA
# title: Limits that hold
# description: All of them, each as [name, limit].
holding contains [name, limit] if some name, limit in matching

holding contains [stated.name, stated.limit] if some stated in packs.limits

# METADATA
# title: Limits of the tenant that hold
# description: The tenant's limits whose conditions are met and whose time has come, by name.
matching[name] := limit if {
	some name, limit in config.tenant.limits
	_has_begun(limit)
	holds(limit.when)
}

# METADATA
# title: Announced limits
# description: The tenant's limits that will hold for such an effect from a later moment on, by name.
announced[name] := limit if {
	some name, limit in config.tenant.limits
	not _has_begun(limit)
	holds(limit.when)
}

# METADATA
# title: Conditions that are met
# description: Each member of a `when` is met; what it does not name does not matter.
holds(when) if {
	_names(when, "connector", {input.effect.connector})
	_names(when, "operation", {input.effect.operation})
	_names(when, "runbook", {input.run.definition})
	_names(when, "requester", {input.actor.id})
	_names(when, "requester_kind", {input.actor.kind})
	_names(when, "requester_groups", {group | some group in input.actor.groups})
	_names(when, "agent", _agents)
	_fields_meet(when)
	_is_time(when)
}

_has_begun(limit) if not "effective_from" in object.keys(limit)

# Both are RFC 3339 in UTC; to the second, their characters are in the order of time.
_has_begun(limit) if substring(input.time, 0, 19) >= substring(limit.effective_from, 0, 19)

_names(when, member, _) if not member in object.keys(when)

_names(when, member, values) if {
	some value in when[member]
	value in values
}

# The caller that sent the run, and an agent that asks for itself.
_agents := {input.actor.submitted_by} | {input.actor.id | input.actor.kind == "agent"}

_fields_meet(when) if not "fields" in object.keys(when)

_fields_meet(when) if {
	every path, test in when.fields {
		_field_meets(test, object.get(input.effect.fields, split(path, "."), null))
	}
}

# Of a list, one item has to meet the whole test.
_field_meets(test, value) if {
	some one in _items(value)
	every kind, bound in test {
		_meets(kind, bound, one)
	}
}

_items(value) := value if {
	is_array(value)
	count(value) > 0
} else := [value]

_meets("over", bound, one) if number(one) > bound

_meets("over", _, one) if not number(one)

_meets("under", bound, one) if number(one) < bound

_meets("under", _, one) if not number(one)

_meets("in", bound, one) if one in bound

_meets("in", _, one) if type_name(one) in {"array", "null", "object"}

_meets("matches", bound, one) if {
	is_string(one)
	regex.is_valid(bound)
	regex.match(concat("", ["^(?s:", bound, ")$"]), one)
}

_meets("matches", _, one) if not is_string(one)

# A flaw by itself. To match by it would fail for all tenants.
_meets("matches", bound, _) if not regex.is_valid(bound)

# METADATA
# title: Number
# description: A number, or the decimal number that a text is, such as "5000.00". Undefined of anything else.
number(value) := value if is_number(value)

number(value) := to_number(value) if {
	is_string(value)
	regex.match(`^-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?$`, value)
}

_is_time(when) if not "time" in object.keys(when)

_is_time(when) if {
	some window in when.time.between
	_is_open(window, when.time.time_zone)
}

_is_open(window, zone) if {
	window.from < window.until
	_today(zone) in window.days
	_clock(zone) >= window.from
	_clock(zone) < window.until
}

# One that ends on the next day.
_is_open(window, zone) if {
	window.from >= window.until
	_today(zone) in window.days
	_clock(zone) >= window.from
}

_is_open(window, zone) if {
	window.from >= window.until
	_yesterday(zone) in window.days
	_clock(zone) < window.until
}

_now := time.parse_rfc3339_ns(input.time)

_clock(zone) := sprintf("%02d:%02d", [hour, minute]) if [hour, minute, _] := time.clock([_now, zone])

_today(zone) := _days[time.weekday([_now, zone])]

_yesterday(zone) := day if {
	some place, today in _week
	today == _today(zone)
	day := _week[(place + 6) % 7]
}

_days := {name: lower(substring(name, 0, 3)) |
	some name in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}

_week := ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
