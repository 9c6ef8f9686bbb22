# METADATA
# title: Tiers
# description: How risky the effect is. The configuration may raise what the verb declares, never lower it.
# schemas:
#   - input: schema.input
package countersign.effect.tiers

import data.countersign.effect.connectors
import data.countersign.effect.reasons

_ranks := {"low": 1, "medium": 2, "high": 3}

# METADATA
# title: Effective tier
# description: The higher one of the declared tier and the operation's; "high" while either is unknown.
default effective := "high"

effective := tier if {
	highest := max({_ranks[input.effect.tier], _ranks[connectors.operation.tier]})
	some tier, rank in _ranks
	rank == highest
}

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
