// Step 10: what happened as time ran short.

import {entriesOf} from "./definition.js";
import {ESCALATED} from "./events.js";
import {calledBy, untilOf} from "./facts.js";
import {DEFINITION} from "./names.js";
import {agree, brokenAt, dataOf, lasts, lineOf, microseconds, momentOf} from "./rules.js";
import {ESCALATED_SHAPE} from "./shapes.generated.js";
import {eachWithOpen, waitAt} from "./waits.js";

/** Each escalation is the next entry of an open wait, in its time, and does what that entry says. */
export function demandEscalated(facts) {
  const done = new Map();
  eachWithOpen(facts, (leaf, active) => {
    if (leaf.event === "wait.timed_out" || leaf.event === "approval.expired") {
      for (const {opened} of active.endedBy(leaf)) {
        demandAllAsked(facts, leaf, opened, done.get(opened.data.wait_id) ?? 0);
      }
    }
    if (leaf.event !== ESCALATED) return;
    const {wait_id, entry} = dataOf(ESCALATED_SHAPE, leaf), opened = waitAt(active, leaf);
    if (!opened || opened.data.wait_id !== wait_id) {
      throw brokenAt(leaf, `step ${leaf.correlation.step} does not wait as ${wait_id}`);
    }
    if (entry !== (done.get(wait_id) ?? 0)) throw brokenAt(leaf, `entry ${entry} is not the next of ${wait_id}`);
    done.set(wait_id, entry + 1);
    demandEscalation(facts, leaf, opened);
  });
}

/** What ended in vain had every entry whose time had come. */
function demandAllAsked(facts, leaf, opened, done) {
  const {wait_id, deadline} = opened.data, stood = stoodStill(facts, leaf, opened);
  const until = microseconds(untilOf(facts, wait_id, deadline, leaf)) - stood;
  if (escalationsOf(facts, opened).slice(done).some(({after}) => microseconds(opened.at) + after <= until)) {
    throw brokenAt(leaf, `${wait_id} ended, and entry ${done}, whose time had come, is not told`);
  }
}

/** Return how long the clock of an approval stood still before a leaf: nothing else moves the deadline of an effect's. */
function stoodStill(facts, leaf, {data: {type, wait_id, deadline}}) {
  return type === "approval" ? microseconds(untilOf(facts, wait_id, deadline, leaf)) - microseconds(deadline) : 0n;
}

/** An escalation does what its entry says, no sooner. */
function demandEscalation(facts, leaf, opened) {
  const {wait_id, entry, to, deadline = "", started = null} = leaf.data;
  const wanted = escalationsOf(facts, opened)[entry];
  if (!wanted) throw brokenAt(leaf, `there is no entry ${entry} for ${wait_id}`);
  const before = untilOf(facts, wait_id, opened.data.deadline, leaf), from = before > leaf.at ? before : leaf.at;
  agree(lineOf(leaf), "what was asked", {
    approval: [leaf.correlation.approval_id, opened.correlation.approval_id],
    type: [leaf.data.type, opened.data.type],
    to: [to, wanted.to],
    deadline: [deadline, wanted.extend === null ? "" : momentOf(microseconds(from) + wanted.extend)],
    started: [started?.runbook ?? null, wanted.start],
  });
  if (started && Boolean(started.run_id) === Boolean(started.error)) {
    throw brokenAt(leaf, `${started.runbook} was started, or was not: it says both or neither`);
  }
  const earliest = momentOf(microseconds(opened.at) + wanted.after + stoodStill(facts, leaf, opened));
  if (leaf.at < earliest) throw brokenAt(leaf, `those next in line were asked before ${earliest}`);
}

/** Return after how long whom a wait asks, for how much longer, and which runbook it starts, one after the other. */
function escalationsOf(facts, opened) {
  const {data: {type}, correlation: {step, approval_id}} = opened;
  if (type === "approval") {
    const {name, record: {requirement: {escalate_to}}} = facts.approvals().get(String(approval_id));
    return escalate_to.map(({after, to}) => ({after: lasts(after, name), to, extend: null, start: null}));
  }
  const verb = calledBy(facts, String(step));  // a step that waits by itself has none
  return entriesOf(verb?.execution ?? {}).map(({after, to = [], extend, start = null}) =>
    ({after: lasts(after, DEFINITION), to, extend: extend ? lasts(extend, DEFINITION) : null, start}));
}
