// The forms of records, and of the data of leaves.

import {
  all, anything, closed, counted, demand, hex64, identifier, like, list, mapping, moment, namedLike, natural, oneOf,
  oneOrMore, open, orNull, several, someText, text, truth, whole, within,
} from "./shapes.js";

const OUTCOMES = oneOf("allow", "deny", "needs_approval");

export const ENVELOPE_REST = closed({payloadType: text, signatures: list(closed({keyid: text, sig: text}), 1, 1)});

export const STATEMENT_SHAPE = closed({
  _type: oneOf("https://in-toto.io/Statement/v1"),
  subject: list(closed({name: someText, digest: closed({sha256: hex64})})),
  predicateType: someText,
  predicate: closed({
    run_id: identifier,
    tenant: someText,
    definition_digest: hex64,
    sealed_seq: counted,
    audit_head: hex64,
    counts: closed({decisions: whole, policies: whole, approvals: whole, receipts: whole, "reads?": orNull(whole)}),
    builder_version: oneOf("1", "2"),
    "key_id?": orNull(hex64),
  }),
});

export const RUN_SHAPE = open({
  run_id: identifier,
  tenant: someText,
  definition: open({name: someText, version: whole, digest: hex64}),
  requested_by: text,
  submitted_by: text,
  status: someText,
  "outcome?": text,
  sealed_seq: counted,
  audit_head: hex64,
});

export const DEFINITION_SHAPE = open({
  steps: list(open({id: someText, "verb?": someText})),
  verbs: mapping(open({
    execution: open({handler: someText, "wait?": orNull(text)}),
    effect: open({class: oneOf("read", "write"), "governed?": truth}),
  })),
});

export const LEAF_SHAPE = closed({
  run_id: identifier,
  seq: counted,
  prev_hash: hex64,
  hash: hex64,
  at: moment,
  event: like(/^(?=.{1,128}$)[a-z0-9_]+(\.[a-z0-9_]+)+$/, "must be an event"),
  actor: closed({id: someText, kind: oneOf("person", "agent", "schedule", "system")}),
  correlation: closed({
    request_id: orNull(text),
    run_id: orNull(text),
    step: orNull(text),
    approval_id: orNull(text),
    effect_id: orNull(text),
  }),
  data: mapping(anything),
});

const VOTE_SHAPE = open({
  person: someText, groups: list(text), verdict: oneOf("approve", "reject", "changes"),
  "delegation?": open({delegator: someText, recorded_by: someText}),
  "break_glass?": open({ticket: someText, nth: counted}),
  "signed_with?": oneOf("passkey"), "passkey?": open({}),
});

/** Return whether those next in line are told without their times, as in what the first release asked. */
export const isOfGroups = (line) => Array.isArray(line) && line.some((entry) => typeof entry === "string");

