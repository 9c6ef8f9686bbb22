// Written by `python -m tools.verifier_shapes` from the program's models. Do not change it here.

import {costsAgree, isOneThing} from "./forms.js";
import {
  all, anything, closed, counted, hex64, identifier, like, list, long, mapping, moment, namedLike, natural, oneOf, open,
  orNull, someText, text, truth, whole, within,
} from "./shapes.js";

/** The digests of one subject. */
const DIGESTS_SHAPE = closed({sha256: hex64});

/** One member. */
const SUBJECT_SHAPE = closed({name: someText, digest: DIGESTS_SHAPE});

/** How many files the folders hold. */
const COUNTS_SHAPE = closed({
  decisions: whole, policies: whole, approvals: whole, receipts: whole, reads: whole,
});

/** What the bundle is about, in the few facts that everything else hangs on. */
const PREDICATE_SHAPE = closed({
  run_id: identifier, tenant: someText, definition_digest: hex64, sealed_seq: counted, audit_head: hex64,
  counts: COUNTS_SHAPE, key_id: hex64,
});

/** The whole statement. */
export const STATEMENT_SHAPE = closed({
  _type: oneOf("https://in-toto.io/Statement/v1"), subject: list(SUBJECT_SHAPE),
  predicateType: oneOf("urn:countersign:run-evidence:v1"), predicate: PREDICATE_SHAPE,
});

/** Which definition the run executed. */
const DEFINITION_REF_SHAPE = open({name: someText, version: whole, digest: hex64});

/** `run.json`; `outcome` is the word with which the run ended, "" where it named none. */
export const RUN_RECORD_SHAPE = open({
  run_id: identifier, tenant: someText, definition: DEFINITION_REF_SHAPE, requested_by: text, submitted_by: text,
  status: someText, "outcome?": text, sealed_seq: counted, audit_head: hex64,
});

/** One step of the definition; `verb` is "" where it calls none. */
const STEP_RECORD_SHAPE = open({id: someText, "verb?": someText});

/** How a verb executes: `handler` is connector and operation, joined by `::`; `wait` is `timer` for a timer's. */
const EXECUTION_SHAPE = open({handler: someText, "wait?": orNull(text)});

/** Whether a verb changes the world outside, or else passes the gate all the same. */
const EFFECT_CLASS_SHAPE = open({class: oneOf("read", "write"), "governed?": truth});

/** One verb of the definition. */
const VERB_RECORD_SHAPE = open({execution: EXECUTION_SHAPE, effect: EFFECT_CLASS_SHAPE});

/** `definition.json`. */
export const DEFINITION_RECORD_SHAPE = open({steps: list(STEP_RECORD_SHAPE), verbs: mapping(VERB_RECORD_SHAPE)});

/** After how long those next in line are asked, how much longer there is then (ISO 8601), and what is started. */
const ESCALATION_FORM_SHAPE = open({
  after: someText, "to?": list(text), "extend?": someText, "start?": orNull(someText),
});

/** The conditions of the cases, and whether there is an `else`. */
const SWITCH_FORM_SHAPE = open({cases: list(text), otherwise: truth});

/** How often at most, None where a list says it, and how often at a time. */
const REPEAT_FORM_SHAPE = open({"at_most?": orNull(whole), "at_most_at_once?": whole});

/** A time (`for`) or moment (`until`), or a signal within `timeout` or before `until`: texts with expressions. */
const WAIT_FORM_SHAPE = open({
  "for?": orNull(text), "until?": orNull(text), "signal?": orNull(text), "timeout?": orNull(text),
});

/** The word with which the run ends, and what it gives; None where nothing is said of that. */
const END_FORM_SHAPE = open({outcome: someText, "result?": anything});

/** One step of the definition: `when` is its condition, `within` the branch of the step around it that it is in. */
const STEP_FORM_SHAPE = all(open({
  id: someText, "verb?": someText, when: anything, "in?": text, "timeout?": orNull(someText),
  "until?": orNull(someText), "escalation?": orNull(list(ESCALATION_FORM_SHAPE)),
  "on_error?": orNull(oneOf("needs_attention")), "switch?": orNull(SWITCH_FORM_SHAPE),
  "repeat?": orNull(REPEAT_FORM_SHAPE), "wait?": orNull(WAIT_FORM_SHAPE), "end?": orNull(END_FORM_SHAPE),
}), isOneThing);

