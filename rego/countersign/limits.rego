# METADATA
# title: Limits
# description: >-
#   How much one run may write. Chat is not counted, or a run at its limit could not say so; and neither are reads.
# schemas:
#   - input: schema.input
package countersign.effect.limits

import data.countersign.effect.config
import data.countersign.effect.connectors
import data.countersign.effect.reasons

# METADATA
# title: Permitted
# description: The effect is chat or a read, or the run has written less than it may.
permitted if connectors.connector.chat == true

permitted if input.effect.reads == true

permitted if {
	is_number(input.counters.writes)
	input.counters.writes >= 0
	input.counters.writes < most
}

# METADATA
# title: Most writes
# description: >-
#   How many writes the run may have done: of the tenant's `write_limits` that concern it, the one that says most closely
#   what it is about; of two that are as close, the lower. Else the tenant's `writes_per_run`.
most := config.tenant.writes_per_run if count(_closeness) == 0

most := min({limit.at_most | some limit in _concerned; _named(limit) == max(_closeness)}) if count(_closeness) > 0

# METADATA
# title: Write limit reached
# description: Denies writes of a run that has used up its limit, or whose count is unknown.
# custom:
#   short_name: limits.writes_per_run
#   failure_msg: The run has reached its limit of writes
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	not permitted
}

_concerned contains limit if {
	some limit in config.tenant.write_limits
	_is_of(limit, "runbook", input.run.definition)
	_is_of(limit, "connector", input.effect.connector)
	_is_of(limit, "operation", input.effect.operation)
}

_closeness := {_named(limit) | some limit in _concerned}

_named(limit) := count({"runbook", "operation"} & object.keys(limit))

_is_of(limit, member, _) if not member in object.keys(limit)

_is_of(limit, member, value) if limit[member] == value
