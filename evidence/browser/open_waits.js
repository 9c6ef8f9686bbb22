// The waits that stand open as leaves are read in their order: each is found by what ends it, or moves its deadline.

import {canonical} from "./canonical.js";
import {APPROVAL_ENDED, ESCALATED, isOfQuestion, RUN_ENDED, STEP_STOPPED, WAIT_AFTER, WAIT_ENDED, wordOf} from "./events.js";

/** Return what waits are found by: anything of JSON may stand where their id should. */
const waitKey = (what, named = null) => canonical([what, named]);

const OF_RUN = waitKey("run");

/** Return which waits a leaf ends, and as what; null where it ends none. */
function endOfWaits({event, data, correlation}) {
  const word = wordOf(event);
  if (WAIT_ENDED.has(event)) return {key: waitKey("wait", data.wait_id), status: word};
  if (APPROVAL_ENDED.has(event)) return {key: waitKey("approval", data.approval_id), status: WAIT_AFTER[word]};
  if (RUN_ENDED.has(event)) return {key: OF_RUN, status: "canceled"};
  return STEP_STOPPED.has(event) ? {key: waitKey("step", correlation.step), status: "canceled"} : null;
}

/** Return as what the waits have ended that a leaf ends. */
export const waitEnd = (leaf) => endOfWaits(leaf)?.status ?? "";

/** Return what a wait is found by. */
function keysOfWait({data: {wait_id}, correlation: {approval_id, step}}) {
  const ofApproval = approval_id === null ? [] : [waitKey("approval", approval_id)];
  return [waitKey("wait", wait_id), ...ofApproval, waitKey("step", step), OF_RUN];
}

/** Open waits, each the leaf that opened it with what is made of that, in the order in which they were opened. */
export class OpenWaits {
  constructor() {
    this.found = new Map();
  }

  /** Take in a wait that opens. */
  add(opened, made = null) {
    for (const key of keysOfWait(opened)) {
      if (!this.found.has(key)) this.found.set(key, new Map());
      this.found.get(key).set(opened.seq, {opened, made});
    }
  }

  /** Return those that a leaf ends: by their id, or by the end of their approval, their step or the run. */
  endedBy(leaf) {
    const ending = endOfWaits(leaf);
    return ending ? this.at(ending.key) : [];
  }

  /** Return those that a leaf ends, which are open no more. */
  take(leaf) {
    const ended = this.endedBy(leaf);
    for (const {opened} of ended) {
      for (const key of keysOfWait(opened)) {
        const beside = this.found.get(key);
        beside.delete(opened.seq);
        if (beside.size === 0) this.found.delete(key);
      }
    }
    return ended;
  }

  /** Return those that a leaf may give another deadline: an escalation, or a question about their approval. */
  movedBy(leaf) {
    if (leaf.event === ESCALATED) return this.at(waitKey("wait", leaf.data.wait_id));
    return isOfQuestion(leaf) ? this.at(waitKey("approval", leaf.data.approval_id)) : [];
  }

  /** Return the leaf that opened the wait of a step for approval, or else the other; undefined where none is open. */
  ofStep(step, isOfApproval) {
    const isSuch = ({opened}) => (opened.data.type === "approval") === isOfApproval;
    return this.at(waitKey("step", step)).findLast(isSuch)?.opened;
  }

  at(key) {
    return [...(this.found.get(key)?.values() ?? [])];
  }
}
