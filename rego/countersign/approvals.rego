# METADATA
# title: Approvals
# description: When people must sign, who may, and whether the votes in the input fulfil that.
# schemas:
#   - input: schema.input
package countersign.effect.approvals

import data.countersign.effect.config
import data.countersign.effect.duties
import data.countersign.effect.packs
import data.countersign.effect.reasons
import data.countersign.effect.tiers
import data.countersign.effect.windows

# METADATA
# title: Demand below the high tier
# description: What the rules of packs ask for; nobody's signature where they ask for none.
demand := packs.demand if tiers.effective in {"low", "medium"}

# METADATA
# title: High tier
# description: High-tier writes are signed by people, whatever packs say.
# custom:
#   short_name: writes.high_tier
#   failure_msg: High-tier writes need signatures
demand := {"requirement": "high", "reason": reasons.of(rego.metadata.rule())} if {
	tiers.effective == "high"
	not input.effect.reads == true
	input.effect.connector != "policy"
}

# METADATA
# title: Change of the policy
# description: >-
#   A version of the policy comes into force, or is rolled back, with the signatures that the tenant's requirement
#   `policy_activate` or `policy_rollback` asks for.
# custom:
#   short_name: policy.change
#   failure_msg: Changes of the policy need signatures
demand := {"requirement": concat("_", ["policy", input.effect.operation]), "reason": reason} if {
	tiers.effective == "high"
	not input.effect.reads == true
	input.effect.connector == "policy"
	reason := reasons.of(rego.metadata.rule())
}

# METADATA
# title: High tier, of a read
# description: What leaves the tenant with a high-tier read is signed by people, whatever packs say.
# custom:
#   short_name: reads.high_tier
#   failure_msg: High-tier reads need signatures
demand := {"requirement": "high", "reason": reasons.of(rego.metadata.rule())} if {
	tiers.effective == "high"
	input.effect.reads == true
}

# METADATA
# title: Requirement
# description: >-
#   The tenant's requirement by the demand's name, with who is excluded, whether a reason is needed, and when the effect
#   may be carried out.
requirement := object.union_n([_stated, {"exclude": excluded, "reason_required": reason_required}, windows.said]) if {
	config.is_requirement(_stated)
}

# METADATA
# title: Rules behind the requirement
# description: >-
#   The names of the rules that demand it, PATH#CODE each, and of the configuration's member that states it; sorted.
demand_rules := [concat("#", ["countersign.effect.approvals.demand", demand.reason.code]), _stated_at] if {
	tiers.effective == "high"
}

demand_rules := sort(packs.demand_rules | {_stated_at}) if tiers.effective in {"low", "medium"}

# METADATA
# title: Excluded
# description: >-
#   Who wanted the effect, who is named in its fields as one who may not sign and, unless the requirement says that they
#   may, who edited what was asked for: they want it as it is now.
excluded := sort({person | some person in duties.excluded} | _named) if _stated.editors_may_sign == true

excluded := sort({person | some person in array.concat(duties.excluded, duties.editors)} | _named) if {
	not _stated.editors_may_sign == true
}

# METADATA
# title: Fields that name people
# description: The fields in which those are named who may not sign, as limits say.
naming contains path if some path in config.tenant.exclude

# METADATA
# title: Asked back
# description: The member `names` of an answer, with the fields whose people are looked up before policy can decide.
default asked_back := {}

asked_back := {"names": sort(naming)} if {
	demand.requirement != "none"
	some path in naming
	not _is_told(path)
}

# METADATA
# title: Named people unknown
# description: The effect names people who may not sign it, and it is not known who they are.
named_unknown if {
	some path in naming
	not _is_known(path)
}

# METADATA
# title: Reason required
# description: What cannot be undone is signed with a reason.
default reason_required := true

reason_required := false if input.effect.reversible == true

# METADATA
# title: Current
# description: >-
#   The approval's time has not run out. What is not used before it expires is void, whoever has signed it; where it is
#   said when it may be carried out, before the end of that time.
current if time.parse_rfc3339_ns(input.time) < time.parse_rfc3339_ns(_end)

# METADATA
# title: Entitled votes
# description: >-
#   Votes of people in one of the groups asked, without those who are excluded, on an approval that is current and given
#   before its time ran out. Each of those next in line is asked when its time has come; until then the runtime counts no
#   vote of theirs. Of a vote for somebody else, neither of the two may be excluded, nor who recorded that it may be given.
#   A vote that says how it came in (`via`) came by the console.
entitled contains place if {
	current
	some place, vote in input.votes
	time.parse_rfc3339_ns(vote.at) < _expiry
	is_string(vote.person)
	not vote.person in excluded
	object.get(vote, "via", "console") == "console"
	_delegated_well(vote)
	some group in vote.groups
	group in array.concat(requirement.groups, [lead | some entry in requirement.escalate_to; some lead in entry.to])
}

# METADATA
# title: Counted votes
# description: >-
#   Entitled votes; of those for somebody else, the ones whose two people stand in no other vote. Nobody counts twice by
#   another's name. Where the requirement says with what it is signed (`sign_with`), only what is signed so.
counted contains input.votes[place] if {
	some place in entitled
	not _used_up(place)
	_signed_as_asked(input.votes[place])
}

# METADATA
# title: Approvers
# description: The distinct people whose counted vote approves.
approvers contains vote.person if {
	some vote in counted
	vote.verdict == "approve"
}

