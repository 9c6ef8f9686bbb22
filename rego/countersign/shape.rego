# METADATA
# title: Shape of the configuration
# description: >-
#   The JSON Schema of a tenant's configuration. Editors use the same one, from `rego/schemas/tenant.json`.
package countersign.effect.shape

# METADATA
# title: Duration
# description: An ISO 8601 duration of one unit, without weeks, months and years.
duration := {"type": "string", "pattern": `^P([1-9][0-9]*D|T[1-9][0-9]*[HMS])$`}

# METADATA
# title: Decimal
# description: A decimal number of at least zero, as a text.
decimal := `^(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?$`

_next_in_line := {
	"type": "object",
	"additionalProperties": false,
	"required": ["after", "to"],
	"properties": {"after": duration, "to": object.union(_texts, {"minItems": 1})},
}

_break_glass := {
	"type": "object",
	"additionalProperties": false,
	"required": ["groups", "at_most", "within", "tell", "review_by", "review_within"],
	"properties": {
		"groups": object.union(_texts, {"minItems": 1}),
		"at_most": {"type": "integer", "minimum": 1, "maximum": 100},
		"within": duration,
		"tell": _texts,
		"review_by": object.union(_texts, {"minItems": 1}),
		"review_within": duration,
	},
}

_class := {
	"type": "object",
	"additionalProperties": false,
	"required": ["groups", "quorum", "all_groups"],
	"properties": {"groups": _some_texts, "quorum": _signers, "all_groups": {"type": "boolean"}},
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
		"not_before": _moment,
		"between": _windows,
		"time_zone": _text,
		"within": duration,
	},
	"dependencies": {"between": ["time_zone"], "time_zone": ["between"]},
}

_windows := {"type": "array", "items": _window, "minItems": 1, "maxItems": 20}

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
		"quorum": _signers,
		"groups": object.union(_texts, {"minItems": 1}),
		"all_groups": {"type": "boolean"},
		"expires_in": duration,
		"escalate_to": {"type": "array", "items": _next_in_line, "maxItems": 20},
		"editors_may_sign": {"type": "boolean"},
		"break_glass": _break_glass,
		"sign_with": {"enum": ["passkey"]},
		"pause_on_question": duration,
		"classes": {"type": "array", "items": _class, "minItems": 1, "maxItems": 20},
		"veto": _some_texts,
	},
	"if": _all_groups,
	"then": _few_groups,
}

_signers := {"type": "integer", "minimum": 1, "maximum": 1000}

_name := {"type": "string", "pattern": `^[a-z][a-z0-9_-]{0,59}$`}

_some_texts := object.union(_texts, {"minItems": 1})

_moment := {"type": "string", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`}

_when := {
	"type": "object",
	"additionalProperties": false,
	"minProperties": 1,
	"properties": {
		"connector": _some_texts,
		"operation": _some_texts,
		"fields": {
			"type": "object",
			"additionalProperties": _field,
			"propertyNames": {"pattern": `^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`},
			"minProperties": 1,
			"maxProperties": 20,
		},
		"requester": _some_texts,
		"requester_groups": _some_texts,
		"requester_kind": {
			"type": "array",
			"items": {"enum": ["person", "agent", "system"]},
			"uniqueItems": true,
			"minItems": 1,
		},
		"agent": _some_texts,
		"runbook": _some_texts,
		"time": {
			"type": "object",
			"additionalProperties": false,
			"required": ["between", "time_zone"],
			"properties": {"between": _windows, "time_zone": _text},
		},
	},
	"dependencies": {"operation": ["connector"], "fields": ["operation"]},
}

_field := {
	"type": "object",
	"additionalProperties": false,
	"minProperties": 1,
	"properties": {
		"over": {"type": "number"},
		"under": {"type": "number"},
		"in": {
			"type": "array",
			"items": {"type": ["string", "number", "boolean"]},
			"uniqueItems": true,
			"minItems": 1,
			"maxItems": 100,
		},
		"matches": _text,
	},
}

_path := {"type": "string", "pattern": `^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`, "maxLength": 200}

# Sums are exact: texts, since a number of JSON may be one that no computer keeps as it is written.
_budget := {
	"type": "object",
	"additionalProperties": false,
	"required": ["by", "per", "time_zone", "over"],
	"anyOf": [{"required": ["count"]}, {"required": ["sum"]}],
	"properties": {
		"by": {"enum": ["requester", "agent", "target"]},
		"per": {"enum": ["day", "month"]},
		"time_zone": _text,
		"count": {"type": "integer", "minimum": 1, "maximum": 1000000000},
		"sum": {
			"type": "object",
			"additionalProperties": false,
			"required": ["field", "currency_field", "currency", "at_most"],
			"properties": {
				"field": _path,
				"currency_field": _path,
				"currency": {"type": "string", "pattern": `^[A-Z0-9]{1,10}$`},
				"at_most": {"type": "string", "pattern": decimal},
			},
		},
		"over": {"enum": ["deny", "wait", "approve"]},
	},
}

_limit := {
	"type": "object",
	"additionalProperties": false,
	"required": ["comment", "when"],
	"anyOf": [{"required": [name]} | some name in ["tier", "requirement", "quorum", "exclude", "sign_with", "expires_in", "execute", "writes_per_run", "notify", "budget"]],
	"properties": {
		"comment": object.union(_text, {"maxLength": 1000}),
		"effective_from": _moment,
		"when": _when,
		"tier": {"enum": ["medium", "high"]},
		"requirement": _text,
		"quorum": _signers,
		"exclude": {"type": "array", "items": _path, "uniqueItems": true, "minItems": 1, "maxItems": 20},
		"sign_with": {"enum": ["passkey"]},
		"expires_in": duration,
		"execute": _execute,
		"writes_per_run": {"type": "integer", "minimum": 0},
		"budget": _budget,
		"notify": _some_texts,
	},
	# It may allow more than the tenant's, so it holds only where it is known to be meant.
	"if": {"required": ["writes_per_run"]},
	"then": {"properties": {"when": {
		"propertyNames": {"enum": ["connector", "operation", "runbook"]},
		"anyOf": [{"required": ["operation"]}, {"required": ["runbook"]}],
	}}},
}

# METADATA
# title: Limits of a pack
# description: >-
#   The JSON Schema of the limits that a pack's rule states, by name: the rule itself says when they hold, and from when on.
stated_limits := {
	"type": "object",
	"additionalProperties": object.union(json.remove(_limit, _of_data), {"required": ["comment"], "anyOf": others}),
	"propertyNames": _name,
	"maxProperties": 50,
} if {
	others := [one | some one in _limit.anyOf; one.required != ["writes_per_run"]]
}

_of_data := ["if", "then", "properties/when", "properties/effective_from", "properties/writes_per_run"]

# METADATA
# title: Tenant
# description: The JSON Schema of one tenant's configuration.
tenant := {
	"type": "object",
	"additionalProperties": false,
	"required": ["writes_per_run", "connectors", "requirements"],
	"properties": {
		"writes_per_run": {"type": "integer", "minimum": 0},
		"connectors": {"type": "object", "additionalProperties": _connector},
		"requirements": {"type": "object", "additionalProperties": _requirement, "required": ["high"]},
		"operators": _texts,
		"limits": {
			"type": "object",
			"additionalProperties": _limit,
			"propertyNames": _name,
			"maxProperties": 50,
		},
		"$schema": _text,
	},
}
