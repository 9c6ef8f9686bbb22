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
	input.counters.writes < config.tenant.writes_per_run
}

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
