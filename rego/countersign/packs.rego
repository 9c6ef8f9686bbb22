# METADATA
# title: Rules of packs
# description: >-
#   What the packs say about effects of their connectors. The package countersign_pack.PACK.CONNECTOR holds a pack's
#   rules for one connector; it states who signs each effect as `demand`, may deny, and may state limits. It touches no
#   other connector.
# schemas:
#   - input: schema.input
package countersign.effect.packs

import data.countersign.effect.reasons
import data.countersign.effect.shape

# METADATA
# title: Concerned
# description: The rules of each pack that has some for the effect's connector.
concerned contains rules if {
	some pack
	rules := data.countersign_pack[pack][input.effect.connector]
}

# METADATA
# title: Demand
# description: Who signs, as the packs agree; nobody where no pack asks for it. Undefined while they do not agree.
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
# title: Limits of packs
# description: The limits that rules of packs state for the effect, each with its name and its pack.
limits contains {"pack": pack, "name": name, "limit": limit} if {
	some pack
	some name, limit in data.countersign_pack[pack][input.effect.connector].limits
}

# METADATA
# title: Limits of packs unreadable
# description: A pack states what is no limit. It has no `when` and no `writes_per_run`, so it only ever asks for more.
limits_unreadable if {
	some pack
	stated := data.countersign_pack[pack][input.effect.connector].limits
	not _are_limits(stated)
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

_asked contains rules.demand if {
	some rules in concerned
	_answers(rules)
	rules.demand.requirement != "none"
}

_rule(pack, name, reason) := concat(
	"",
	["countersign_pack.", pack, ".", input.effect.connector, ".", name, "#", reason.code],
)

_answers(rules) if is_string(rules.demand.requirement)

_are_limits(limits) if json.match_schema(limits, shape.stated_limits)[0]