/** How a verb executes; `wait` is what a durable one waits for. */
const EXECUTION_FORM_SHAPE = open({
  handler: someText, wait: orNull(text), kind: oneOf("sync", "durable"), timeout: someText,
  escalation: orNull(list(ESCALATION_FORM_SHAPE)), correlation_field: orNull(text),
});

/** What a verb does to the world; `target` and `idempotency_key` are templates. */
const EFFECT_CLASS_FORM_SHAPE = open({
  class: oneOf("read", "write"), "governed?": truth, tier: oneOf("low", "medium", "high"), reversible_by: orNull(text),
  target: text, idempotency_key: text,
});

/** One verb of the definition. */
const VERB_FORM_SHAPE = open({
  execution: EXECUTION_FORM_SHAPE, effect: EFFECT_CLASS_FORM_SHAPE, description: text, "editable?": list(text),
});

/** What starts runs of the definition; `when` is the condition for it, None where each trigger of the type does. */
const TRIGGER_FORM_SHAPE = open({type: text, "when?": orNull(someText), "about?": orNull(someText)});

/** `target` waits for `source`; where it only comes after it, `kind` is `order`. */
const EDGE_FORM_SHAPE = open({source: text, target: text, "kind?": text});

/** `definition.json`. */
export const DEFINITION_FORM_SHAPE = open({
  steps: list(STEP_FORM_SHAPE), verbs: mapping(VERB_FORM_SHAPE), name: someText, version: whole,
  trigger: TRIGGER_FORM_SHAPE, edges: list(EDGE_FORM_SHAPE), "output?": anything, "questions_to?": someText,
});

/** Who is behind a state change. */
const ACTOR_SHAPE = closed({id: someText, kind: oneOf("person", "agent", "schedule", "system")});

/** What a leaf is about, beyond its run. */
const CORRELATION_SHAPE = closed({
  request_id: orNull(text), run_id: orNull(text), step: orNull(text), approval_id: orNull(text),
  effect_id: orNull(text),
});

/** One state change of one run; what it says (`data`) may stand apart, and is then built each time. */
export const LEAF_SHAPE = closed({
  run_id: identifier, seq: counted, prev_hash: hex64, hash: hex64, at: moment,
  event: all(like(/^[a-z0-9_]+(\.[a-z0-9_]+)+$/u), long(0, 128)), actor: ACTOR_SHAPE, correlation: CORRELATION_SHAPE,
  data: mapping(anything),
});

/** Who wanted the effect, as policy was told. */
const ASKED_ACTOR_SHAPE = open({id: text});

/** The effect, as policy was told. */
const ASKED_EFFECT_SHAPE = open({
  connector: text, operation: text, target: text, fields: mapping(anything), tier: someText, digest: hex64,
});

/** For whom a vote was given, and who recorded that its person may. */
const DELEGATION_RECORD_SHAPE = open({delegator: someText, recorded_by: someText});

/** That a vote used break-glass: its ticket, and how often its person has used it (`nth`), this one included. */
const BREAK_GLASS_USE_RECORD_SHAPE = open({ticket: someText, nth: counted});

/** Frozen and strict in what it names. Other members are kept, and count when two records are compared. */
const EXTENSIBLE_SHAPE = open({});

/** A counted vote, as policy was told or as an approval has it, with the groups that the person was in then. */
const VOTE_RECORD_SHAPE = open({
  person: someText, groups: list(text), verdict: oneOf("approve", "reject", "changes"),
  "delegation?": DELEGATION_RECORD_SHAPE, "break_glass?": BREAK_GLASS_USE_RECORD_SHAPE,
  "signed_with?": oneOf("passkey"), "passkey?": EXTENSIBLE_SHAPE,
});

/** What policy was told of counters: of which budgets too little was left (`over`). */
const COUNTERS_RECORD_SHAPE = open({"over?": list(text)});

