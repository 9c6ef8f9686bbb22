// Step 11: what was done is what the definition wants.

import {same} from "./canonical.js";
import {leavesOf} from "./contents.js";
import {isGovernedRead, passesGate} from "./definition.js";
import {Broken} from "./errors.js";
import {SETTLED, STEP_ENDED} from "./events.js";
import {digestBefore, verbOf} from "./facts.js";
import {DEFINITION} from "./names.js";
import {agree, brokenAt} from "./rules.js";

const CHAT = new Set([
  "slack::post_card", "slack::update_card", "slack::post_message", "slack::update_message", "slack::direct_message",
  "webhook::deliver",
]);

const POST_TASK = "slack::post_task";
const MOST_UNKNOWN = 4;
const LONGEST_MATCHED = 512;

/** An effect is the write that its step is for, or word in the chat. */
export function demandOfDefinition(facts) {
  const times = new Map(), effects = new Set();
  const anew = leavesOf(facts.bundle, SETTLED).filter(({data}) => data.act === "retry");
  for (const {leaf, action} of facts.proposals()) {
    const {step, effect_id} = leaf.correlation, soFar = step === null ? 0 : times.get(step) ?? 0;
    const may = 1 + anew.filter(({seq, correlation}) => correlation.step === step && seq < leaf.seq).length;
    if (effects.has(effect_id) || soFar >= may) {
      throw brokenAt(leaf, step ? `an effect of step ${step} was proposed before` : "was proposed before");
    }
    effects.add(effect_id);
    if (step === null) {
      if (!CHAT.has(action)) throw brokenAt(leaf, `${action} is of no step, and no word in the chat`);
      continue;
    }
    times.set(step, soFar + 1);
    const verb = verbOf(facts, leaf, step);
    if (action !== verb.execution.handler || !passesGate(verb)) {
      throw brokenAt(leaf, `${action} is not what step ${step} is to be allowed to do`);
    }
  }
}

/** Return what an expression of a template gives; null where that cannot be told. */
function givenBy(expression, known, params) {
  if (known.has(expression)) return known.get(expression);
  const name = /^params\.([A-Za-z_][A-Za-z0-9_]*)$/.exec(expression)?.[1];
  const value = name !== undefined && Object.hasOwn(params, name) ? params[name] : null;
  return typeof value === "string" && !value.includes("[redacted") ? value : null;
}

/** Return whether a text can be what a template of the definition gives, as far as that can be told without CEL. */
function canGive(template, text, known, params) {
  const isShort = [...text].length <= LONGEST_MATCHED;
  if (template.includes("$${") || !isShort) return isShort;
  const parts = template.split(/\$\{([^{}]*)\}/).map((part, index) =>
    (index % 2 ? givenBy(part.trim(), known, params) : part));
  const pattern = parts.map((part) => (part === null ? ".*" : part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))).join("");
  return parts.filter((part) => part === null).length > MOST_UNKNOWN || new RegExp(`^(?:${pattern})$`, "su").test(text);
}

/** Return what templates of a step may use that is known. */
const knownOf = ({run}, step) => new Map([
  ["run.id", run.run_id], ["run.tenant", run.tenant], ["run.definition", run.definition.name],
  ["tenant", run.tenant], ["step", step],
]);

/** Return the key of a receipt without what a step that was tried anew adds: the effect's number, where it asks again. */
function firstKey(facts, {step, effect_id, idempotency_key}) {
  const ofStep = facts.proposals().filter(({leaf}) => leaf.correlation.step === step);
  const nth = ofStep.findIndex(({leaf}) => leaf.correlation.effect_id === effect_id) + 1, end = `#${nth}`;
  return nth > 1 && idempotency_key.endsWith(end) ? idempotency_key.slice(0, -end.length) : idempotency_key;
}

/** Effects are what the definition declares. */
export function demandAsDeclared(facts) {
  for (const decision of facts.decisions()) demandDeclared(facts, decision);
  for (const {name, record, leaf} of facts.receipts()) {
    const {step, reversible_by, request} = record;
    const effect = step ? verbOf(facts, leaf, step).effect : null;
    agree(name, DEFINITION, {reversible_by: [reversible_by, effect?.reversible_by]});
    const fields = request !== null && typeof request === "object" && !Array.isArray(request) ? request : {};
    if (effect && !canGive(effect.idempotency_key, firstKey(facts, record), knownOf(facts, step), fields)) {
      throw new Broken(name, `its idempotency key is not what ${effect.idempotency_key} gives`);
    }
  }
}

/** Raise unless policy was asked about an effect as the definition declares it. */
function demandDeclared(facts, {name, record: {step, effect_id, input: {effect: asked}}, leaf}) {
  const verb = step ? verbOf(facts, leaf, step) : null;
  agree(name, DEFINITION, {
    "input.effect.tier": [asked.tier, verb ? verb.effect.tier : "low"],
    "input.effect.reversible": [asked.reversible, verb !== null && verb.effect.reversible_by !== null],
    "input.effect.reads": [asked.reads ?? false, verb !== null && isGovernedRead(verb)],
  });
  if (!verb || asked.digest !== digestBefore(facts, effect_id, leaf.seq)) return;
  const isTarget = verb.execution.handler === POST_TASK
    ? same(asked.target, Object.hasOwn(asked.fields, "channel") ? asked.fields.channel : null)
    : canGive(verb.effect.target, asked.target, knownOf(facts, step), asked.fields);
  if (!isTarget) throw new Broken(name, `the target ${asked.target} is not what ${verb.effect.target} gives`);
}

/** What acted had been decided on while it was wanted. */
export function demandWhileWanted(facts) {
  for (const {name, record: {step, effect_id, decision_id}} of facts.acted()) {
    const {seq} = facts.decided().get(decision_id).leaf, last = facts.end().seq;
    const ended = (facts.ofSteps().get(step) ?? []).find(({event}) => STEP_ENDED.has(event))?.seq ?? last;
    if (facts.proposed().get(effect_id).leaf.seq >= seq || seq >= Math.min(ended, last)) {
      throw new Broken(name, `was decided on in line ${seq}, when step ${step} was over`);
    }
  }
}
