package countersign.operator_test

import data.countersign.effect.given_test as given
import data.countersign.operator

config := {"t1": object.union(given.tenant, {"operators": ["ops"]})}

question := {
	"time": "2026-01-05T10:00:00Z",
	"tenant": "t1",
	"actor": {"id": "omar", "kind": "person", "groups": ["ops"], "submitted_by": "omar"},
	"act": "supply",
	"run": {
		"id": "r1",
		"definition": "d",
		"version": 1,
		"trigger_type": "t",
		"requested_by": "ann",
		"submitted_by": "hook",
	},
	"step": {"path": "s", "status": "needs_attention", "verb": "v", "code": "refused", "error_class": "transport", "people": "none"},
}

waiting := {"step": {"status": "parked", "code": "", "error_class": ""}}

test_a_person_of_the_operators_may_supply_or_skip_a_step_that_waits if {
	every act in {"supply", "skip"} {
		codes(object.union(waiting, {"act": act})) == set()
	}
}

test_who_asked_for_the_run_may_not_supply_or_skip_a_step_that_waits if {
	every act in {"supply", "skip"} {
		every name in {"requested_by", "submitted_by"} {
			codes(object.union(waiting, {"act": act, "run": {name: "omar"}})) == {"operator.own_request"}
		}
	}
}

codes(changes) := {reason.code | some reason in decision.reasons} if {
	decision := operator.decision with input as object.union(question, changes)
		with data.countersign_config as config
}

by(person, act, people) := {"actor": {"id": person}, "act": act, "step": {"people": people}}

test_a_person_of_the_operators_may_do_all_four if {
	every act in {"retry", "supply", "skip", "end"} {
		decision := operator.decision with input as object.union(question, {"act": act})
			with data.countersign_config as config
		decision == {"outcome": "allow", "reasons": []}
	}
}

stopping(actor) := object.union(question, {"act": "cancel", "step": null, "actor": actor})

stops(actor) if {
	decision := operator.decision with input as stopping(actor) with data.countersign_config as config
	decision == {"outcome": "allow", "reasons": []}
}

test_a_run_is_stopped_by_operators_by_who_asked_for_it_and_by_callers_that_may if {
	stops({})
	stops({"id": "ann", "groups": []})
	stops({"id": "desk-bot", "kind": "agent", "groups": [], "submitted_by": "desk-bot"})
	not stops({"groups": ["compliance"]})
	not stops({"id": "hook", "groups": []})
	not stops({"id": "desk-bot", "kind": "agent", "groups": [], "submitted_by": "portal-bot"})
	not stops({"id": "ann", "kind": "agent", "groups": []})
}

test_who_asked_for_a_run_does_nothing_else_by_that if {
	codes({"actor": {"id": "ann", "groups": []}, "act": "end"}) == {"operator.not_entitled"}
}

test_a_run_is_stopped_and_a_step_is_held if {
	codes({"act": "cancel"}) == {"operator.unknown_act"}
	codes({"act": "end", "step": null}) == {"operator.unknown_act"}
}

delegation := {
	"delegator": "ann",
	"delegate": "ben",
	"groups": ["compliance"],
	"starts_at": "2026-01-05T10:00:00Z",
	"ends_at": "2026-01-12T10:00:00Z",
}

delegating(act, person, groups) := object.union(
	json.remove(question, ["run", "step"]),
	{
		"act": act,
		"run": null,
		"step": null,
		"delegation": delegation,
		"actor": {"id": person, "kind": "person", "groups": groups, "submitted_by": person},
	},
)

said_of(asked) := {reason.code | some reason in decision.reasons} if {
	decision := operator.decision with input as asked with data.countersign_config as config
}

test_operators_and_whoever_is_away_say_who_votes_for_them if {
	every act in ["delegate", "undelegate"] {
		said_of(delegating(act, "omar", ["ops"])) == set()
		said_of(delegating(act, "ann", ["compliance"])) == set()
		said_of(delegating(act, "eve", ["compliance"])) == {"operator.not_entitled"}
	}
}

test_nobody_records_that_they_vote_for_somebody_else if {
	said_of(delegating("delegate", "ben", ["ops"])) == {"operator.own_delegation"}
	said_of(delegating("undelegate", "ben", ["ops"])) == set()
}

