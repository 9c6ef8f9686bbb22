# METADATA
# title: Tenant configuration
# description: What data says about the tenant. A tenant without a complete configuration may do nothing.
# schemas:
#   - input: schema.input
package countersign.effect.config

import data.countersign.effect.reasons
import data.countersign.effect.shape

# METADATA
# title: Tenant
# description: The configuration of the tenant that asks.
tenant := data.countersign_config[input.tenant]

# METADATA
# title: Valid
# description: >-
#   What every question reads of the configuration is of the demanded kind, and so is what this one reads. The whole of
#   it is looked at once for each policy, as `flaws`: to do so with every question would take half of its time.
valid if {
	is_number(tenant.writes_per_run)
	is_object(tenant.connectors)
	is_object(tenant.requirements.high)
	not _misfit
}

# METADATA
# title: Requirement that can be read
# description: A requirement without which nobody could say whether enough have signed is none.
is_requirement(entry) if {
	is_number(entry.quorum)
	entry.quorum >= 1
	is_array(entry.groups)
	count(entry.groups) > 0
	is_boolean(entry.all_groups)
	is_string(entry.expires_in)
	is_array(entry.escalate_to)
	every later in entry.escalate_to {
		is_string(later.after)
		is_array(later.to)
	}
	_rest_can_be_read(entry)
	is_string(object.get(entry, "pause_on_question", ""))
}

# METADATA
# title: Flaws
# description: >-
#   What is wrong with the configuration of the tenant that asks. Asked for by itself, once for each policy: no answer
#   counts for a tenant whose configuration has flaws.
flaws contains fault if some fault in _faults(tenant)

# METADATA
# title: Problems
# description: What is wrong with the configuration of any tenant; asked for when policies are loaded.
problems contains sprintf("%s: %s", [name, fault]) if {
	some name, candidate in data.countersign_config
	some fault in _faults(candidate)
}

# METADATA
# title: Seconds
# description: >-
#   How long a duration lasts. Undefined of what is none: that is a flaw by itself, and to_number would fail for all
#   tenants.
seconds(text) := to_number(trim(text, "PTDHMS")) * {"D": 86400, "H": 3600, "M": 60, "S": 1}[unit] if {
	regex.match(shape.duration.pattern, text)
	unit := substring(text, count(text) - 1, 1)
}

# METADATA
# title: Tenant unknown
# description: Denies whatever a tenant without configuration asks.
# custom:
#   short_name: config.tenant_unknown
#   failure_msg: The policy data has no configuration for this tenant
deny contains reasons.of(rego.metadata.rule()) if not tenant

# METADATA
# title: Configuration invalid
# description: Denies whatever a tenant asks whose configuration is incomplete or wrong.
# custom:
#   short_name: config.invalid
#   failure_msg: The tenant's configuration in the policy data is incomplete or wrong
deny contains reasons.of(rego.metadata.rule()) if {
	tenant
	not valid
}

_faults(configuration) := union({
	{problem.error | some problem in json.match_schema(configuration, shape.tenant)[1]},
	_late(configuration),
	_shut(configuration),
	_unread(configuration),
	_limits_astray(configuration),
	_unasked(configuration),
})

# Most requirements have none of these, which is found out first.
_rest_can_be_read(entry) if count(object.keys(entry) & {"break_glass", "classes", "veto"}) == 0

_rest_can_be_read(entry) if {
	_break_glass_can_be_read(entry)
	_classes_can_be_read(entry)
	_veto_can_be_read(entry)
}

_break_glass_can_be_read(entry) if not "break_glass" in object.keys(entry)

_break_glass_can_be_read(entry) if {
	is_array(entry.break_glass.groups)
	is_number(entry.break_glass.at_most)
	is_string(entry.break_glass.within)
	is_array(entry.break_glass.tell)
	is_array(entry.break_glass.review_by)
	is_string(entry.break_glass.review_within)
}

_classes_can_be_read(entry) if not "classes" in object.keys(entry)

_classes_can_be_read(entry) if {
	is_array(entry.classes)
	every class in entry.classes {
		_class_can_be_read(class)
	}
}

_veto_can_be_read(entry) if not "veto" in object.keys(entry)

_veto_can_be_read(entry) if {
	is_array(entry.veto)
	count(entry.veto) > 0
}

_class_can_be_read(class) if {
	is_array(class.groups)
	count(class.groups) > 0
	is_number(class.quorum)
	class.quorum >= 1
	is_boolean(class.all_groups)
}

