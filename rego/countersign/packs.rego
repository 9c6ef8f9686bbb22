# METADATA
# title: Rules of packs
# description: >-
#   What the packs say about effects of their connectors. The package countersign_pack.PACK.CONNECTOR holds a pack's
#   rules for one connector; it states who signs each effect as `demand`, and may deny. It touches no other connector.
# schemas:
#   - input: schema.input
package countersign.effect.packs

import data.countersign.effect.budgets
import data.countersign.effect.config
import data.countersign.effect.reasons

# METADATA
# title: Concerned
# description: The rules of each pack that has some for the effect's connector.
concerned contains rules if {
	some pack
	rules := data.countersign_pack[pack][input.effect.connector]
}

# METADATA
# title: Demand
# description: >-
#   Who signs, as the packs agree, and what they add to that (`terms`: `quorum`, `exclude`, `sign_with`, `expires_in`,
#   `execute` and `budgets`); nobody where no pack asks for it. Undefined while they do not agree.
demand := {"requirement": "none"} if count(_asked) == 0

demand := asked if {
	count(_asked) == 1
	some asked in _asked
}

# METADATA
# title: Rules behind the demand
# description: The names of the packs' rules that ask for signatures, PATH#CODE each.
demand_rules contains _rule(pack, "demand", rules.demand.reason) if {
	some pack
	rules := data.countersign_pack[pack][input.effect.connector]
	rules.demand.requirement != "none"
}

# METADATA
# title: Permitted
# description: Each pack that is concerned has said who signs, and they agree.
permitted if {
	every rules in concerned {
		_answers(rules)
	}
	demand
}

# METADATA
# title: Denied by packs
# description: The reasons for which rules of packs deny.
denied contains reason if {
	some rules in concerned
	some reason in rules.deny
}

# METADATA
# title: Rules of packs that deny
# description: Their names, PATH#CODE each.
denial_rules contains _rule(pack, "deny", reason) if {
	some pack
	some reason in data.countersign_pack[pack][input.effect.connector].deny
}

# METADATA
# title: Pack without an answer
# description: Denies what a pack has rules for that do not say who signs it.
# custom:
#   short_name: packs.silent
#   failure_msg: The pack's rules do not say who signs this
deny contains reasons.of(rego.metadata.rule()) if {
	some rules in concerned
	not _answers(rules)
}

# METADATA
# title: Packs that contradict each other
# description: Denies what two packs want signed in different ways.
# custom:
#   short_name: packs.contradiction
#   failure_msg: Two packs disagree on who signs this
deny contains reasons.of(rego.metadata.rule()) if count(_asked) > 1

# METADATA
# title: Budget of a pack unreadable
# description: Denies what takes nobody knows how much of a budget that a pack states.
# custom:
#   short_name: packs.budget_unreadable
#   failure_msg: How much it takes of a budget of the pack's rule cannot be read
deny contains reasons.of(rego.metadata.rule()) if {
	demand.terms.budgets
	count(budgets.unread) > 0
}

_asked contains rules.demand if {
	some rules in concerned
	_answers(rules)
	_asks(rules.demand)
}

_asks(wanted) if wanted.requirement != "none"

_asks(wanted) if wanted.terms

_rule(pack, name, reason) := concat(
	"",
	["countersign_pack.", pack, ".", input.effect.connector, ".", name, "#", reason.code],
)

_answers(rules) if {
	is_string(rules.demand.requirement)
	not rules.demand.terms
}

_answers(rules) if {
	is_string(rules.demand.requirement)
	every member, value in rules.demand.terms {
		_is_term(member, value)
	}
}

# A member that nobody knows, or of the wrong kind, would not be heeded.
_is_term("quorum", value) if is_number(value)

_is_term("exclude", value) if {
	is_array(value)
	every path in value {
		is_string(path)
	}
}

_is_term("sign_with", value) if value == "passkey"

_is_term("expires_in", value) if config.seconds(value)

_is_term("execute", value) if is_object(value)

_is_term("budgets", value) if {
	is_object(value)
	every budget in value {
		is_string(budget.comment)
	}
}
