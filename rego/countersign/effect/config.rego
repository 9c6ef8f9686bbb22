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
# description: The configuration has the demanded shape.
valid if json.match_schema(tenant, _shape)[0]

# METADATA
# title: Problems
# description: What is wrong with the configuration of any tenant; asked for when policies are loaded.
problems contains sprintf("%s: %s", [name, problem.error]) if {
	some name, candidate in data.countersign_config
	some problem in json.match_schema(candidate, _shape)[1]
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

_text := {"type": "string", "minLength": 1, "maxLength": 2000, "pattern": `^[^\x00-\x1f\x7f-\x9f]*$`}

_texts := {"type": "array", "items": _text, "uniqueItems": true, "maxItems": 100}

_operation := {
	"type": "object",
	"additionalProperties": false,
	"required": ["tier", "targets"],
	"properties": {
		"tier": {"enum": ["low", "medium", "high"]},
		"targets": _texts,
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
		"expires_in": {"type": "string", "pattern": `^P([1-9][0-9]*D|T[1-9][0-9]*[HMS])$`},
		"escalate_to": _texts,
	},
	"if": {"properties": {"all_groups": {"const": true}}},
	"then": {"properties": {"groups": {"maxItems": 8}}},
}

_shape := {
	"type": "object",
	"additionalProperties": false,
	"required": ["writes_per_run", "connectors", "requirements"],
	"properties": {
		"writes_per_run": {"type": "integer", "minimum": 0},
		"connectors": {"type": "object", "additionalProperties": _connector},
		"requirements": {"type": "object", "additionalProperties": _requirement, "required": ["high"]},
	},
}