# METADATA
# title: Groups met
# description: >-
#   One of the groups has approved or, where the requirement says so, each of them by a person of its own. Of each class
#   of signers, where it names any, so many distinct people have approved as the class says, and its groups are met. A
#   person may count in several classes.
groups_met if {
	requirement.all_groups == false
	not requirement.classes
}

groups_met if {
	requirement.all_groups == true
	not requirement.classes
	_each_signed(requirement.groups)
}

groups_met if {
	every class in requirement.classes {
		count(_approvers_of(class.groups)) >= class.quorum
		_signed(class)
	}
	_signed(requirement)
}

# METADATA
# title: Unopposed
# description: >-
#   No entitled vote says anything but approve. Where the requirement says who has a veto, none of theirs does; another
#   no is no approval, and ends nothing.
unopposed if {
	every place in entitled {
		input.votes[place].verdict == "approve"
	}
}

unopposed if {
	requirement.veto
	every place in entitled {
		_lets(input.votes[place])
	}
}

# METADATA
# title: Fulfilled
# description: The quorum of distinct people has approved, and the groups are met.
fulfilled if {
	count(approvers) >= requirement.quorum
	groups_met
}

fulfilled if break_glass_used

# METADATA
# title: Break-glass
# description: >-
#   Somebody whom the requirement lets do without the others has, by a ticket, no more often than they may, and on an
#   approval that is current. Who is excluded cannot.
break_glass_used if {
	current
	some vote in input.votes
	_uses_break_glass(vote, requirement.break_glass)
}

# METADATA
# title: Pending
# description: Signatures are needed, and some are missing.
pending if {
	requirement
	unopposed
	not fulfilled
}

# METADATA
# title: Signed
# description: Says that the signatures are there.
# custom:
#   short_name: approvals.fulfilled
#   failure_msg: All required signatures are given
signed := reasons.of(rego.metadata.rule())

# METADATA
# title: Rejected
# description: Denies what someone entitled to sign has rejected.
# custom:
#   short_name: approvals.rejected
#   failure_msg: Someone who may sign has rejected the effect
deny contains reasons.of(rego.metadata.rule()) if {
	requirement
	not unopposed
}

# METADATA
# title: People who may not sign unknown
# description: Denies what people must sign while it is not known who of them may not.
# custom:
#   short_name: approvals.named_unknown
#   failure_msg: The effect names people who may not sign it, and the directory does not know all of them
deny contains reasons.of(rego.metadata.rule()) if {
	demand.requirement != "none"
	named_unknown
}

# METADATA
# title: Requirement missing
# description: Denies what the tenant's configuration says nothing about who signs.
# custom:
#   short_name: approvals.requirement_missing
#   failure_msg: The tenant's configuration does not say who signs this
deny contains reasons.of(rego.metadata.rule()) if {
	config.valid
	demand.requirement != "none"
	not requirement
}

_stated := config.tenant.requirements[demand.requirement]

_named := {person | some path in naming; some person in input.named[path]}

_is_told(path) if type_name(input.named[path])

_is_known(path) if {
	is_array(input.named[path])
	every person in input.named[path] {
		is_string(person)
		person != ""
	}
}

_stated_at := concat(".", ["countersign_config", input.tenant, "requirements", demand.requirement])

_end := object.get(input.approval, "usable_until", input.approval.expires_at)

_expiry := time.parse_rfc3339_ns(input.approval.expires_at)

# Of a requirement, or of a class.
_signed(asked) if asked.all_groups == false

_signed(asked) if {
	asked.all_groups == true
	_each_signed(asked.groups)
}

# Whichever of the groups one takes, as many people as these have approved for them (Hall's theorem).
_each_signed(groups) if {
	count(groups) <= 8
	every subset in numbers.range(1, bits.lsh(1, count(groups)) - 1) {
		some_groups := [group | some place, group in groups; bits.and(subset, bits.lsh(1, place)) > 0]
		count(_approvers_of(some_groups)) >= count(some_groups)
	}
}

_approvers_of(groups) := {vote.person |
	some vote in counted
	vote.verdict == "approve"
	some group in groups
	group in vote.groups
}

_lets(vote) if vote.verdict == "approve"

_lets(vote) if {
	every group in vote.groups {
		not group in requirement.veto
	}
}

_delegated_well(vote) if not "delegation" in object.keys(vote)

_delegated_well(vote) if {
	every person in [vote.delegation.delegator, vote.delegation.recorded_by] {
		is_string(person)
		not person in excluded
	}
	not vote.person in {vote.delegation.delegator, vote.delegation.recorded_by}
}

_uses_break_glass(vote, allowed) if {
	vote.verdict == "approve"
	vote.break_glass.ticket != ""
	vote.break_glass.nth <= allowed.at_most
	time.parse_rfc3339_ns(vote.at) < _expiry
	not "delegation" in object.keys(vote)
	is_string(vote.person)
	not vote.person in excluded
	object.get(vote, "via", "console") == "console"
	_signed_as_asked(vote)
	some group in vote.groups
	group in allowed.groups
}

_signed_as_asked(_) if not "sign_with" in object.keys(requirement)

_signed_as_asked(vote) if vote.signed_with == requirement.sign_with

_used_up(place) if {
	"delegation" in object.keys(input.votes[place])
	some other, vote in input.votes
	other != place
	count(_people_of(vote) & _people_of(input.votes[place])) > 0
}

_people_of(vote) := {vote.person, object.get(vote, ["delegation", "delegator"], vote.person)}
