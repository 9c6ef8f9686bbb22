# METADATA
# title: Separation of duties
# description: Who asks never signs, and who edits what was asked for does not unless the requirement lets them.
# schemas:
#   - input: schema.input
package countersign.effect.duties

import data.countersign.effect.reasons

# METADATA
# title: Excluded
# description: The requester and the submitter and, of a change of policy, its author; sorted, each once.
excluded := sort({input.actor.id, input.actor.submitted_by} | _author)

# METADATA
# title: Editors
# description: Who changed the effect since it was asked for; nobody where it is as it was.
editors := [person | some person in input.edited.by]

# METADATA
# title: Permitted
# description: Requester, submitter and whoever edited are known; nobody can be kept apart from an unknown one.
permitted if {
	every person in array.concat(excluded, _edited_by) {
		is_string(person)
		person != ""
	}
}

_author := {object.get(input.effect.fields, "author", "")} if input.effect.connector == "policy"

_author := set() if input.effect.connector != "policy"

_edited_by := [] if not _is_edited

_edited_by := input.edited.by if count(input.edited.by) > 0

_is_edited if type_name(input.edited)

# METADATA
# title: Requester unknown
# description: Denies effects that nobody is known to have asked for.
# custom:
#   short_name: duties.requester_unknown
#   failure_msg: The requester of the effect is unknown
deny contains reasons.of(rego.metadata.rule()) if not permitted
