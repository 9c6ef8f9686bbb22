# METADATA
# title: The world of the fault harness
# description: A payment takes two people of its desk; the rest is nobody's to sign, or everybody's by its tier.
# schemas:
#   - input: schema.input
package countersign_pack.world.world

import data.countersign.effect.reasons

# METADATA
# title: Demand for what needs nobody
# description: Everything but payments.
demand := {"requirement": "none"} if input.effect.operation != "pay"

# METADATA
# title: Demand for payments
# description: The desk that the payment names signs it.
# custom:
#   short_name: world.pay
#   failure_msg: A payment takes two signatures of its desk
demand := {
	"requirement": input.effect.fields.desk,
	"reason": reasons.of(rego.metadata.rule()),
} if {
	input.effect.operation == "pay"
}
