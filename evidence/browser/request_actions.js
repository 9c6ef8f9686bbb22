// Step 8: votes withdrawn or refused, and approvals claimed or handed on.

import {canonical, same} from "./canonical.js";
import {leavesOf} from "./contents.js";
import {Broken} from "./errors.js";
import {APPROVAL_ENDED, PROGRAM} from "./events.js";
import {barredFrom, eachVote, isDecidable, UNTIL_KNOWN, whoMayNot} from "./facts.js";
import {brokenAt, dataOf, saysSomething, told} from "./rules.js";
import {HANDED_SHAPE, WITHDRAWN_SHAPE} from "./shapes.generated.js";

/** What did not come from Slack says how; beside the console's it is about a review; who brought the run brought none. */
export function demandBrought(facts) {
  const {requested_by, submitted_by} = facts.run;
  eachVote(facts, ({name, record: {kind}}, {record: {person, via = null, brought_by = null}}) => {
    if (via === null && brought_by === null) return;
    if (via !== "console" && kind !== "task") throw new Broken(name, `the vote of ${person} came by ${via}, and it is no review`);
    const isNamed = typeof brought_by === "string" && brought_by !== "";
    if (!(via === "edge" && isNamed) && !((via === "command" || via === "console") && !isNamed)) {
      throw new Broken(name, `the vote of ${person} does not say how it came in`);
    }
    if (brought_by === requested_by || brought_by === submitted_by) {
      throw new Broken(name, `the vote of ${person} was brought by ${brought_by}, as the run was`);
    }
  });
}

/** Call with each leaf, and with who had claimed before it the approval that it names; null where nobody had. */
function eachWithHolder(facts, act) {
  const holders = new Map();
  for (const leaf of facts.leaves) {
    const id = String(leaf.data.approval_id);
    act(leaf, holders.get(id) ?? null);
    if (leaf.event === "task.claimed") holders.set(id, leaf.data.person ?? null);
    else if (leaf.event === "approval.handed" && facts.approvals().get(id)?.record.kind === "task") {
      holders.set(id, leaf.data.to ?? null);
    }
    else if (leaf.event === "task.released" || APPROVAL_ENDED.has(leaf.event)) holders.delete(id);
  }
}

/** A claim is about an open review, by the person whom it names, and says from whom; so does its end. */
export function demandClaimed(facts) {
  eachWithHolder(facts, (leaf, holder) => {
    if (leaf.event === "approval.handed" && holder !== null && !same(leaf.data.person ?? null, holder)) {
      throw brokenAt(leaf, `${told(leaf.data.person)} handed on what ${told(holder)} had claimed`);
    }
    if (leaf.event === "task.claimed" || leaf.event === "task.released") demandClaim(facts, leaf, holder);
  });
}

/** Raise unless a claim, or the end of one, is about an open review, by whom it may be, and says who had claimed it. */
function demandClaim(facts, leaf, holder) {
  const isClaim = leaf.event === "task.claimed", {approval_id, person = null, from = null} = leaf.data;
  const approval = facts.approvals().get(String(approval_id)), end = approval?.end?.seq ?? Infinity;
  if (approval?.record.kind !== "task" || leaf.seq <= approval.leaf.seq || leaf.seq >= end) {
    throw brokenAt(leaf, "is not about a review that was open");
  }
  const isOwn = leaf.actor.id === person && leaf.actor.kind === "person";
  if (!isOwn && (isClaim || !same(leaf.actor, PROGRAM))) {
    throw brokenAt(leaf, `is about ${person}, and by ${leaf.actor.id}`);
  }
  if (isClaim && barredFrom(facts, approval).has(person)) {
    throw brokenAt(leaf, `${person} wanted it, or was excluded`);
  }
  const before = isClaim ? from : person;
  if (!same(before, holder) || person === null) {
    throw brokenAt(leaf, `says that ${told(before)} had claimed it, and ${told(holder)} had`);
  }
}

/** Who has claimed a review answers it. */
export function demandAnsweredByHolder(facts) {
  eachWithHolder(facts, (leaf, holder) => {
    if (leaf.event !== "vote.counted" || holder === null) return;
    if ([leaf.data.person, leaf.data.delegator].some((one) => same(one ?? null, holder))) return;
    throw brokenAt(leaf, `${told(leaf.data.person)} voted on what ${told(holder)} had claimed`);
  });
}

/** Return the approval of a leaf, which was open; its person gave a reason. */
function openApproval(facts, shape, leaf) {
  const {approval_id, person, reason} = dataOf(shape, leaf), approval = facts.approvals().get(approval_id);
  if (!approval || !isDecidable(facts, approval, leaf)) {
    throw brokenAt(leaf, "is not about an approval that was open");
  }
  if (leaf.actor.id !== person || leaf.actor.kind !== "person") {
    throw brokenAt(leaf, `is about ${person}, and by ${leaf.actor.id}`);
  }
  if (!saysSomething(reason)) throw brokenAt(leaf, `${person} has to have a reason, and has none`);
  return approval;
}

/** A vote that is withdrawn is one of its person's that counted. */
export function demandWithdrawn(facts) {
  const standing = new Map();
  for (const leaf of facts.leaves) {
    const id = String(leaf.data.approval_id), vote = canonical([leaf.data.person ?? null, leaf.data.digest ?? null]);
    if (leaf.event === "vote.counted") standing.set(id, [...(standing.get(id) ?? []), vote]);
    if (leaf.event !== "vote.withdrawn") continue;
    openApproval(facts, WITHDRAWN_SHAPE, leaf);
    const votes = standing.get(id) ?? [], place = votes.indexOf(vote);
    if (place < 0) throw brokenAt(leaf, `${leaf.data.person} had no such vote that counted`);
    standing.set(id, votes.toSpliced(place, 1));
  }
}

/** Refusals of one kind stand one by one, and at each doubling once they are many. */
export function demandRefused(facts) {
  const times = new Map();
  for (const leaf of facts.leaves.filter(({event}) => event === "vote.refused")) {
    const {approval_id = null, code = null, nth = null} = leaf.data, about = canonical([approval_id, code, leaf.actor.id]);
    const before = times.get(about) ?? 0;
    if (!same(nth, before < 8 ? null : 2 ** (before - 4))) {
      throw brokenAt(leaf, `is not the refusal that follows ${before} of its kind`);
    }
    times.set(about, before + 1);
  }
}

/** A request is handed by somebody who might decide it to somebody else who might. */
export function demandHanded(facts) {
  for (const leaf of leavesOf(facts.bundle, "approval.handed")) {
    const approval = openApproval(facts, HANDED_SHAPE, leaf), {person, to} = leaf.data, {id, kind} = approval.record;
    const mayNot = whoMayNot(facts, approval, leaf);
    if (mayNot.has(person) || mayNot.has(to) || to === person || UNTIL_KNOWN.has(kind)) {
      throw brokenAt(leaf, `${person} hands approval ${id} to ${to}, and may not`);
    }
  }
}
