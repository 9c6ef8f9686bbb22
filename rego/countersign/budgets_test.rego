package countersign.effect.budgets_test

import data.countersign.effect
import data.countersign.effect.config
import data.countersign.effect.given_test as given

sum := {"field": "paid.amount", "currency_field": "currency", "currency": "EUR", "at_most": "500.00"}

budget := {"by": "agent", "per": "day", "time_zone": "Europe/Berlin", "count": 100, "sum": sum, "over": "deny"}

limit := {"comment": "Small sums", "when": {"connector": ["ledger"]}, "budget": budget}

refund := {"paid": {"amount": "12.50"}, "currency": "EUR"}

tenant(limits) := object.union(given.tenant, {"limits": limits})

question(fields) := object.union(given.question, {"effect": {"fields": fields}})

decide(limits, asked) := decision if {
	decision := effect.decision with input as asked with data.countersign_config as {"t1": tenant(limits)}
}

with_budget(members) := {"refunds": json.patch(limit, [{"op": "add", "path": "/budget", "value": changed}])} if {
	changed := object.union(budget, members)
}

asking := with_requirement(with_budget({"over": "approve"}))

with_requirement(limits) := {name: object.union(one, {"requirement": "high"}) | some name, one in limits}

over(names) := object.union(question(refund), {"counters": {"over": names}})

test_what_is_allowed_says_what_it_takes_of_which_budget if {
	decision := decide({"refunds": limit}, question(refund))
	decision.outcome == "allow"
	decision.budgets == [{
		"name": "refunds",
		"comment": "Small sums",
		"by": "agent",
		"key": "hook",
		"per": "day",
		"time_zone": "Europe/Berlin",
		"count": 100,
		"sum": "500.00",
		"currency": "EUR",
		"amount": "12.50",
		"over": "deny",
	}]
}

test_a_list_of_questions_is_told_the_same if {
	asked := [question(refund), given.question]
	config_of := {"t1": tenant({"refunds": limit})}
	decisions := effect.decisions with input as asked with data.countersign_config as config_of
	count(decisions[0].budgets) == 1
	decisions[1].outcome == "deny"
}

test_budgets_come_in_the_order_of_their_names if {
	limits := {"zebra": limit, "apple": limit, "plain": object.union(object.remove(limit, ["budget"]), {"tier": "medium"})}
	[one.name | some one in decide(limits, question(refund)).budgets] == ["apple", "zebra"]
}

test_a_budget_without_a_sum_counts_and_reads_no_amount if {
	counted := json.remove(limit, ["/budget/sum"])
	[use] := decide({"refunds": counted}, given.question).budgets
	use.count == 100
	not "amount" in object.keys(use)
}

test_a_budget_is_that_of_the_requester_the_target_or_the_agent if {
	keys := [use.key |
		some by in ["requester", "target", "agent"]
		some use in decide(with_budget({"by": by}), question(refund)).budgets
	]
	keys == ["ann", "books/1", "hook"]
}

test_an_agent_that_asks_for_itself_is_the_agent if {
	asked := object.union(question(refund), {"actor": {"id": "robot", "kind": "agent"}})
	[use] := decide({"refunds": limit}, asked).budgets
	use.key == "robot"
}

test_numbers_are_amounts_exactly_as_they_are_written if {
	every number, text in {"12": 12, "12.5": 12.5, "0": 0, "0.1": 0.1} {
		[use] := decide({"refunds": limit}, question(object.union(refund, {"paid": {"amount": text}}))).budgets
		use.amount == number
	}
}

test_an_amount_that_cannot_be_read_is_denied if {
	every amount in ["-1", "1e3", "", "12,50", "0x1", " 1", "01", "1.", -1, 1e300, null, true, ["1"], {"of": 1}] {
		decision := decide({"refunds": limit}, question({"paid": {"amount": amount}, "currency": "EUR"}))
		decision.outcome == "deny"
		decision.rules == ["countersign.effect.budgets.unreadable#budgets.unreadable"]
		[reason] := decision.reasons
		reason.code == "budgets.unreadable"
		endswith(reason.msg, "refunds: Small sums")
	}
	decide({"refunds": limit}, question({"currency": "EUR"})).outcome == "deny"
}

test_another_currency_or_none_is_denied if {
	decide({"refunds": limit}, question(object.union(refund, {"currency": "USD"}))).outcome == "deny"
	decide({"refunds": limit}, question(object.union(refund, {"currency": null}))).outcome == "deny"
	decide({"refunds": limit}, question(object.remove(refund, ["currency"]))).outcome == "deny"
}

test_what_nobody_can_be_counted_for_is_denied if {
	far := object.union(question(refund), {"effect": {"target": sprintf("books/%400d", [1])}})
	decide(with_budget({"by": "target"}), far).outcome == "deny"
	nobody := object.union(question(refund), {"effect": {"target": ""}})
	decide(with_budget({"by": "target"}), nobody).outcome == "deny"
}

test_a_budget_is_no_object_and_all_is_denied if {
	broken := {"refunds": json.patch(limit, [{"op": "replace", "path": "/budget", "value": 100}])}
	[reason] := decide(broken, question(refund)).reasons
	reason.code == "limits.unreadable"
}

test_reads_and_word_in_the_chat_take_of_no_budget if {
	everywhere := {"refunds": object.union(object.remove(limit, ["when"]), {"when": {"requester": ["ann"]}})}
	reading := object.union(given.question, {"effect": {"reads": true}})
	saying := object.union(given.question, {"effect": {"connector": "chat", "operation": "say", "target": "C1"}})
	telling := object.union(given.question, {"step": ""})
	every asked in [reading, saying, telling] {
		decision := decide(everywhere, asked)
		decision.outcome == "allow"
		not "budgets" in object.keys(decision)
	}
}

