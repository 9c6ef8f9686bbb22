# METADATA
# title: Separation of duties
# description: Who asks never signs.
# schemas:
#   - input: schema.input
package countersign.effect.duties

import data.countersign.effect.reasons

# METADATA
# title: Excluded
# description: The requester and the submitter, sorted, each once.
excluded := sort({input.actor.id, input.actor.submitted_by})

# METADATA
# title: Permitted
# description: Requester and submitter are known; nobody can be kept apart from an unknown one.
permitted if {
	every person in excluded {
		is_string(person)
		person != ""
	}
}

# METADATA
# title: Requester unknown
# description: Denies effects that nobody is known to have asked for.
# custom:
#   short_name: duties.requester_unknown
#   failure_msg: It is not known who asks for the effect
deny contains reasons.of(rego.metadata.rule()) if not permitted
