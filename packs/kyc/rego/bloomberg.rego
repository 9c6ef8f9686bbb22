# METADATA
# title: Questions to Bloomberg
# description: >-
#   What leaves the tenant for Bloomberg is an LEI, which names a company. Any other identifier may name a person, or
#   tell whose client somebody is.
# schemas:
#   - input: schema.input
package countersign_pack.kyc.bloomberg

import data.countersign.effect.reasons

# METADATA
# title: Demand
# description: Nobody signs a question about a company.
demand := {"requirement": "none"}

# METADATA
# title: By LEI
# description: The question names its company by an LEI, and is about the company that it says it is about.
by_lei if {
	input.effect.fields.identifier_type == "LEGAL_ENTITY_IDENTIFIER"
	regex.match(`^[0-9A-Z]{18}[0-9]{2}$`, input.effect.fields.entity_identifier)
	input.effect.target == concat("", ["company:", input.effect.fields.entity_identifier])
}

# METADATA
# title: Another identifier
# description: Denies questions that name anything but a company by its LEI.
# custom:
#   short_name: bloomberg.identifier
#   failure_msg: Bloomberg may be asked by LEI only
deny contains reasons.of(rego.metadata.rule()) if not by_lei