/** The question that was put to policy. */
const ASKED_SHAPE = open({
  actor: ASKED_ACTOR_SHAPE, effect: ASKED_EFFECT_SHAPE, votes: list(VOTE_RECORD_SHAPE),
  "counters?": COUNTERS_RECORD_SHAPE,
});

/** Who was asked, too, once `after` (ISO 8601) had passed. */
const NEXT_IN_LINE_RECORD_SHAPE = open({after: text, to: list(text)});

/** Who could do without the others, how often within a time, and who had to say afterwards if that was right. */
const BREAK_GLASS_RECORD_SHAPE = open({
  groups: list(text, 1), at_most: counted, within: someText, tell: list(text), review_by: list(text, 1),
  review_within: someText,
});

/** Times of the week: from a time of these days until another, on the day after where that is not later. */
const WINDOW_RECORD_SHAPE = open({
  days: list(oneOf("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 1), from: like(/^[0-9]{2}:[0-9]{2}$/u),
  until: like(/^[0-9]{2}:[0-9]{2}$/u),
});

/** When an allowed effect might begin, `within` a time after the approval (ISO 8601). */
const EXECUTE_RECORD_SHAPE = open({
  "not_before?": like(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/u),
  "between?": list(WINDOW_RECORD_SHAPE), "time_zone?": someText, within: someText,
});

/** Of these groups so many distinct people had to approve; with `all_groups`, one of its own for each group. */
const SIGNER_CLASS_RECORD_SHAPE = open({groups: list(text, 1), quorum: counted, all_groups: truth});

/** What a human authorization had to fulfil. */
const REQUIREMENT_RECORD_SHAPE = open({
  quorum: counted, groups: list(text, 1), all_groups: truth, exclude: list(text),
  escalate_to: list(NEXT_IN_LINE_RECORD_SHAPE), "break_glass?": BREAK_GLASS_RECORD_SHAPE,
  "sign_with?": oneOf("passkey"), "pause_on_question?": someText, "execute?": EXECUTE_RECORD_SHAPE,
  "classes?": list(SIGNER_CLASS_RECORD_SHAPE, 1), "veto?": list(text, 1),
});

/** What an effect took of a budget: one of `count`, and `amount` of `sum`; each day or month begins it again. */
const BUDGET_RECORD_SHAPE = open({
  name: someText, by: oneOf("requester", "agent", "target"), key: someText, per: oneOf("day", "month"),
  time_zone: someText, "count?": counted, "sum?": like(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/u),
  "amount?": like(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/u), over: oneOf("deny", "wait", "approve"),
});

/** Policy's answer. */
const ANSWERED_SHAPE = open({
  outcome: oneOf("allow", "deny", "needs_approval"), requirement: orNull(REQUIREMENT_RECORD_SHAPE),
  "execute?": EXECUTE_RECORD_SHAPE, "budgets?": list(BUDGET_RECORD_SHAPE),
});

/** One file of `decisions/`. With `development` nobody had activated the policy that decided. */
export const DECISION_RECORD_SHAPE = open({
  id: identifier, effect_id: identifier, outcome: oneOf("allow", "deny", "needs_approval"), input: ASKED_SHAPE,
  answer: ANSWERED_SHAPE, policy_digest: hex64, "development?": oneOf(true),
});

/** Who wanted the effect, and who sent the trigger. */
const ACTOR_FORM_SHAPE = open({id: text, kind: text, submitted_by: text});

/** The effect, as policy was told; `reads` is there where it is a governed read. */
const EFFECT_FORM_SHAPE = open({
  connector: text, operation: text, target: text, fields: mapping(anything), tier: someText, digest: hex64,
  reversible: truth, "reads?": truth,
});

/** A vote, as policy was told. */
const TOLD_VOTE_SHAPE = open({
  person: someText, groups: list(text), verdict: oneOf("approve", "reject", "changes"),
  "delegation?": DELEGATION_RECORD_SHAPE, "break_glass?": BREAK_GLASS_USE_RECORD_SHAPE,
  "signed_with?": oneOf("passkey"), "passkey?": EXTENSIBLE_SHAPE, at: moment,
});

/** The run, as policy was told. */
const RUN_FORM_SHAPE = open({id: text, definition: text, version: whole, trigger_type: text});

/** From when until when an approval can be given and used, as policy was told. */
const TERM_FORM_SHAPE = open({requested_at: moment, expires_at: moment, "usable_until?": moment});

/** By whom the effect had been edited, and what had been asked for, as policy was told. */
const TOLD_EDITS_SHAPE = open({by: list(text), requested: mapping(anything)});

/** The whole question; `named` is who is named in fields of the effect, by field, null where that was not known. */
const QUESTION_FORM_SHAPE = open({
  actor: ACTOR_FORM_SHAPE, effect: EFFECT_FORM_SHAPE, votes: list(TOLD_VOTE_SHAPE), "counters?": COUNTERS_RECORD_SHAPE,
  time: moment, tenant: text, run: RUN_FORM_SHAPE, step: text, approval: orNull(TERM_FORM_SHAPE),
  "edited?": orNull(TOLD_EDITS_SHAPE), "named?": orNull(mapping(orNull(list(text)))),
});

/** What a human authorization had to fulfil, with its duration (ISO 8601). */
const REQUIREMENT_FORM_SHAPE = open({
  quorum: counted, groups: list(text, 1), all_groups: truth, exclude: list(text),
  escalate_to: list(NEXT_IN_LINE_RECORD_SHAPE), "break_glass?": BREAK_GLASS_RECORD_SHAPE,
  "sign_with?": oneOf("passkey"), "pause_on_question?": someText, "execute?": EXECUTE_RECORD_SHAPE,
  "classes?": list(SIGNER_CLASS_RECORD_SHAPE, 1), "veto?": list(text, 1), expires_in: someText, reason_required: truth,
});

/** Why policy, or the gate, says so. */
const REASON_FORM_SHAPE = open({code: text});

/** The whole answer; `rules` names those behind the reasons and the requirement, where the policy does. */
const ANSWER_FORM_SHAPE = open({
  outcome: oneOf("allow", "deny", "needs_approval"), requirement: orNull(REQUIREMENT_FORM_SHAPE),
  "execute?": EXECUTE_RECORD_SHAPE, "budgets?": list(BUDGET_RECORD_SHAPE), tier: oneOf("low", "medium", "high"),
  reasons: list(REASON_FORM_SHAPE), "rules?": list(someText, 1),
});

/** One file of `decisions/`. */
export const DECISION_FORM_SHAPE = open({
  id: identifier, effect_id: identifier, outcome: oneOf("allow", "deny", "needs_approval"), input: QUESTION_FORM_SHAPE,
  answer: ANSWER_FORM_SHAPE, policy_digest: hex64, "development?": oneOf(true), run_id: text, step: text,
  opa_version: someText,
});

/** One file of `approvals/`. `digest` is what the approval is bound to: for an effect, the effect's digest. */
export const APPROVAL_RECORD_SHAPE = open({
  id: identifier, kind: oneOf("effect", "task", "in_doubt", "afterwards"), effect_id: orNull(text), digest: text,
  requirement: REQUIREMENT_RECORD_SHAPE, status: oneOf("requested", "approved", "rejected", "expired", "canceled"),
  votes: list(VOTE_RECORD_SHAPE), cards: list(anything),
});

/** A delegation, as it stands on a vote. */
const DELEGATION_FORM_SHAPE = open({
  delegator: someText, recorded_by: someText, delegation_id: someText, delegator_name: text, groups: list(text),
  starts_at: moment, ends_at: moment, reason: text, acts: list(LEAF_SHAPE, 1),
});

/** With what a vote was signed, and the acts about that passkey in the tenant's chain until then. */
const PASSKEY_FORM_SHAPE = open({
  credential_id: like(/^[A-Za-z0-9_-]{1,20000}$/u), nonce: text, authenticator_data: like(/^[A-Za-z0-9_-]{1,20000}$/u),
  client_data: like(/^[A-Za-z0-9_-]{1,20000}$/u), signature: like(/^[A-Za-z0-9_-]{1,20000}$/u),
  acts: list(LEAF_SHAPE, 1),
});

/** What a page of the console showed: of which approval, as it was then, and its text, line by line. */
const SHOWN_FORM_SHAPE = open({id: someText, digest: someText, stamp: someText, text: list(text)});

/** By which account of which issuer a vote was given in the console, and what the page showed. */
const CONSOLE_FORM_SHAPE = open({issuer: someText, subject: someText, shown: SHOWN_FORM_SHAPE});

/** One act that decided several requests, as it stands on each vote. */
const TOGETHER_FORM_SHAPE = open({id: someText, count: within(2, Infinity)});

/** The Slack account that clicked. */
const ACCOUNT_FORM_SHAPE = open({team: text, user: text});

/** A counted vote. */
const VOTE_FORM_SHAPE = open({
  person: someText, groups: list(text), verdict: oneOf("approve", "reject", "changes"),
  "delegation?": DELEGATION_FORM_SHAPE, "break_glass?": BREAK_GLASS_USE_RECORD_SHAPE, "signed_with?": oneOf("passkey"),
  "passkey?": PASSKEY_FORM_SHAPE, "console?": CONSOLE_FORM_SHAPE, "together?": TOGETHER_FORM_SHAPE, person_name: text,
  reason: text, slack: ACCOUNT_FORM_SHAPE, at: moment,
});

/** One param; its value `before` or `after` is left out where it was, or is, not given. */
const CHANGE_FORM_SHAPE = open({param: someText});

/** What somebody made of a request: from which digest to which, and what they changed (`param`, before, after). */
const EDIT_FORM_SHAPE = open({
  person: someText, groups: list(text), reason: text, slack: ACCOUNT_FORM_SHAPE, from: hex64, to: hex64,
  changes: list(CHANGE_FORM_SHAPE, 1), at: moment,
});

/** What was answered: `by` whom, a `person` or an `agent`; `group` where it was for the group for questions. */
const REPLY_FORM_SHAPE = open({
  by: someText, kind: oneOf("person", "agent"), name: text, text: text, at: moment, "group?": someText,
});

/** What a person asked about a request, with its answer where there is one. */
const QUESTION_OF_FORM_SHAPE = open({
  id: someText, person: someText, person_name: text, question: text, at: moment, "answer?": REPLY_FORM_SHAPE,
});

/** One file of `approvals/`. */
export const APPROVAL_FORM_SHAPE = open({
  id: identifier, kind: oneOf("effect", "task", "in_doubt", "afterwards"), effect_id: text, digest: text,
  requirement: REQUIREMENT_FORM_SHAPE, status: oneOf("requested", "approved", "rejected", "expired", "canceled"),
  votes: list(VOTE_FORM_SHAPE), cards: list(anything), step: text, tier: oneOf("low", "medium", "high"),
  reasons: list(REASON_FORM_SHAPE), purpose: text, requested_at: moment, expires_at: moment,
  "edited?": orNull(EDIT_FORM_SHAPE), "questions?": list(QUESTION_OF_FORM_SHAPE),
});

/** What the other side said of a call: HTTP status, its id of the (last) request, how many requests were sent. */
const METADATA_SHAPE = closed({
  status: orNull(within(100, 599)), request_id: orNull(all(like(/^[^\x00-\x1f\x7f]+$/u), long(1, 200))),
  requests: orNull(within(1, 2147483648)),
});

/** What a call used of one provider and model: amounts by unit (`input_tokens`), and what that cost. */
const USAGE_SHAPE = all(closed({
  provider: all(like(/^[^\x00-\x1f\x7f]+$/u), long(1, 200)),
  model: orNull(all(like(/^[^\x00-\x1f\x7f]+$/u), long(1, 200))),
  units: namedLike(/^[a-z][a-z0-9_]{0,63}$/u, 32, like(/^(0|[1-9][0-9]{0,14})(\.[0-9]{0,11}[1-9])?$/u)),
  cost: orNull(like(/^(0|[1-9][0-9]{0,14})(\.[0-9]{0,11}[1-9])?$/u)), currency: orNull(like(/^[A-Z]{3}$/u)),
}), costsAgree);

/** All that was told of one call; `not_recorded` is why what was told is not here, where it could not be read. */
const CALL_REPORT_SHAPE = closed({
  metadata: orNull(METADATA_SHAPE), usage: list(USAGE_SHAPE, 0, 64), not_recorded: orNull(long(0, 4000)),
});

/** One attempt at one effect. Written once, never changed: a later fact about the effect is another receipt. */
export const RECEIPT_SHAPE = closed({
  receipt_id: identifier, tenant: someText, run_id: identifier, step: text, effect_id: identifier, attempt: natural,
  connector: someText, operation: someText, target: text, idempotency_key: someText, fingerprint: hex64,
  outcome: oneOf("success", "failure", "refusal", "in_doubt"), request: anything, response: anything,
  redacted: list(text), reversible_by: orNull(text), decision_id: orNull(identifier), approval_id: orNull(identifier),
  started_at: moment, finished_at: moment, error: orNull(text), "mocked?": truth, "told?": orNull(CALL_REPORT_SHAPE),
});

/** A document that is on no record: the bytes of its canonical form, and a commitment under the tenant's salt. */
const MEASURED_SHAPE = closed({bytes: natural, commitment: like(/^[0-9a-f]{32}$/u)});

/** One attempt at a read, which ended. Written once; an attempt whose worker was lost has none. */
export const READ_RECORD_SHAPE = closed({
  read_id: identifier, tenant: someText, run_id: identifier, step: someText, verb: someText, handler: someText,
  attempt: counted, started_at: moment, finished_at: moment, outcome: oneOf("success", "failure"),
  request: MEASURED_SHAPE, response: orNull(MEASURED_SHAPE), told: orNull(CALL_REPORT_SHAPE), error: orNull(text),
});

/** From when a key counts no more, and why. */
const REVOCATION_SHAPE = closed({at: moment, why: someText});

/** One key. `public_key` is its DER SubjectPublicKeyInfo, and `signature` (Ed25519) a later key's, both in base64. */
const ENTRY_SHAPE = closed({
  id: hex64, public_key: text, from: moment, "until?": orNull(moment), "revoked?": orNull(REVOCATION_SHAPE),
  "signed_by?": orNull(hex64), "signature?": orNull(text),
});

/** All keys of a tenant, the oldest first. */
export const REGISTER_SHAPE = closed({keys: list(ENTRY_SHAPE)});

/** So many leaves that follow each other in the chain and in the log: from a leaf on, from an index on. */
const SPAN_SHAPE = closed({first_seq: counted, count: counted, first_index: natural});

/** The file that says where the leaves of a run stand, and why that holds. */
export const INCLUSION_SHAPE = closed({places: list(SPAN_SHAPE), proof: list(hex64)});

/** Where a leaf of the tenant's own chain stands in the log. */
const ACT_PLACE_SHAPE = closed({seq: counted, index: natural});

/** The file that says where the acts that votes rest on stand, and why that holds. */
export const ACTS_SHAPE = closed({places: list(ACT_PLACE_SHAPE, 1), proof: list(hex64)});

/** The decision of policy that allowed an act, or denied it, by OPA's id and the digest of the policy's text. */
const ALLOWED_SHAPE = closed({decision_id: someText, digest: hex64});

/** A person has a passkey from now on, on the invitation of another. */
export const PASSKEY_REGISTERED_SHAPE = closed({
  credential_id: like(/^[A-Za-z0-9_-]{1,20000}$/u), person: someText, reason: someText, policy: ALLOWED_SHAPE,
  public_key: like(/^[A-Za-z0-9_-]{1,20000}$/u), algorithm: oneOf(-7, -8, -257),
  origin: like(/^(?:https:\/\/([a-z0-9.-]+)|http:\/\/(localhost))(?::[0-9]{1,5})?$/u), invited_by: someText,
});

/** From `starts_at` until before `ends_at` the delegate votes for the delegator, in these groups of theirs. */
export const DELEGATION_RECORDED_SHAPE = closed({
  delegation_id: identifier, reason: someText, policy: ALLOWED_SHAPE, delegator: someText, delegate: someText,
  groups: list(someText, 1), starts_at: moment, ends_at: moment,
});

/** A version that was looked at when a trigger came. */
const CANDIDATE_SHAPE = open({name: someText, version: whole, digest: hex64});

/** Of the data of `run.queued`, among which versions the run's own was chosen. */
export const CHOSEN_SHAPE = open({among: list(CANDIDATE_SHAPE)});

/** The data of `effect.proposed`; `action` is connector and operation, joined by `::`. */
export const PROPOSED_SHAPE = open({action: text, target: text, digest: text});

/** The data of `effect.waiting`: by which decision, and from when until when the effect may begin. */
export const WAITING_SHAPE = open({decision_id: someText, since: moment, opens_at: moment, until: moment});

/** The data of `wait.opened`. */
export const OPENED_SHAPE = open({
  wait_id: someText, type: text, correlation_key: text, deadline: moment,
});

/** Which run was started because another one waits too long, or why none was. */
const STARTED_FORM_SHAPE = open({runbook: someText, "run_id?": someText, "error?": someText});

/** The data of `wait.escalated`. */
export const ESCALATED_SHAPE = open({
  wait_id: someText, entry: natural, to: list(text), "deadline?": moment, "started?": orNull(STARTED_FORM_SHAPE),
});

/** The data of `wait.progress`; `count` is how often there was word. */
export const PROGRESSED_SHAPE = open({wait_id: someText, count: counted});

/** What the data of a `wait.completed` say of the run for whose end the step waited. */
export const CHILD_ENDED_SHAPE = open({child: someText, child_end: hex64});

/** How much of a budget is taken in a day or month (`period`): so many effects (`count`), and in all a `sum`. */
const TAKEN_SHAPE = open({
  name: someText, period: someText, count: natural, "sum?": like(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/u),
});

/** The data of `budget.reserved`: what an attempt took of `budgets`, and of which its effect had taken (`kept`). */
export const RESERVED_SHAPE = open({decision_id: someText, budgets: list(TAKEN_SHAPE), kept: list(text)});

/** The data of `budget.used` and `budget.released`: the names of the budgets. */
export const RETURNED_SHAPE = open({budgets: list(text, 1)});

/** The data of `budget.spent`: of which budgets too little was left, and until when the effect waits for that. */
export const SPENT_SHAPE = open({
  decision_id: someText, budgets: list(TAKEN_SHAPE, 1), "opens_at?": moment,
});

/** The data of `question.asked` and `question.answered`; `digest` is that of the question, or of the answer. */
export const QUESTION_LEAF_SHAPE = open({
  approval_id: someText, question_id: someText, person: someText, digest: hex64, "deadline?": moment,
});

/** The data of `vote.withdrawn`; `digest` is that of the vote. */
export const WITHDRAWN_SHAPE = open({approval_id: someText, person: someText, digest: hex64, reason: text});

/** The data of `approval.handed`. */
export const HANDED_SHAPE = open({approval_id: someText, person: someText, to: someText, reason: text});

/** The data of `approval.fell_back`: why those who are asked cannot decide, and to which groups it went as well. */
export const FELL_BACK_SHAPE = open({approval_id: someText, why: someText, to: list(text)});

/** What policy said of an act: OPA's id of the decision, and the digest of the text that gave it. */
const ALLOWED_FORM_SHAPE = open({decision_id: text, digest: hex64});

/** What somebody said who wanted a run canceled; the program's own wish needs nobody's leave. */
export const CANCEL_FORM_SHAPE = open({reason: text, "policy?": orNull(ALLOWED_FORM_SHAPE)});

/** What a person said of a step that needs attention; `result` is the commitment of what they supplied. */
export const SETTLED_FORM_SHAPE = open({reason: text, policy: ALLOWED_FORM_SHAPE, "result?": orNull(text)});

/** What members are called that a bundle may have, beside its statement. */
export const MEMBERS = /^(?:run\.json|definition\.json|audit\.jsonl|timeline\.md|README\.md|summary\.md|costs\.json|log\/checkpoint\.txt|log\/inclusion\.json|log\/acts\.json|log\/checkpoint\.tsr|(decisions|receipts|reads)\/[0-9]{5,}-[A-Za-z0-9_-]{1,128}\.json|approvals\/[A-Za-z0-9_-]{1,128}\.json|policies\/[0-9a-f]{64}\/[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*)$/u;
