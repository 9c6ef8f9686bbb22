# METADATA
# title: Budgets
# description: >-
#   What an effect takes of the budgets of the limits that hold for it: each counts effects, or a sum, by the day or the
#   month. The gate keeps the totals; it says which budgets it found spent. Amounts stay texts, so that they are exact.
# schemas:
#   - input: schema.input
package countersign.effect.budgets

import data.countersign.effect.conditions
import data.countersign.effect.config
import data.countersign.effect.shape

# METADATA
# title: Taken
# description: >-
#   The member `budgets` of an answer that allows the effect: of which budgets it takes how much, by their names; nothing
#   where no budget is concerned. Reads and the chat take nothing.
taken := {} if count(_asked) == 0

taken := {"budgets": [_uses[name] | some name in sort(_asked)]} if count(_asked) > 0

# METADATA
# title: Unread
# description: >-
#   The budgets of which nobody could say how much the effect takes, or that two limits state by one name. It may not be
#   carried out then.
unread := {name | some name in _asked; not _uses[name]}

# METADATA
# title: Refusal
# description: The answer about an effect that takes of a budget nobody knows how much.
refusal := {
	"outcome": "deny",
	"tier": "high",
	"requirement": null,
	"reasons": sort(unreadable),
	"rules": ["countersign.effect.budgets.unreadable#budgets.unreadable"],
	"obligations": [],
}

# METADATA
# title: Budget unreadable
# description: Denies what has an amount or currency that cannot be read, another currency, or nobody to count it for.
# custom:
#   short_name: budgets.unreadable
#   failure_msg: How much it takes of a budget cannot be read
unreadable contains {"code": rule.custom.short_name, "msg": sprintf("%s: %s", [rule.custom.failure_msg, what])} if {
	rule := rego.metadata.rule()
	some [name, limit] in conditions.holding
	name in unread
	what := concat(": ", [name, limit.comment])
}

# METADATA
# title: Budget spent
# description: Says of which budgets too little is left, where people are asked to let it go beyond.
# custom:
#   short_name: budgets.spent
#   failure_msg: A budget is spent
spent contains {"code": rule.custom.short_name, "msg": concat(": ", [rule.custom.failure_msg, name])} if {
	rule := rego.metadata.rule()
	some name in _over
	name in _asked
}

# METADATA
# title: Lets ask
# description: A limit's requirement is asked for now. One with a budget whose `over` is `approve` waits for its end.
lets_ask(_, limit) if object.get(limit, ["budget", "over"], "") != "approve"

lets_ask(name, _) if name in _over

_over := object.get(input.counters, "over", [])

_asked := {name |
	some [name, limit] in conditions.holding
	limit.budget
	not _is_free
}

# Word in the chat and to subscribers is of no step.
_is_free if input.step == ""

_is_free if input.effect.reads == true

_is_free if config.tenant.connectors[input.effect.connector].chat == true

_uses[name] := use if {
	some name in _asked
	[limit] := [limit | some [stated, limit] in conditions.holding; stated == name]
	key := _keys[limit.budget.by]
	count(key) > 0
	count(key) <= 400
	use := object.union_n([
		{"name": name, "comment": limit.comment, "key": key},
		object.filter(limit.budget, ["by", "per", "time_zone", "count", "over"]),
		_sum(limit.budget),
	])
}

_keys := {"requester": input.actor.id, "agent": _agent, "target": input.effect.target}

# The caller that sent the run, or the requester if that is an agent.
_agent := input.actor.id if input.actor.kind == "agent"

_agent := input.actor.submitted_by if input.actor.kind != "agent"

_sum(budget) := {} if not "sum" in object.keys(budget)

_sum(budget) := {"sum": budget.sum.at_most, "currency": budget.sum.currency, "amount": amount} if {
	_field(budget.sum.currency_field) == budget.sum.currency
	amount := _written(_field(budget.sum.field))
	regex.match(shape.decimal, amount)
}

_field(path) := object.get(input.effect.fields, split(path, "."), null)

_written(value) := value if is_string(value)

_written(value) := json.marshal(value) if is_number(value)
