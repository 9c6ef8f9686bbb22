# METADATA
# title: Tenant configuration
# description: What data says about the tenant. A tenant without a complete configuration may do nothing.
# schemas:
#   - input: schema.input
package countersign.effect.config

import data.countersign.effect.reasons

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
flaws contains problem.error if some problem in json.match_schema(tenant, _shape)[1]

flaws contains late if some late in _late(tenant)

flaws contains shut if some shut in _shut(tenant)

flaws contains unread if some unread in _unread(tenant)

flaws contains unasked if some unasked in _unasked(tenant)

# METADATA
# title: Problems
# description: What is wrong with the configuration of any tenant; asked for when policies are loaded.
problems contains sprintf("%s: %s", [name, problem.error]) if {
	some name, candidate in data.countersign_config
	some problem in json.match_schema(candidate, _shape)[1]
}

problems contains sprintf("%s: %s", [name, late]) if {
	some name, candidate in data.countersign_config
	some late in _late(candidate)
}

problems contains sprintf("%s: %s", [name, shut]) if {
	some name, candidate in data.countersign_config
	some shut in _shut(candidate)
}

problems contains sprintf("%s: %s", [name, unread]) if {
	some name, candidate in data.countersign_config
	some unread in _unread(candidate)
}

problems contains sprintf("%s: %s", [name, unasked]) if {
	some name, candidate in data.countersign_config
	some unasked in _unasked(candidate)
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

_window_can_be_read(entry) if not "execute" in object.keys(entry)

_window_can_be_read(entry) if is_object(entry.execute)

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
	some why in array.concat(
		[flaw | entry.chat; listed.execute; flaw := ": word in the chat has no window"],
		[flaw |
			some place, window in listed.execute.between
			window.from == window.until
			flaw := sprintf(".between.%d: it is empty", [place])
		],
	)
}

# Who is next in line, but would be asked no later than the one before, or when there is no time any more.
_late(configuration) := {sprintf("requirements.%s.escalate_to.%d.after: %s", [name, place, why]) |
	some name, entry in configuration.requirements
	some place, later in entry.escalate_to
	after := _seconds(later.after)
	some why in array.concat(
		[flaw | after >= _seconds(entry.expires_in); flaw := "it is not before expires_in"],
		[flaw | after <= _seconds(entry.escalate_to[place - 1].after); flaw := "it is not later than the entry before"],
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

# Undefined of what is no duration: that is a flaw by itself, and to_number would fail for all tenants.
_seconds(text) := to_number(trim(text, "PTDHMS")) * {"D": 86400, "H": 3600, "M": 60, "S": 1}[unit] if {
	regex.match(_duration.pattern, text)
	unit := substring(text, count(text) - 1, 1)
}

_duration := {"type": "string", "pattern": `^P([1-9][0-9]*D|T[1-9][0-9]*[HMS])$`}

_next_in_line := {
	"type": "object",
	"additionalProperties": false,
	"required": ["after", "to"],
	"properties": {"after": _duration, "to": object.union(_texts, {"minItems": 1})},
}

_break_glass := {
	"type": "object",
	"additionalProperties": false,
	"required": ["groups", "at_most", "within", "tell", "review_by", "review_within"],
	"properties": {
		"groups": object.union(_texts, {"minItems": 1}),
		"at_most": {"type": "integer", "minimum": 1, "maximum": 100},
		"within": _duration,
		"tell": _texts,
		"review_by": object.union(_texts, {"minItems": 1}),
		"review_within": _duration,
	},
}

_class := {
	"type": "object",
	"additionalProperties": false,
	"required": ["groups", "quorum", "all_groups"],
	"properties": {
		"groups": object.union(_texts, {"minItems": 1}),
		"quorum": {"type": "integer", "minimum": 1, "maximum": 1000},
		"all_groups": {"type": "boolean"},
	},
	"if": _all_groups,
	"then": _few_groups,
}

_all_groups := {"properties": {"all_groups": {"const": true}}}

# Groups that each have to sign: every subset of them is looked at.
_few_groups := {"properties": {"groups": {"maxItems": 8}}}

_text := {"type": "string", "minLength": 1, "maxLength": 2000, "pattern": `^[^\x00-\x1f\x7f-\x9f]*$`}

_texts := {"type": "array", "items": _text, "uniqueItems": true, "maxItems": 100}

_operation := {
	"type": "object",
	"additionalProperties": false,
	"required": ["tier", "targets"],
	"properties": {
		"tier": {"enum": ["low", "medium", "high"]},
		"targets": _texts,
		"execute": _execute,
	},
}

_execute := {
	"type": "object",
	"additionalProperties": false,
	"minProperties": 1,
	"properties": {
		"not_before": {"type": "string", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`},
		"between": {"type": "array", "items": _window, "minItems": 1, "maxItems": 20},
		"time_zone": _text,
		"within": _duration,
	},
	"dependencies": {"between": ["time_zone"], "time_zone": ["between"]},
}

_window := {
	"type": "object",
	"additionalProperties": false,
	"required": ["days", "from", "until"],
	"properties": {
		"days": {
			"type": "array",
			"items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]},
			"uniqueItems": true,
			"minItems": 1,
		},
		"from": {"type": "string", "pattern": `^([01][0-9]|2[0-3]):[0-5][0-9]$`},
		"until": {"type": "string", "pattern": `^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`},
	},
}

_connector := {
	"type": "object",
	"additionalProperties": false,
	"required": ["chat", "operations"],
	"properties": {
		"chat": {"type": "boolean"},
		"operations": {"type": "object", "additionalProperties": _operation},
	},
}

_requirement := {
	"type": "object",
	"additionalProperties": false,
	"required": ["quorum", "groups", "all_groups", "expires_in", "escalate_to"],
	"properties": {
		"quorum": {"type": "integer", "minimum": 1, "maximum": 1000},
		"groups": object.union(_texts, {"minItems": 1}),
		"all_groups": {"type": "boolean"},
		"expires_in": _duration,
		"escalate_to": {"type": "array", "items": _next_in_line, "maxItems": 20},
		"editors_may_sign": {"type": "boolean"},
		"break_glass": _break_glass,
		"sign_with": {"enum": ["passkey"]},
		"pause_on_question": _duration,
		"classes": {"type": "array", "items": _class, "minItems": 1, "maxItems": 20},
		"veto": object.union(_texts, {"minItems": 1}),
	},
	"if": _all_groups,
	"then": _few_groups,
}

_shape := {
	"type": "object",
	"additionalProperties": false,
	"required": ["writes_per_run", "connectors", "requirements"],
	"properties": {
		"writes_per_run": {"type": "integer", "minimum": 0},
		"connectors": {"type": "object", "additionalProperties": _connector},
		"requirements": {"type": "object", "additionalProperties": _requirement, "required": ["high"]},
		"operators": _texts,
	},
}
