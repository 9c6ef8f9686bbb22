// Step 10: what the run waited for.

import {OPENED, WAIT_ENDED} from "./events.js";
import {untilOf, verbOf} from "./facts.js";
import {DEFINITION} from "./names.js";
import {OpenWaits} from "./open_waits.js";
import {agree, brokenAt, dataOf, lasts, lineOf, microseconds, momentOf} from "./rules.js";
import {PROGRESSED_SHAPE} from "./shapes.generated.js";

/** A wait is what its step or its approval opens. */
export function demandWaitsTold(facts) {
  for (const {leaf, type, deadline} of facts.waits()) {
    const {step, approval_id} = leaf.correlation, {awaited, lasting} = awaitedBy(facts, leaf);
    const kind = {approval: "effect", human_task: "task"}[type] ?? null;
    if (type !== "approval" && type !== awaited) throw brokenAt(leaf, `step ${step} does not wait for ${type}`);
    const approval = facts.approvals().get(String(approval_id))?.record, other = `what step ${step} waits for`;
    agree(lineOf(leaf), other, {approval: [approval?.kind, kind]});
    if (approval) agree(lineOf(leaf), other, {deadline: [deadline, approval.expires_at]});
    else if (lasting !== null) {
      const until = microseconds(leaf.at) + lasts(lasting, DEFINITION);
      agree(lineOf(leaf), other, {deadline: [deadline, momentOf(until)]});
    }
  }
}

/** Return for what the step of a leaf waits beside approval, and for how long; null where that is not said. */
function awaitedBy(facts, leaf) {
  const path = String(leaf.correlation.step), step = facts.plan().node(path), wait = step?.wait ?? null;
  if (wait === null) {
    const {wait: awaited, timeout} = verbOf(facts, leaf, path).execution;
    const isTimed = ["external", "child_run"].includes(awaited) && (step?.until ?? null) === null;
    return {awaited, lasting: isTimed ? timeout : null};
  }
  const isSignal = (wait.signal ?? null) !== null, lasting = (isSignal ? wait.timeout : wait.for) ?? null;
  return {awaited: isSignal ? "signal" : "timer", lasting: lasting === null || lasting.includes("${") ? null : lasting};
}

/** Return the leaf that opened the wait of the step and type of a leaf: in each step, that for approval and another. */
export const waitAt = (active, {correlation: {step}, data: {type}}) => active.ofStep(step, type === "approval");

/** Call with each leaf, and with the waits that were open before it. */
export function eachWithOpen({leaves}, act) {
  const active = new OpenWaits();
  for (const leaf of leaves) {
    act(leaf, active);
    active.take(leaf);
    if (leaf.event === OPENED) active.add(leaf);
  }
}

/** One wait at a time, each with an id of its own. */
export function demandOneWait(facts) {
  const seen = new Set();
  eachWithOpen(facts, (leaf, active) => {
    if (leaf.event !== OPENED) return;
    const {wait_id} = leaf.data;
    if (waitAt(active, leaf) || seen.has(wait_id)) {
      throw brokenAt(leaf, `step ${leaf.correlation.step} waits already, or another wait is ${wait_id}`);
    }
    seen.add(wait_id);
  });
}

/** What ended was open; and by the clock, no earlier than at its deadline. */
export function demandWaitsEnded(facts) {
  eachWithOpen(facts, (leaf, active) => {
    if (!WAIT_ENDED.has(leaf.event)) return;
    const opened = waitAt(active, leaf);
    if (!opened || opened.correlation.approval_id !== null) {
      throw brokenAt(leaf, `step ${leaf.correlation.step} did not wait for this`);
    }
    const {wait_id, type} = opened.data, deadline = untilOf(facts, wait_id, opened.data.deadline, leaf);
    agree(lineOf(leaf), `line ${opened.seq}`, {wait_id: [leaf.data.wait_id, wait_id], type: [leaf.data.type, type]});
    if ((leaf.event === "wait.timed_out" || type === "timer") && leaf.at < deadline) {
      throw brokenAt(leaf, `${leaf.event} of ${wait_id}, whose deadline is ${deadline}`);
    }
  });
}

/** Word of progress is of an open wait that is not for approval, and is counted. */
export function demandProgress(facts) {
  const counts = new Map();
  eachWithOpen(facts, (leaf, active) => {
    if (leaf.event !== "wait.progress") return;
    const {wait_id, count} = dataOf(PROGRESSED_SHAPE, leaf), {step} = leaf.correlation;
    if (active.ofStep(step, false)?.data.wait_id !== wait_id) {
      throw brokenAt(leaf, `step ${step} did not wait for this`);
    }
    if (count <= (counts.get(wait_id) ?? 0)) {
      throw brokenAt(leaf, `is the word number ${count} for ${wait_id}, and there was a later one before`);
    }
    counts.set(wait_id, count);
  });
}