const WINDOW_SHAPE = open({
  days: list(oneOf("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 1),
  from: like(/^[0-9]{2}:[0-9]{2}$/, "must be a time of the day"),
  until: like(/^[0-9]{2}:[0-9]{2}$/, "must be a time of the day"),
});

/** When an allowed effect might begin. */
const EXECUTE_SHAPE = open({
  "not_before?": like(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/, "must be a moment"),
  "between?": list(WINDOW_SHAPE), "time_zone?": someText, within: someText,
});

const REQUIREMENT_SHAPE = open({
  quorum: counted,
  groups: list(text, 1),
  all_groups: truth,
  exclude: list(text),
  escalate_to: (value, at) => list(isOfGroups(value) ? text : open({after: text, to: list(text)}))(value, at),
  "break_glass?": open({
    groups: list(text, 1), at_most: counted, within: someText, tell: list(text), review_by: list(text, 1),
    review_within: someText,
  }),
  "sign_with?": oneOf("passkey"),
  "execute?": EXECUTE_SHAPE,
  "pause_on_question?": someText,
});

export const DECISION_SHAPE = open({
  id: identifier,
  effect_id: identifier,
  outcome: OUTCOMES,
  input: open({
    actor: open({id: text}),
    effect: open({
      connector: text,
      operation: text,
      target: text,
      fields: mapping(anything),
      tier: someText,
      digest: hex64,
    }),
    votes: list(VOTE_SHAPE),
  }),
  answer: open({outcome: OUTCOMES, requirement: orNull(REQUIREMENT_SHAPE), "execute?": EXECUTE_SHAPE}),
  policy_digest: hex64,
});

export const APPROVAL_SHAPE = open({
  id: identifier,
  kind: oneOf("effect", "task", "in_doubt", "afterwards"),
  effect_id: orNull(text),
  digest: text,
  requirement: REQUIREMENT_SHAPE,
  status: oneOf("requested", "approved", "rejected", "expired", "canceled"),
  votes: list(VOTE_SHAPE),
  cards: list(anything),
});

const BASE64URL = like(/^[A-Za-z0-9_-]{1,20000}$/, "must be base64url");
export const ORIGIN = /^(?:https:\/\/([a-z0-9.-]+)|http:\/\/(localhost))(?::[0-9]{1,5})?$/;

/** The act by which a passkey is somebody's. */
export const REGISTERED_SHAPE = closed({
  credential_id: BASE64URL,
  person: someText,
  reason: someText,
  policy: closed({decision_id: someText, digest: hex64}),
  public_key: BASE64URL,
  algorithm: oneOf(-7, -8, -257),
  origin: like(ORIGIN, "must be an origin"),
  invited_by: someText,
});

/** The act by which somebody may vote for another. */
export const DELEGATED_SHAPE = closed({
  delegation_id: identifier,
  reason: someText,
  policy: closed({decision_id: someText, digest: hex64}),
  delegator: someText,
  delegate: someText,
  groups: list(someText, 1),
  starts_at: moment,
  ends_at: moment,
});

const WORD = like(/^[^\x00-\x1f\x7f]{1,200}$/u, "must be a word");
const AMOUNT = like(/^(0|[1-9][0-9]{0,14})(\.[0-9]{0,11}[1-9])?$/, "must be an amount");

const USAGE_SHAPE = all(closed({
  provider: WORD,
  model: orNull(WORD),
  units: namedLike(/^[a-z][a-z0-9_]{0,63}$/, 32, AMOUNT),
  cost: orNull(AMOUNT),
  currency: orNull(like(/^[A-Z]{3}$/, "must be a currency")),
}), ({cost, currency}, at) => demand((cost === null) === (currency === null), at, "cost and currency go together"));

const TOLD_SHAPE = closed({
  metadata: orNull(closed({
    status: orNull(within(100, 599)),
    request_id: orNull(WORD),
    requests: orNull(within(1, 2 ** 31)),
  })),
  usage: list(USAGE_SHAPE, 0, 64),
  not_recorded: orNull(like(/^.{0,4000}$/su, "must be text, and not so long")),
});

const MEASURED_SHAPE = closed({bytes: natural, commitment: like(/^[0-9a-f]{32}$/, "must be a commitment")});

export const READ_SHAPE = closed({
  read_id: identifier,
  tenant: someText,
  run_id: identifier,
  step: someText,
  verb: someText,
  handler: someText,
  attempt: counted,
  started_at: moment,
  finished_at: moment,
  outcome: oneOf("success", "failure"),
  request: MEASURED_SHAPE,
  response: orNull(MEASURED_SHAPE),
  told: orNull(TOLD_SHAPE),
  error: orNull(text),
});

export const RECEIPT_SHAPE = closed({
  receipt_id: identifier,
  tenant: someText,
  run_id: identifier,
  step: text,
  effect_id: identifier,
  attempt: natural,
  connector: someText,
  operation: someText,
  target: text,
  idempotency_key: someText,
  fingerprint: hex64,
  outcome: oneOf("success", "failure", "refusal", "in_doubt"),
  request: anything,
  response: anything,
  redacted: list(text),
  reversible_by: orNull(text),
  decision_id: orNull(identifier),
  approval_id: orNull(identifier),
  started_at: moment,
  finished_at: moment,
  error: orNull(text),
  "mocked?": truth,
  "told?": orNull(TOLD_SHAPE),
});

const TIER = oneOf("low", "medium", "high");
const REASONS = list(open({code: text}));
const REQUIRED = open({expires_in: someText, reason_required: truth});
const STEP_KINDS = ["verb", "set", "reference", "switch", "repeat", "wait", "end", "branch"];

/** Return what a step of the definition is: which of the kinds. */
export const kindOf = (step) => STEP_KINDS.find((kind) => Object.hasOwn(step, kind) && step[kind] !== null);

/** Who is asked as time runs short, and what is started: one entry, or a list of them. */
const ESCALATION_FORM = orNull(oneOrMore(open({
  after: someText, "to?": list(text), "extend?": someText, "start?": orNull(someText),
})));

/** A step of the definition: it is of one kind. */
const STEP_FORM = all(open({
  when: anything,
  "in?": text,
  "timeout?": orNull(someText),
  "until?": orNull(someText),
  "escalation?": ESCALATION_FORM,
  "on_error?": orNull(oneOf("hold")),
  "switch?": orNull(open({cases: list(text), otherwise: truth})),
  "repeat?": orNull(open({"at_most?": orNull(whole), "at_most_at_once?": whole})),
  "wait?": orNull(open({
    "for?": orNull(text), "until?": orNull(text), "signal?": orNull(text), "timeout?": orNull(text),
  })),
  "end?": orNull(open({outcome: someText})),
}), (step, at) => {
  const kinds = STEP_KINDS.filter((kind) => Object.hasOwn(step, kind) && step[kind] !== null);
  demand(kinds.length === 1, at, `must have one of ${STEP_KINDS.join(", ")}`);
});

export const DEFINITION_FORM = all(DEFINITION_SHAPE, open({
  name: someText,
  "questions_to?": someText,
  version: whole,
  trigger: open({type: text, "when?": orNull(someText), "about?": orNull(someText)}),
  steps: list(STEP_FORM),
  edges: list(open({source: text, target: text, "kind?": text})),
  verbs: mapping(open({
    description: text,
    execution: open({
      kind: oneOf("sync", "durable"),
      timeout: someText,
      wait: orNull(text),
      escalation: ESCALATION_FORM,
      correlation_field: orNull(text),
    }),
    effect: open({tier: TIER, reversible_by: orNull(text), target: text, idempotency_key: text}),
    "editable?": list(text),
  })),
}));

export const DECISION_FORM = all(DECISION_SHAPE, open({
  run_id: text,
  step: text,
  opa_version: someText,
  input: open({
    time: moment,
    tenant: text,
    actor: open({kind: text, submitted_by: text}),
    run: open({id: text, definition: text, version: whole, trigger_type: text}),
    step: text,
    effect: open({reversible: truth, "reads?": truth}),
    approval: orNull(open({requested_at: moment, expires_at: moment, "usable_until?": moment})),
    votes: list(open({at: moment})),
    "edited?": orNull(open({by: list(text), requested: mapping(anything)})),
  }),
  answer: open({tier: TIER, requirement: orNull(REQUIRED), reasons: REASONS}),
}));

export const APPROVAL_FORM = all(APPROVAL_SHAPE, open({
  effect_id: text,
  step: text,
  tier: TIER,
  reasons: REASONS,
  requirement: REQUIRED,
  purpose: text,
  requested_at: moment,
  expires_at: moment,
  "edited?": orNull(open({
    person: someText, groups: list(text), reason: text, slack: open({team: text, user: text}), from: hex64, to: hex64,
    changes: list(open({param: someText}), 1), at: moment,
  })),
  "questions?": list(open({
    id: someText, person: someText, person_name: text, question: text, at: moment,
    "answer?": open({by: someText, kind: oneOf("person", "agent"), name: text, text, at: moment, "group?": someText}),
  })),
  votes: list(open({
    person_name: text, reason: text, slack: open({team: text, user: text}), at: moment,
    "together?": open({id: someText, count: several}),
    "delegation?": open({
      delegation_id: someText, delegator_name: text, groups: list(text), starts_at: moment, ends_at: moment, reason: text,
      acts: list(LEAF_SHAPE, 1),
    }),
    "passkey?": open({
      credential_id: BASE64URL, nonce: text, authenticator_data: BASE64URL, client_data: BASE64URL,
      signature: BASE64URL, acts: list(LEAF_SHAPE, 1),
    }),
  })),
}));

export const CHOSEN_SHAPE = open({among: list(open({name: someText, version: whole, digest: hex64}))});
export const PROPOSED_SHAPE = open({action: text, target: text, digest: text});
export const WAITING_SHAPE = open({decision_id: someText, since: moment, opens_at: moment, until: moment});
export const OPENED_SHAPE = open({wait_id: someText, type: text, correlation_key: text, deadline: moment});

export const QUESTION_SHAPE = open({
  approval_id: someText, question_id: someText, person: someText, digest: hex64, "deadline?": moment,
});

export const WITHDRAWN_SHAPE = open({approval_id: someText, person: someText, digest: hex64, reason: text});
export const HANDED_SHAPE = open({approval_id: someText, person: someText, to: someText, reason: text});
export const FELL_BACK_SHAPE = open({approval_id: someText, why: someText, to: list(text)});

export const CANCEL_SHAPE = open({
  reason: text, "policy?": orNull(open({decision_id: text, digest: hex64})),
});

const STARTED_SHAPE = open({runbook: someText, "run_id?": someText, "error?": someText});

export const ESCALATED_SHAPE = open({
  wait_id: someText, entry: natural, to: list(text), "deadline?": moment, "started?": orNull(STARTED_SHAPE),
});

const ALLOWED_SHAPE = open({decision_id: text, digest: hex64});
export const SETTLED_SHAPE = open({reason: text, policy: ALLOWED_SHAPE, "result?": orNull(text)});
export const CHILD_ENDED = open({child: someText, child_end: hex64});
export const PROGRESSED = open({wait_id: someText, count: counted});

export const INCLUSION_SHAPE = closed({
  places: list(closed({first_seq: counted, count: counted, first_index: natural})),
  proof: list(hex64),
});

export const ACTS_SHAPE = closed({places: list(closed({seq: counted, index: natural}), 1), proof: list(hex64)});

export const REGISTER_SHAPE = closed({
  keys: list(closed({
    id: hex64,
    public_key: text,
    from: moment,
    "until?": orNull(moment),
    "revoked?": orNull(closed({at: moment, why: someText})),
    "signed_by?": orNull(hex64),
    "signature?": orNull(text),
  })),
});
