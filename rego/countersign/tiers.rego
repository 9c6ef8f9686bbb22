# METADATA
# title: Tiers
# description: How risky the effect is. The configuration may raise what the verb declares, never lower it.
# schemas:
#   - input: schema.input
package countersign.effect.tiers

import data.countersign.effect.connectors
import data.countersign.effect.reasons

_known := {"low", "medium", "high"}

# METADATA
# title: Effective tier
# description: The higher one of the declared tier and the operation's; "high" while either is unknown.
default effective := "high"

effective := "low" if {
	input.effect.tier == "low"
	connectors.operation.tier == "low"
}

effective := "medium" if {
	input.effect.tier == "medium"
	connectors.operation.tier in {"low", "medium"}
}

effective := "medium" if {
	input.effect.tier == "low"
	connectors.operation.tier == "medium"
}

# METADATA
# title: Permitted
# description: The verb declares a tier that is known.
permitted if input.effect.tier in _known

# METADATA
# title: Tier unknown
# description: Denies effects whose declared tier is none of low, medium and high.
# custom:
#   short_name: tiers.unknown
#   failure_msg: The effect declares no known tier
deny contains reasons.of(rego.metadata.rule()) if not permitted
