# METADATA
# title: Decision on what an operator does
# description: >-
#   The entrypoint for a privileged act: how a step that needs attention or waits goes on, that a run stops, who votes for whom, who signs with
#   which passkey, or that the app may be installed in a workspace. It is allowed only when every rule says so outright.
# schemas:
#   - input: schema.operator
package countersign.operator

import data.countersign.effect.config
import data.countersign.effect.reasons

# METADATA
# title: Decision
# description: The answer, with every member present; the default stands when anything in it is undefined.
# entrypoint: true
default decision := {
	"outcome": "deny",
	"reasons": [{"code": "operator.undefined", "msg": "The policy gives no answer for this act"}],
}

decision := {"outcome": "deny", "reasons": sort(deny)} if count(deny) > 0

decision := {"outcome": "allow", "reasons": []} if {
	count(deny) == 0
	permitted
}

# METADATA
# title: Permitted
# description: Every rule vouches for the act, beside that none denies it.
permitted if {
	known
	entitled
	apart
	answerable
}

# METADATA
# title: Known
# description: >-
#   The act is one of the four on a step that needs attention or on one that waits, stops a run, records or ends who votes for whom, is about a passkey, or
#   lets somebody install the app.
known if {
	input.act in {"retry", "supply", "skip", "end"}
	is_object(input.run)
	is_object(input.step)
}

known if {
	input.act == "cancel"
	is_object(input.run)
	input.step == null
}

known if {
	_delegates
	input.run == null
	input.step == null
	is_object(input.delegation)
}

known if {
	input.act == "install_link"
	input.run == null
	input.step == null
}

known if {
	_about_passkey
	input.run == null
	input.step == null
	is_object(input.passkey)
}

# METADATA
# title: Entitled
# description: >-
#   A person of one of the groups that the tenant names as its operators; nobody, where it names none. Who asked for a run
#   may stop it, too, and so may a caller that speaks for itself: the edge lets in those alone that the directory lets
#   stop runs of this kind. People say themselves who votes for them, and until when, and revoke passkeys of their own.
entitled if {
	input.actor.kind == "person"
	some group in input.actor.groups
	group in config.tenant.operators
}

entitled if {
	input.act == "cancel"
	input.actor.kind == "person"
	input.actor.id == input.run.requested_by
}

entitled if {
	input.act == "cancel"
	input.actor.kind == "agent"
	input.actor.id == input.actor.submitted_by
}

entitled if {
	_delegates
	input.actor.kind == "person"
	input.actor.id == input.delegation.delegator
}

entitled if {
	input.act == "revoke_passkey"
	input.actor.kind == "person"
	input.actor.id == input.passkey.person
}

# METADATA
# title: Apart
# description: >-
#   Who asked for the run, or sent it, neither supplies nor skips what people have to sign or to answer, or what waits and
#   has not failed. To try it again, or to end the run, takes nothing away from anybody; nor does it to end a delegation, to revoke a passkey, or to
#   let somebody install the app. Nobody records that they vote for somebody else, or invites themselves to register a
#   passkey.
apart if input.act in {"retry", "end", "cancel", "undelegate", "revoke_passkey", "install_link"}

apart if {
	input.act == "invite_passkey"
	is_string(input.passkey.person)
	input.actor.id != input.passkey.person
}

apart if {
	input.act == "delegate"
	input.actor.id != input.delegation.delegate
}

apart if {
	input.step.people == "none"
	input.step.status == "needs_attention"
}

apart if {
	every person in {input.run.requested_by, input.run.submitted_by} {
		is_string(person)
		person != input.actor.id
	}
}

# METADATA
# title: Answerable
# description: What people are asked is answered by those who are asked, and by no operator in their place.
answerable if input.act in {"retry", "skip", "end", "cancel", "delegate", "undelegate", "install_link"}

answerable if _about_passkey

answerable if input.step.people in {"none", "sign"}

# METADATA
# title: Act unknown
# description: Denies what is no act of an operator.
# custom:
#   short_name: operator.unknown_act
#   failure_msg: Policy knows no such act
deny contains reasons.of(rego.metadata.rule()) if not known

# METADATA
# title: Not entitled
# description: Denies an actor who is not one of the tenant's operators.
# custom:
#   short_name: operator.not_entitled
#   failure_msg: Only the tenant's operators may do this
deny contains reasons.of(rego.metadata.rule()) if not entitled

# METADATA
# title: Own request
# description: Denies requesters what others have to sign or answer.
# custom:
#   short_name: operator.own_request
#   failure_msg: The requester may not supply or skip what others must sign or answer, or a step that waits
deny contains reasons.of(rego.metadata.rule()) if {
	not apart
	not _delegates
	not _about_passkey
}

# METADATA
# title: Own delegation
# description: Denies people to record that they themselves vote for somebody else.
# custom:
#   short_name: operator.own_delegation
#   failure_msg: A delegate may not record their own delegation
deny contains reasons.of(rego.metadata.rule()) if {
	not apart
	_delegates
}

# METADATA
# title: Own passkey
# description: Denies people to invite themselves to register a passkey.
# custom:
#   short_name: operator.own_passkey
#   failure_msg: Someone else must invite a person to register a passkey
deny contains reasons.of(rego.metadata.rule()) if {
	not apart
	_about_passkey
}

# METADATA
# title: Answer of others
# description: Denies an answer given instead of the people who are asked.
# custom:
#   short_name: operator.answer_of_others
#   failure_msg: Only the people asked may answer; retry to ask them again
deny contains reasons.of(rego.metadata.rule()) if not answerable

_delegates if input.act in {"delegate", "undelegate"}

_about_passkey if input.act in {"invite_passkey", "revoke_passkey"}
