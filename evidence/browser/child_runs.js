// Step 10: runs that the run started and waited for.

import {WAIT_ENDED} from "./events.js";
import {brokenAt, dataOf} from "./rules.js";
import {CHILD_ENDED_SHAPE} from "./shapes.generated.js";

/** The end of a run below is that of one which the step started, and named by the leaf with which it ended. */
export function demandChildren(facts) {
  for (const leaf of facts.leaves) {
    const {event, data, correlation: {step}} = leaf;
    if (event === "wait.completed" && data.type === "child_run") {
      const {child} = dataOf(CHILD_ENDED_SHAPE, leaf);
      const started = facts.receipts().filter(({record, leaf: {seq}}) =>
        record.step === step && record.outcome === "success" && seq < leaf.seq);
      if (started.length && !started.some(({record: {response}}) => response?.run_id === child)) {
        throw brokenAt(leaf, `step ${step} did not start the run ${child}`);
      }
    } else if (WAIT_ENDED.has(event) && (Object.hasOwn(data, "child") || Object.hasOwn(data, "child_end"))) {
      throw brokenAt(leaf, `step ${step} did not wait for another run, and one is named`);
    }
  }
}
