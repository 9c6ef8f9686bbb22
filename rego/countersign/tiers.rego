# METADATA
# title: Tiers
# description: How risky the effect is. The configuration and its limits may raise what the verb declares, never lower it.
# schemas:
#   - input: schema.input
package countersign.effect.tiers

import data.countersign.effect.conditions
import data.countersign.effect.connectors
import data.countersign.effect.reasons

_ranks := {"low": 1, "medium": 2, "high": 3}

# METADATA
# title: Effective tier
# description: The highest of the declared tier, the operation's and those of limits; "high" while one is unknown.
default effective := "high"

effective := tier if {
	highest := max({_ranks[input.effect.tier], _ranks[connectors.operation.tier]} | _of_limits)
	some tier, rank in _ranks
	rank == highest
}

_of_limits := {_ranks[limit.tier] | some limit in conditions.matching}

# METADATA
# title: Permitted
# description: The verb declares a tier that is known.
permitted if _ranks[input.effect.tier]

# METADATA
# title: Tier unknown
# description: Denies effects whose declared tier is none of low, medium and high.
# custom:
#   short_name: tiers.unknown
#   failure_msg: The effect declares no known tier
deny contains reasons.of(rego.metadata.rule()) if not permitted