_misfit if {
	entry := tenant.connectors[input.effect.connector]
	not _is_connector(entry)
}

_misfit if {
	entry := tenant.connectors[input.effect.connector].operations[input.effect.operation]
	not _is_operation(entry)
}

_is_connector(entry) if {
	is_boolean(entry.chat)
	is_object(entry.operations)
}

_is_operation(entry) if {
	entry.tier in {"low", "medium", "high"}
	is_array(entry.targets)
	every target in entry.targets {
		is_string(target)
	}
	_window_can_be_read(entry)
}

_window_can_be_read(entry) if not _has_window(entry)

_window_can_be_read(entry) if is_object(entry.execute)

_has_window(entry) if type_name(entry.execute)

# Targets that are no patterns, and would match nothing.
_unread(configuration) := {sprintf("connectors.%s.operations.%s.targets.%d: %s is no pattern", path) |
	some connector, entry in configuration.connectors
	some operation, listed in entry.operations
	some place, target in listed.targets
	is_string(target)
	not _is_pattern(target)
	path := [connector, operation, place, json.marshal(target)]
}

_is_pattern(text) if is_boolean(glob.match(text, ["/"], ""))

# Windows that never open, and of the chat, whose word has no time of its own.
_shut(configuration) := {sprintf("connectors.%s.operations.%s.execute%s", [connector, operation, why]) |
	some connector, entry in configuration.connectors
	some operation, listed in entry.operations
	some why in array.concat([flaw | entry.chat; listed.execute; flaw := _of_chat], _empty_windows(listed.execute))
} | {sprintf("limits.%s.execute%s", [name, why]) |
	some name, limit in configuration.limits
	chat := [connector | some connector in limit.when.connector; configuration.connectors[connector].chat]
	some why in array.concat([_of_chat | count(chat) > 0; limit.execute], _empty_windows(limit.execute))
}

_of_chat := ": word in the chat has no window"

_empty_windows(execute) := [sprintf(".between.%d: it is empty", [place]) |
	some place, window in execute.between
	window.from == window.until
]

# Limits that name what the tenant does not have: they would hold for nothing.
_limits_astray(configuration) := {sprintf("limits.%s.%s", [name, why]) |
	some name, limit in configuration.limits
	some why in _astray(configuration, limit)
}

_astray(configuration, limit) := union({
	{sprintf("when.connector: %s is not listed", [connector]) |
		some connector in limit.when.connector
		not configuration.connectors[connector]
	},
	{sprintf("when.operation: %s is not listed", [operation]) |
		some operation in limit.when.operation
		every connector in limit.when.connector {
			not configuration.connectors[connector].operations[operation]
		}
	},
	{sprintf("requirement: %s is not among the requirements", [limit.requirement]) |
		not configuration.requirements[limit.requirement]
	},
	{"budget.over: approve needs a requirement to ask for" |
		limit.budget.over == "approve"
		not limit.requirement
	},
	{sprintf("budget: of the chat (%s) nothing is counted", [connector]) |
		limit.budget
		some connector in limit.when.connector
		configuration.connectors[connector].chat
	},
	{sprintf("when.fields.%s.matches: it is no regular expression", [path]) |
		some path, test in limit.when.fields
		is_string(test.matches)
		not regex.is_valid(test.matches)
	},
})

# Who is next in line, but would be asked no later than the one before, or when there is no time any more.
_late(configuration) := {sprintf("requirements.%s.escalate_to.%d.after: %s", [name, place, why]) |
	some name, entry in configuration.requirements
	some place, later in entry.escalate_to
	after := seconds(later.after)
	some why in array.concat(
		[flaw | after >= seconds(entry.expires_in); flaw := "it is not before expires_in"],
		[flaw | after <= seconds(entry.escalate_to[place - 1].after); flaw := "it is not later than the entry before"],
	)
}

# Groups of a class, or with a veto, that nobody asks: none of their people could ever sign, or say no.
_unasked(configuration) := {sprintf("requirements.%s.%s: %s is in neither groups nor escalate_to", [name, path, group]) |
	some name, entry in configuration.requirements
	some [path, groups] in array.concat(
		[["veto", listed] | listed := entry.veto],
		[[sprintf("classes.%d.groups", [place]), class.groups] | some place, class in entry.classes],
	)
	some group in groups
	not group in entry.groups
	not group in [lead | some later in entry.escalate_to; some lead in later.to]
}
