// Step 11: blocks, their rounds and their branches.

import {same} from "./canonical.js";
import {around, inside, iterated} from "./definition.js";
import {Broken} from "./errors.js";
import {STEP_BEGUN, STEP_DONE, STEP_FAILED} from "./events.js";
import {approvalsOf, isLeft} from "./facts.js";
import {AUDIT} from "./names.js";
import {brokenAt, told} from "./rules.js";

export const TIMEOUTS = new Set(["no_answer", "expired", "not_begun", "sla"]);

/** What stands in a step has word only behind the first word of that one. */
export function demandEntered(facts) {
  for (const [path, [leaf]] of facts.ofSteps()) {
    const [holder] = around(path), before = holder && facts.ofSteps().get(holder)?.[0];
    if (holder && (!before || before.seq > leaf.seq)) {
      throw brokenAt(leaf, `${leaf.event} of step ${path}, and ${holder}, in which it stands, was not begun`);
    }
  }
}

/** What holds others ends when they have, and succeeds only if they are done. */
export function demandBlocksEnded(facts) {
  const holds = (path) => iterated(path) || ["branch", "switch", "repeat"].includes(facts.plan().kind(path));
  for (const [path, leaves] of facts.ofSteps()) {
    for (const holder of around(path).filter(holds)) {
      const end = facts.ofSteps().get(holder).at(-1), last = leaves.at(-1);
      if (last.at > end.at) throw brokenAt(last, `step ${holder}, in which it stands, had ended in line ${end.seq}`);
      if (end.event === "step.succeeded" && !STEP_DONE.has(last.event)) {
        throw brokenAt(end, `step ${holder} succeeded, and ${path}, which stands in it, had not`);
      }
    }
  }
}

/** Iterations are numbered, as many as there may be, and no more go on at once than may. */
export function demandRounds(facts) {
  const going = new Map(), seen = new Map();
  for (const leaf of facts.leaves) {
    const {event, correlation: {step}} = leaf, one = event.startsWith("step.") && step !== null ? iterated(step) : null;
    if (!one) continue;
    for (const all of [going, seen]) if (!all.has(one.holder)) all.set(one.holder, new Set());
    seen.get(one.holder).add(one.index);
    if (event === "step.parked") going.get(one.holder).add(one.index);
    else going.get(one.holder).delete(one.index);
    const {size} = going.get(one.holder);
    if (size > (facts.plan().node(one.holder).repeat.at_most_at_once ?? 1)) {
      throw brokenAt(leaf, `${size} iterations of step ${one.holder} go on at once`);
    }
  }
  for (const [holder, indices] of seen) demandWhole(facts, holder, indices);
}

/** Raise unless the iterations of a step are numbered from 0 on, and no more than there may be. */
function demandWhole(facts, holder, indices) {
  const {size} = indices, most = facts.plan().node(holder).repeat.at_most ?? Infinity;
  const isWhole = [...indices].every((index) => index < size);
  if (!isWhole) throw new Broken(AUDIT, `an iteration of step ${holder} is missing`);
  if (size > most) throw new Broken(AUDIT, `step ${holder} has ${size} iterations, and may have ${most}`);
}

/** A switch takes one case, and nothing of another is told. */
export function demandCases(facts) {
  const plan = facts.plan(), taken = new Map();
  for (const [path, leaves] of facts.ofSteps()) {
    const isSwitch = plan.kind(path) === "switch";
    for (const leaf of leaves) {
      const says = Object.hasOwn(leaf.data, "branch");
      if (!says && !(isSwitch && STEP_BEGUN.has(leaf.event))) continue;
      if (!taken.has(path)) taken.set(path, told(leaf.data.branch));
      if (!same(leaf.data.branch, taken.get(path)) || !casesOf(plan, path).includes(leaf.data.branch)) {
        throw brokenAt(leaf, `step ${path} took ${told(leaf.data.branch)}, which it has not, or another case before`);
      }
    }
  }
  demandNoOther(facts, taken);
}

/** Return the cases of a step; none where it is no switch. */
function casesOf(plan, path) {
  if (plan.kind(path) !== "switch") return [];
  const {cases, otherwise} = plan.node(path).switch;
  return [...cases.map((_, index) => `case_${index + 1}`), ...(otherwise ? ["else"] : [])];
}

/** Raise if a step has word that stands in another case than its switch took, or than the first in it that has word. */
function demandNoOther(facts, taken) {
  const plan = facts.plan();
  for (const [path, [leaf]] of facts.ofSteps()) {
    const [holder, branch] = plan.blockOf(path);
    if (!holder || iterated(path) || plan.kind(holder) !== "switch") continue;
    if (!taken.has(holder)) taken.set(holder, branch);
    if (taken.get(holder) !== branch) {
      throw brokenAt(leaf, `step ${path} stands in ${branch} of ${holder}, which took ${taken.get(holder)}`);
    }
  }
}

const NO = new Map([["rejected", ["rejected"]], ["changes_requested", ["changes_requested", "rejected"]]]);

/** Return the branches of a review that people answered with no, the first that there is taken. */
const noTo = ({standing}) =>
  NO.get(standing.some(({record}) => record.verdict === "changes") ? "changes_requested" : "rejected");

/** Return the branch that the ending of a step takes; undefined where it has none for that. */
function branchAfter(facts, path, {event, data: {code}}, saidNo) {
  const first = TIMEOUTS.has(code) ? ["timeout"] : NO.get(code) ?? [];
  const failed = STEP_FAILED.has(event) ? [...first, "failure"] : [];
  const wanted = event === "step.succeeded" ? saidNo ?? ["success"] : failed;
  return wanted.find((branch) => facts.plan().branches(path).includes(branch));
}

/** Of a step's branches the one that its ending takes has word, and no other; what failed was handled if it has one. */
export function demandBranches(facts) {
  const refused = approvalsOf(facts, "task").filter(({record: {status}}) => status === "rejected");
  const saidNo = new Map(refused.map((approval) => [approval.record.step, noTo(approval)]));
  for (const [path, leaves] of facts.ofSteps()) {
    if (iterated(path)) continue;
    const end = leaves.at(-1), wanted = branchAfter(facts, path, end, saidNo.get(path));
    if (STEP_FAILED.has(end.event) && (end.event === "step.failed_handled") !== (wanted !== undefined)) {
      throw brokenAt(end, `${end.event} of step ${path}, which has ${wanted ? "a" : "no"} branch for that`);
    }
    for (const branch of facts.plan().branches(path).sort()) {
      const taken = inside(path, branch), first = facts.ofSteps().get(taken)?.[0];
      if (!first && branch === wanted && !isLeft(facts, end)) {
        throw brokenAt(end, `${end.event} of step ${path}, and there is no word of ${taken}`);
      }
      if (first && (branch !== wanted || first.seq < end.seq)) {
        throw brokenAt(first, `${first.event} of ${taken}, and step ${path} had not ended like that`);
      }
    }
  }
}
