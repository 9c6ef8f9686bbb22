// Step 11: what became of each step.

import {canonical} from "./canonical.js";
import {leavesOf} from "./contents.js";
import {around, holderOf, iterated} from "./definition.js";
import {Broken} from "./errors.js";
import {PROPOSED, SETTLED, STEP_BEGUN, STEP_DONE, STEP_ENDED, STEP_FAILED} from "./events.js";
import {approvalsOf, calledBy, isLeft} from "./facts.js";
import {AUDIT} from "./names.js";
import {brokenAt, told} from "./rules.js";
import {suppliedSteps} from "./runs.js";

const ERROR_CODES = new Set([
  "definition", "expression", "cost", "params", "unrecordable", "refused", "not_taken", "unavailable", "blocked",
  "outcome_unknown", "result", "failed", "unexpected", "no_answer", "expired", "not_begun", "sla", "denied", "budget", "rejected",
  "changes_requested", "no_policy",
  "unauthenticated", "forbidden", "illegal_transition", "lease_lost", "key_in_use",
]);

const WITH_ERROR = new Set([...STEP_FAILED, "step.failed_retryable", "step.needs_attention"]);
const BODY = "do";

/** Return the case that the leaves of a switch name. */
const caseOf = (leaves) => leaves.find(({data}) => Object.hasOwn(data, "branch"))?.data.branch ?? null;

/** Return the blocks that were entered: the definition, those of which a step is told, and those that were begun. */
function enteredBlocks(facts) {
  const found = [["", ""]], plan = facts.plan();
  for (const [path, leaves] of facts.ofSteps()) {
    const isBegun = leaves.some(({event}) => STEP_BEGUN.has(event)), kind = plan.kind(path), isOne = iterated(path);
    if (!isOne && kind !== "branch") found.push(plan.blockOf(path));
    if (kind === "branch" || (isOne && isBegun)) found.push([path, BODY]);
    else if (kind === "switch" && isBegun && caseOf(leaves) !== null) found.push([path, told(caseOf(leaves))]);
  }
  return [...new Map(found.map((block) => [canonical(block), block])).values()];
}

/** Each step that the run came to had one end, before the run did. */
export function demandStepsEnded(facts) {
  const plan = facts.plan(), wanted = enteredBlocks(facts).flatMap((block) => plan.block(block));
  for (const path of plan.inOrder(new Set([...wanted, ...facts.ofSteps().keys()]))) {
    const all = facts.ofSteps().get(path) ?? [], end = all.find(({event}) => STEP_ENDED.has(event));
    if (!end || end.seq > facts.end().seq) throw new Broken(AUDIT, `the run ended, and step ${path} had not`);
    if (all.at(-1) !== end) throw brokenAt(all.at(-1), `step ${path} had ended before, in line ${end.seq}`);
  }
}

/** Return when the last of what stands in a step came, by its path. */
function endsInside(facts) {
  const found = new Map();
  for (const [path, leaves] of facts.ofSteps()) {
    const {at} = leaves.at(-1);
    for (const holder of around(path)) if (at > (found.get(holder) ?? "")) found.set(holder, at);
  }
  return found;
}

/** Nothing of a step happens before all that it waits for is done. */
export function demandStepsInOrder(facts) {
  const done = new Set(), innerEnds = endsInside(facts);
  let isStarted = false;
  for (const leaf of facts.leaves) {
    const {event, correlation: {step}, at} = leaf;
    isStarted ||= event === "run.started";
    const isLeftOut = event === "step.skipped" && isLeft(facts, leaf);
    const isWord = event.startsWith("step.") && event !== "step.canceled" && !isLeftOut;
    if (step !== null && (isWord || event === PROPOSED)) {
      if (!isStarted) throw brokenAt(leaf, `${event} of step ${step}, and the run had not started`);
      const goesOn = (need) => holderOf(need) === holderOf(step) && (innerEnds.get(need) ?? "") > at;
      const [missing] = facts.plan().needs(step).filter((need) => !done.has(need) || goesOn(need)).sort();
      if (missing !== undefined) {
        throw brokenAt(leaf, `${event} of step ${step}, and ${missing}, which it needs, was not done`);
      }
    }
    if (STEP_DONE.has(event)) done.add(step);
  }
}

/** Without a condition, a step is skipped if, and only if, one without which it is skipped was. */
export function demandSkipped(facts) {
  const isSkipped = (path) => facts.ofSteps().get(path)?.at(-1).event === "step.skipped";
  const repaired = new Set(leavesOf(facts.bundle, SETTLED).map(({correlation: {step}}) => step));
  for (const [path, leaves] of facts.ofSteps()) {
    const end = leaves.at(-1), hasToBe = facts.plan().skipsWith(path).some(isSkipped);
    const isLeftOut = end.event === "step.skipped" && isLeft(facts, end);
    const isOwn = facts.plan().node(path).when !== null || repaired.has(path);
    if (isOwn || end.event === "step.canceled" || isLeftOut) continue;
    if (isSkipped(path) !== hasToBe) {
      const why = hasToBe ? "it needs one that was skipped" : "nothing that it needs was";
      throw brokenAt(end, `${end.event} of step ${path}, which has no condition, and ${why}`);
    }
  }
}

/** A durable step, or one that waits by itself, succeeds at the moment of its answer. */
export function demandAnswered(facts) {
  const tasks = new Set(approvalsOf(facts, "task").map(({record}) => record.id)), answers = new Map();
  const given = suppliedSteps(facts.bundle);
  for (const {event, seq, at, correlation: {step, approval_id}} of facts.leaves) {
    const isTask = (event === "approval.approved" || event === "approval.rejected") && tasks.has(approval_id);
    const key = canonical([step, at, isTask]);
    if ((isTask || event === "wait.completed") && !answers.has(key)) answers.set(key, seq);
  }
  for (const leaf of leavesOf(facts.bundle, "step.succeeded")) {
    const path = String(leaf.correlation.step), execution = calledBy(facts, path)?.execution;
    if (facts.plan().kind(path) !== "wait" && execution?.kind !== "durable") continue;
    const seq = answers.get(canonical([path, leaf.at, execution?.wait === "human_task"])) ?? leaf.seq;
    if (seq >= leaf.seq && !given.has(path)) throw brokenAt(leaf, `step ${path} succeeded without its answer`);
  }
}

/** A step waits for approval while somebody is asked. */
export function demandAsked(facts) {
  for (const leaf of leavesOf(facts.bundle, "step.waiting_approval")) {
    const {step} = leaf.correlation;
    const isAsked = approvalsOf(facts).some(({record, leaf: {seq}, end}) =>
      record.step === step && record.kind !== "task" && seq < leaf.seq && leaf.seq < (end?.seq ?? Infinity));
    if (!isAsked) throw brokenAt(leaf, `step ${step} waits for approval, and nobody was asked`);
  }
}

/** What failed or needs attention says by which error, and nothing else names one. */
export function demandErrors(facts) {
  for (const leaves of facts.ofSteps().values()) {
    for (const leaf of leaves) {
      const {event, data: {code}} = leaf;
      if (WITH_ERROR.has(event) ? !ERROR_CODES.has(code) : Object.hasOwn(leaf.data, "code")) {
        throw brokenAt(leaf, `${event} of step ${leaf.correlation.step} with the code ${told(code ?? null)}`);
      }
    }
  }
}
