# METADATA
# title: Access to systems
# description: >-
#   Who gives access: the system's owner and security, by the tenant's requirement "access_SYSTEM". Taking access back
#   needs nobody. People ask for themselves alone, so that who asks, and never signs, is who is given access.
# schemas:
#   - input: schema.input
package countersign_pack.access_request.access

import data.countersign.effect.reasons

# METADATA
# title: Demand for the end of access
# description: Nobody signs it, since access would continue while a signature is awaited.
demand := {"requirement": "none"} if input.effect.operation == "revoke"

# METADATA
# title: Access
# description: The owner of the system and a person of security sign, two people.
# custom:
#   short_name: access.granted_by_owner
#   failure_msg: Access needs the system's owner and security
demand := {"requirement": concat("", ["access_", system]), "reason": reasons.of(rego.metadata.rule())} if {
	input.effect.operation == "grant"
	system
}

# METADATA
# title: System
# description: The system that the effect is about, by its target.
system := trim_prefix(input.effect.target, "system:") if startswith(input.effect.target, "system:")

# METADATA
# title: Asked for oneself
# description: The requester is the person who gets access.
own if {
	is_string(input.effect.fields.account)
	input.effect.fields.account == input.actor.id
}

# METADATA
# title: For a time
# description: Access ends, after thirty days at the latest.
bounded if {
	is_number(input.effect.fields.minutes)
	input.effect.fields.minutes <= 43200
}

# METADATA
# title: Access for others
# description: Denies access that somebody asks for in another's name.
# custom:
#   short_name: access.for_another
#   failure_msg: People may request access for themselves only
deny contains reasons.of(rego.metadata.rule()) if {
	input.effect.operation == "grant"
	not own
}

# METADATA
# title: Access without an end
# description: Denies access that lasts longer than thirty days, or for nobody knows how long.
# custom:
#   short_name: access.too_long
#   failure_msg: Access lasts at most thirty days
deny contains reasons.of(rego.metadata.rule()) if {
	input.effect.operation == "grant"
	not bounded
}
