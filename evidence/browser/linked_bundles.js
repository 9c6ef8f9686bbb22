// Step 13: runs below, and the run that is undone.

import {parseCanonical, same} from "./canonical.js";
import {isActed, leavesOf, memberOf} from "./contents.js";
import {Broken} from "./errors.js";
import {RUN_ENDED} from "./events.js";
import {AUDIT, DEFINITION} from "./names.js";
import {brokenAt, some} from "./rules.js";

/** Raise unless the run waited for that one, as it ended. */
export function demandBelow({leaves, run}, child) {
  const {run_id} = child.run, end = child.leaves.findLast(({event}) => RUN_ENDED.has(event));
  const told = leaves.find(({event, data}) =>
    event === "wait.completed" && data.type === "child_run" && data.child === run_id);
  if (!told) throw new Broken(AUDIT, `no step waited for the run ${run_id}`);
  const {data: {child_end}, correlation: {step}, seq, at} = told;
  if (child_end !== end.hash) {
    throw brokenAt(told, `the run ${run_id} ended with ${child_end}, and its bundle with ${end.hash}`);
  }
  const parent = child.leaves[0].data.parent ?? {};
  if (parent.run_id !== run.run_id || parent.step !== step) {
    throw brokenAt(told, `the run ${run_id} says that another step started it`);
  }
  const isDone = leaves.some((leaf) =>
    leaf.event === "step.succeeded" && leaf.correlation.step === step && leaf.seq > seq && leaf.at === at);
  if (isDone && end.event !== "run.succeeded") {
    throw brokenAt(told, `the run ${run_id} did not succeed, and its step did`);
  }
}

/** Raise unless what the run did undoes receipts of that one, which its definition names. */
export function demandUndone(bundle, other) {
  const {run_id, tenant} = other.run;
  const constant = (member) => ["trigger", "schema", "properties", member, "const"]
    .reduce((part, name) => part?.[name], parseCanonical(memberOf(bundle, DEFINITION)));
  const queued = [bundle.leaves[0].data.trigger_type, bundle.run.tenant, constant("run_id")];
  if (!same(queued, ["countersign.undo", tenant, run_id])) {
    throw new Broken(DEFINITION, `does not undo the run ${run_id} of ${tenant}`);
  }
  const named = constant("receipts");
  const isObject = (one) => typeof one === "object" && one !== null && !Array.isArray(one);
  if (!Array.isArray(named) || !named.every(isObject)) {
    throw new Broken(DEFINITION, "names no receipts that are undone");
  }
  const isDone = ({outcome}) => outcome === "success";
  const done = new Set([...other.receipts.values()].filter(isDone).map(({receipt_id}) => receipt_id));
  const written = new Map(leavesOf(other, "receipt.written").map(({data}) => [data.receipt_id, data.digest]));
  for (const {receipt_id, digest} of named) {
    if (done.has(receipt_id) && written.get(receipt_id) === digest) continue;
    throw new Broken(DEFINITION, `names a receipt that ${run_id} has not: ${receipt_id}`);
  }
  const keys = new Set(named.map(({receipt_id}) => `undo:${receipt_id}`));
  for (const [name, {step, outcome, idempotency_key}] of bundle.receipts) {
    if (!step || !isActed({outcome}) || keys.has(idempotency_key.split("#")[0])) continue;
    throw new Broken(name, `undoes nothing of ${run_id} that ${DEFINITION} names`);
  }
  return `${some(named.length, "receipt", "receipts")} of ${run_id} named, to be undone`;
}
