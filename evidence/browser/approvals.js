// Step 8: what approvals came to, and what rested on them.

import {canonical, same} from "./canonical.js";
import {isActed, isFromConsole, isSigned, leavesOf} from "./contents.js";
import {Broken} from "./errors.js";
import {EDITED, STEP_STOPPED} from "./events.js";
import {approvalsOf, isOpenAt, UNTIL_KNOWN, untilOf} from "./facts.js";
import {agree, brokenAt, lasts, microseconds, momentOf} from "./rules.js";

/** Return votes with their moments, in one order. */
const votesTold = (votes) => votes.map(({person, verdict, at, delegation, ...vote}) => canonical(
  [person, verdict, at, delegation?.delegator ?? null, delegation?.recorded_by ?? null, isSigned(vote), isFromConsole(vote),
   vote.break_glass ? [vote.break_glass.ticket, vote.break_glass.nth] : null],
)).sort();

/** Return when the last of an approval's votes came to count: when it was given, or was restored before the end. */
function completeAt(facts, {record: {id}, leaf: asked, standing, end}) {
  if (!standing.length) return undefined;
  const restored = leavesOf(facts.bundle, "vote.restored")
    .filter((leaf) => leaf.correlation.approval_id === id && isOpenAt({leaf: asked, end}, leaf));
  return [...standing.map((vote) => vote.leaf.at), ...restored.map(({at}) => at)].sort().at(-1);
}

/** Return from when on an approval is void: when it expires, or `within` after its last vote where it is said when. */
function usableUntil(facts, approval, leaf) {
  const {name, record: {id, expires_at, requirement: {execute}}} = approval;
  const granted = completeAt(facts, approval);
  if (!execute || !granted) return untilOf(facts, id, expires_at, leaf);
  return momentOf(microseconds(granted) + lasts(execute.within, name));
}

/** Policy was told of approvals as they are. */
export function demandToldOfApprovals(facts) {
  for (const {name, record: {effect_id, input: {approval, votes, effect}}, leaf} of facts.decisions()) {
    if (approval === null && !votes.length) continue;
    const isTold = approval !== null && approvalsOf(facts, "effect").some(({record, leaf: asked, standing, end}) =>
      end && end.seq <= leaf.seq && same(votesTold(standing.map((one) => one.record)), votesTold(votes)) && same(
        [record.status, record.effect_id, record.digest, record.requested_at, untilOf(facts, record.id, record.expires_at, leaf),
          record.requirement.execute ? usableUntil(facts, {name, record, leaf: asked, standing, end}, leaf) : ""],
        ["approved", effect_id, effect.digest, approval.requested_at, approval.expires_at, approval.usable_until ?? ""],
      ));
    if (!isTold) throw new Broken(name, "policy was told of an approval that is not in the bundle as it was told");
  }
}

/** An approval is used by one decision, in its time. */
export function demandUsedOnce(facts) {
  const used = new Map();
  for (const {name, record: {approval_id, decision_id, ...record}} of facts.receipts()) {
    if (!isActed(record) || approval_id === null) continue;
    if (used.has(approval_id) && used.get(approval_id) !== decision_id) {
      throw new Broken(name, `approval ${approval_id} had been used up before`);
    }
    used.set(approval_id, decision_id);
    const {leaf, leaf: {at}} = facts.decided().get(decision_id);
    if (at >= usableUntil(facts, facts.approvals().get(approval_id), leaf)) {
      throw new Broken(name, `began at ${at}, when its approval had expired`);
    }
  }
}

/** Return whether an approval ended in the line before the one with which it was edited. */
function isEditedWith({leaves}, id, end) {
  const following = leaves[end.seq];
  return following?.event === EDITED && following.correlation.approval_id === id;
}

/** Return whether a step had its answer while a question was open. */
function hasCome(facts, step, question) {
  const tasks = new Set(approvalsOf(facts, "task").map(({record}) => record.id));
  return facts.leaves.some((leaf) => leaf.correlation.step === step && isOpenAt(question, leaf)
    && (leaf.event === "wait.completed"
      || (["approval.approved", "approval.rejected"].includes(leaf.event) && tasks.has(leaf.correlation.approval_id))));
}

/** An approval ended when and how its votes, its time or its step say. */
export function demandApprovalsEnded(facts) {
  for (const approval of approvalsOf(facts)) {
    const {name, record: {kind}, end} = approval;
    if (end) demandEndOf(facts, approval);
    else if (kind !== "in_doubt") throw new Broken(name, "is still open, and its run has ended");
  }
}

/** Raise unless an approval that ended did as its votes, its time or its step say. */
function demandEndOf(facts, {name, record: {id, kind, status, step, expires_at}, leaf, standing, end}) {
  if (status === "approved" || status === "rejected") {
    const last = completeAt(facts, {record: {id}, leaf, standing, end});
    agree(name, "its last vote", {"the moment of its end": [end.at, last]});
  } else if (UNTIL_KNOWN.has(kind)) {
    const isKnown = kind === "in_doubt" && status === "canceled" && hasCome(facts, step, {leaf, end});
    if (!isKnown) throw brokenAt(end, `approval ${id} was ${status}, and nobody had answered`);
  } else if (status === "expired") {
    const until = untilOf(facts, id, expires_at, end);
    if (end.at < until) throw brokenAt(end, `approval ${id} cannot expire before ${until}`);
  } else {
    const ofStep = facts.ofSteps().get(step) ?? [];
    const hasStopped = ofStep.some(({event, seq}) => STEP_STOPPED.has(event) && seq < end.seq);
    if (hasStopped || isEditedWith(facts, id, end)) return;
    throw brokenAt(end, `approval ${id} was canceled, and its step had not ended`);
  }
}