test_who_votes_for_whom_is_about_no_run if {
	changed := object.union(delegating("delegate", "omar", ["ops"]), {"run": question.run})
	said_of(changed) == {"operator.unknown_act"}
	"operator.unknown_act" in said_of(json.remove(delegating("delegate", "omar", ["ops"]), ["delegation"]))
	"operator.unknown_act" in said_of(object.union(question, {"run": null}))
}

test_an_agent_says_for_nobody_who_votes if {
	asked := object.union(delegating("delegate", "ann", []), {"actor": {"kind": "agent"}})
	said_of(asked) == {"operator.not_entitled"}
}

with_passkey(act, person, groups) := object.union(
	json.remove(question, ["run", "step"]),
	{
		"act": act,
		"run": null,
		"step": null,
		"passkey": {"person": "ann", "credential_id": "c1"},
		"actor": {"id": person, "kind": "person", "groups": groups, "submitted_by": person},
	},
)

test_operators_invite_others_and_revoke if {
	said_of(with_passkey("invite_passkey", "omar", ["ops"])) == set()
	said_of(with_passkey("revoke_passkey", "omar", ["ops"])) == set()
	said_of(with_passkey("invite_passkey", "eve", ["compliance"])) == {"operator.not_entitled"}
	said_of(with_passkey("revoke_passkey", "eve", ["compliance"])) == {"operator.not_entitled"}
}

test_nobody_invites_themselves_and_all_revoke_their_own if {
	said_of(with_passkey("invite_passkey", "ann", ["ops"])) == {"operator.own_passkey"}
	said_of(with_passkey("revoke_passkey", "ann", ["compliance"])) == set()
}

test_a_passkey_is_about_no_run if {
	changed := object.union(with_passkey("invite_passkey", "omar", ["ops"]), {"run": question.run})
	said_of(changed) == {"operator.unknown_act"}
	"operator.unknown_act" in said_of(json.remove(with_passkey("invite_passkey", "omar", ["ops"]), ["passkey"]))
}

test_an_empty_question_is_denied if {
	operator.decision.outcome == "deny" with input as {}
}

test_others_may_do_nothing if {
	codes({"actor": {"groups": ["compliance"]}}) == {"operator.not_entitled"}
	codes({"actor": {"kind": "agent"}}) == {"operator.not_entitled"}
	codes({"tenant": "t2"}) == {"operator.not_entitled"}
}

test_a_tenant_without_operators_has_none if {
	decision := operator.decision with input as question with data.countersign_config as given.config
	decision.outcome == "deny"
}

test_an_act_that_is_none_is_denied if {
	codes({"act": "undo"}) == {"operator.unknown_act"}
}

test_who_asked_neither_supplies_nor_skips_what_others_sign if {
	codes(by("ann", "supply", "sign")) == {"operator.own_request"}
	codes(by("ann", "skip", "sign")) == {"operator.own_request"}
	codes(by("hook", "skip", "answer")) == {"operator.own_request"}
	codes({"act": "skip", "step": {"people": "sign"}, "run": {"requested_by": null}}) == {"operator.own_request"}
	codes(by("ann", "retry", "sign")) == set()
	codes(by("ann", "end", "answer")) == set()
	codes(by("ann", "supply", "none")) == set()
}

test_nobody_answers_in_the_place_of_those_who_are_asked if {
	codes({"step": {"people": "answer"}}) == {"operator.answer_of_others"}
	codes({"step": {"people": "perhaps"}}) == {"operator.answer_of_others"}
	codes({"act": "skip", "step": {"people": "answer"}}) == set()
}

test_what_no_rule_vouches_for_is_denied if {
	decision := operator.decision with input as question
		with data.countersign_config as config
		with operator.permitted as false
	decision.reasons[0].code == "operator.undefined"
}

link(actor, changes) := object.union(
	object.union(question, {"act": "install_link", "run": null, "step": null, "actor": actor}),
	changes,
)

test_leave_to_install_the_app_is_given_by_people_of_the_operators_alone if {
	said_of(link({}, {})) == set()
	said_of(link({"groups": ["compliance"]}, {})) == {"operator.not_entitled"}
	said_of(link({"kind": "agent"}, {})) == {"operator.not_entitled"}
	"operator.unknown_act" in said_of(link({}, {"run": question.run}))
}