test_what_asks_people_takes_of_no_budget_yet if {
	asked := object.union(given.filing([]), {"effect": {"fields": refund}})
	decision := decide({"refunds": limit}, asked)
	decision.outcome == "needs_approval"
	not "budgets" in object.keys(decision)
	signed := object.union(given.filing([given.approve("bob"), given.approve("cyd")]), {"effect": {"fields": refund}})
	count(decide({"refunds": limit}, signed).budgets) == 1
}

test_what_is_denied_takes_of_no_budget if {
	asked := object.union(question(refund), {"counters": {"writes": 3}})
	decision := decide({"refunds": limit}, asked)
	decision.outcome == "deny"
	not "budgets" in object.keys(decision)
}

test_a_limit_whose_budget_lets_ask_asks_nobody_while_something_is_left if {
	decision := decide(asking, question(refund))
	decision.outcome == "allow"
	decision.reasons == []
	[use] := decision.budgets
	use.over == "approve"
}

test_its_requirement_is_asked_for_once_its_budget_is_spent if {
	decision := decide(asking, over(["refunds"]))
	decision.outcome == "needs_approval"
	decision.requirement.quorum == 2
	{"code": "budgets.spent", "msg": "A budget is spent: refunds"} in decision.reasons
	"countersign.effect.budgets.spent#budgets.spent" in decision.rules
	{reason.code | some reason in decision.reasons} == {"limits.demand", "limits.applies", "budgets.spent"}
}

test_a_spent_budget_of_another_limit_asks_nobody if {
	decision := decide(asking, over(["others"]))
	decision.outcome == "allow"
}

test_what_people_signed_beyond_a_budget_is_allowed_and_takes_of_it if {
	votes := [given.approve("bob"), given.approve("cyd")]
	decision := decide(asking, object.union(over(["refunds"]), {"votes": votes}))
	decision.outcome == "allow"
	count(decision.budgets) == 1
}

test_a_limit_that_asks_always_asks_whatever_is_left if {
	decide(with_requirement({"refunds": limit}), question(refund)).outcome == "needs_approval"
}

test_flaws_are_named if {
	without := with_budget({"over": "approve"})
	of_chat := {"said": object.union(limit, {"when": {"connector": ["chat"]}})}
	found := config.flaws with input as {"tenant": "t1"}
		with data.countersign_config as {"t1": tenant(object.union(without, of_chat))}
	found == {
		"limits.refunds.budget.over: approve needs a requirement to ask for",
		"limits.said.budget: of the chat (chat) nothing is counted",
	}
}

test_a_whole_budget_has_no_flaws if {
	found := config.flaws with input as {"tenant": "t1"} with data.countersign_config as {"t1": tenant(asking)}
	found == set()
}

test_a_budget_of_a_wrong_shape_has_flaws if {
	every members in [
		{"per": "week"},
		{"by": "everybody"},
		{"over": "ask"},
		{"count": 0},
		{"sum": object.union(sum, {"at_most": "5e2"})},
		{"sum": object.union(sum, {"at_most": 500})},
		{"sum": object.remove(sum, ["currency"])},
		{"also": true},
	] {
		changed := object.union(object.remove(budget, object.keys(members)), members)
		limits := {"refunds": json.patch(limit, [{"op": "replace", "path": "/budget", "value": changed}])}
		found := config.flaws with input as {"tenant": "t1"} with data.countersign_config as {"t1": tenant(limits)}
		count(found) > 0
	}
	neither := {"refunds": json.patch(limit, [{"op": "remove", "path": "/budget/sum"}, {"op": "remove", "path": "/budget/count"}])}
	found := config.flaws with input as {"tenant": "t1"} with data.countersign_config as {"t1": tenant(neither)}
	count(found) > 0
}

stating(members) := {"p": {"ledger": {"demand": {"requirement": "none"}, "limits": {"sums": stated}}}} if {
	stated := {"comment": "Of the pack", "budget": object.union(budget, members)}
}

by_pack(limits, asked, members) := decision if {
	decision := effect.decision with input as asked
		with data.countersign_config as {"t1": tenant(limits)}
		with data.countersign_pack as stating(members)
}

test_a_pack_states_budgets_of_its_own if {
	every limits in [{}, {"other": {"comment": "Files", "when": {"connector": ["files"]}, "tier": "high"}}] {
		[use] := by_pack(limits, question(refund), {}).budgets
		[use.name, use.comment, use.key, use.amount] == ["sums", "Of the pack", "hook", "12.50"]
	}
	plain := effect.decision with input as question(refund)
		with data.countersign_config as given.config
		with data.countersign_pack as stating({})
	[use.name | some use in plain.budgets] == ["sums"]
}

test_an_effect_takes_of_budgets_of_limits_and_of_packs if {
	[use.name | some use in by_pack({"refunds": limit}, question(refund), {}).budgets] == ["refunds", "sums"]
}

test_a_budget_that_a_limit_and_a_pack_state_is_denied if {
	reasons := by_pack({"sums": limit}, question(refund), {}).reasons
	{reason.code | some reason in reasons} == {"budgets.unreadable"}
}

test_what_takes_nobody_knows_how_much_of_a_packs_budget_is_denied if {
	reasons := by_pack({}, question({}), {}).reasons
	{reason.code | some reason in reasons} == {"budgets.unreadable"}
}
