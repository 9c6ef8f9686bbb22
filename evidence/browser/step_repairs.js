// Step 11: steps that need attention, and how people decided that.

import {same} from "./canonical.js";
import {TIMEOUTS} from "./control_flow.js";
import {SETTLED} from "./events.js";
import {brokenAt, dataOf} from "./rules.js";
import {SETTLED_FORM_SHAPE} from "./shapes.generated.js";

const SETTLED_AS = new Map([
  ["retry", null], ["supply", "step.succeeded"], ["skip", "step.skipped"], ["end", "step.failed_terminal"],
]);

const DECIDED = new Set(["rejected", "changes_requested", "denied", "budget"]);

/** Return whether an error of a step is one that needs a person. */
function mayNeedAttention(facts, path, {data: {code}}) {
  const branches = facts.plan().branches(path);
  const hasBranch = branches.includes("failure") || (branches.includes("timeout") && TIMEOUTS.has(code));
  return facts.plan().node(path).on_error === "needs_attention" && !DECIDED.has(code) && !hasBranch;
}

/** Return whether a leaf of a step is what somebody said of it. */
const isAsSettled = (settled, {event, at, data: {result}}) =>
  event === SETTLED_AS.get(settled.data.act) && at === settled.at &&
  (settled.data.act !== "supply" || same(result, settled.data.result));

/** Steps need attention by errors that wait for a person, and go on as one says. */
export function demandAttention(facts) {
  const states = {waiting: new Set(), parked: new Set(), expected: new Map()};
  for (const leaf of facts.leaves) {
    if (leaf.event === SETTLED) settle(states, leaf);
    else if (leaf.event.startsWith("step.")) goOn(facts, states, leaf);
  }
  const [left] = states.expected.values();
  if (left) throw brokenAt(left, `step ${left.correlation.step} did not go on like that`);
}

/** Take what a person said of a step, which must have waited for that; what has to follow is expected. */
function settle({waiting, parked, expected}, leaf) {
  const {actor, data: {act}} = leaf, path = String(leaf.correlation.step);
  const isOpen = waiting.has(path) || (parked.has(path) && ["supply", "skip"].includes(act));
  if (!isOpen || actor.kind !== "person" || !SETTLED_AS.has(act)) {
    throw brokenAt(leaf, `step ${path} does not need attention, or may not be repaired like this`);
  }
  if (((dataOf(SETTLED_FORM_SHAPE, leaf).result ?? null) === null) === (act === "supply")) {
    throw brokenAt(leaf, `a result is what somebody supplied, and this is ${act}`);
  }
  waiting.delete(path);
  if (SETTLED_AS.get(act)) expected.set(path, leaf);
}

/** Take what became of a step, which must be what was said of it where it needs attention. */
function goOn(facts, {waiting, parked, expected}, leaf) {
  const {event} = leaf, path = String(leaf.correlation.step), settled = expected.get(path);
  expected.delete(path);
  if (waiting.has(path) && event !== "step.canceled") {
    throw brokenAt(leaf, `${event} of step ${path}, which needs attention, and nobody had decided it`);
  }
  if (settled && !isAsSettled(settled, leaf)) {
    throw brokenAt(leaf, `${event} of step ${path} is not what line ${settled.seq} says`);
  }
  if (event === "step.needs_attention" && !mayNeedAttention(facts, path, leaf)) {
    throw brokenAt(leaf, `step ${path} needs attention after an error that does not wait for a person`);
  }
  if (event === "step.failed_terminal" && !settled && mayNeedAttention(facts, path, leaf)) {
    throw brokenAt(leaf, `step ${path} failed, and its errors need attention`);
  }
  waiting.delete(path);
  parked.delete(path);
  if (event === "step.needs_attention") waiting.add(path);
  const {verb, wait} = facts.plan().node(path);
  if (event === "step.parked" && (verb ?? wait ?? null) !== null) parked.add(path);
}
