// A bundle put together: each record with the leaves about it.

import {requestersOf} from "./authority.js";
import {grouped, isActed, leavesAbout, leavesOf, memberOf, namedBy, peopleOf} from "./contents.js";
import {planOf} from "./definition.js";
import {APPROVAL_ENDED, EDITED, ESCALATED, isOfQuestion, OPENED, PROPOSED, RUN_ENDED} from "./events.js";
import {DEFINITION} from "./names.js";
import {brokenAt, dataOf, lazily} from "./rules.js";
import {parse} from "./shapes.js";
import {
  APPROVAL_FORM_SHAPE, DECISION_FORM_SHAPE, DEFINITION_FORM_SHAPE, ESCALATED_SHAPE, OPENED_SHAPE, PROPOSED_SHAPE,
  QUESTION_LEAF_SHAPE,
} from "./shapes.generated.js";

/** Return an approval with the leaf of its request, its votes with theirs and the place where they end, and its end. */
function requestedOf(bundle, leaf) {
  const name = `approvals/${leaf.data.approval_id}.json`;
  const record = parse(APPROVAL_FORM_SHAPE, name, memberOf(bundle, name)), about = leavesAbout(bundle, record.id);
  const said = bundle.votes.get(name), counted = about.filter(({event}) => event === "vote.counted");
  const votes = counted.map((one) => ({record: said.get(one.data.digest), leaf: one, until: Infinity}));
  for (const {data: {digest}, seq} of about.filter(({event}) => event === "vote.withdrawn")) {
    const vote = votes.find((one) => one.until === Infinity && one.leaf.data.digest === digest);
    if (vote) vote.until = seq;
  }
  const standing = votes.filter(({until}) => until === Infinity);
  return {name, record, leaf, votes, standing, end: about.find(({event}) => APPROVAL_ENDED.has(event)) ?? null};
}

/** Return a bundle put together: each record with the leaves about it, made as far as it is asked for. */
export function factsOf(bundle) {
  const {leaves} = bundle, facts = {bundle, leaves, run: bundle.run};
  const byId = (all, key) => new Map(all.map((one) => [key(one), one]));
  return Object.assign(facts, {
    definition: lazily(() => parse(DEFINITION_FORM_SHAPE, DEFINITION, memberOf(bundle, DEFINITION))),
    plan: lazily(() => planOf(facts.definition())),
    proposals: lazily(() => leavesOf(bundle, PROPOSED).map((leaf) => ({leaf, ...dataOf(PROPOSED_SHAPE, leaf)}))),
    proposed: lazily(() => byId(facts.proposals(), ({leaf}) => String(leaf.correlation.effect_id))),
    decisions: lazily(() => namedBy(bundle, "decision.recorded", "decision_id", "decisions").map(([name, leaf]) =>
      ({name, leaf, record: parse(DECISION_FORM_SHAPE, name, memberOf(bundle, name))}))),
    decided: lazily(() => byId(facts.decisions(), ({record}) => record.id)),
    receipts: lazily(() => namedBy(bundle, "receipt.written", "receipt_id", "receipts").map(([name, leaf]) =>
      ({name, leaf, record: bundle.receipts.get(name)}))),
    edits: lazily(() => grouped(leavesOf(bundle, EDITED).map((leaf) => [String(leaf.correlation.effect_id), leaf]))),
    acted: lazily(() => facts.receipts().filter(({record}) => isActed(record) && record.step)),
    requests: lazily(() => leavesOf(bundle, "approval.requested")),
    approvals: lazily(() => byId(facts.requests().map((leaf) => requestedOf(bundle, leaf)), ({record}) => record.id)),
    waits: lazily(() => leavesOf(bundle, OPENED).map((leaf) => ({leaf, ...dataOf(OPENED_SHAPE, leaf)}))),
    waitsFor: lazily(() => grouped(facts.waits().map(({leaf, wait_id}) => [leaf.correlation.approval_id, wait_id]))),
    moved: lazily(() => grouped(leaves.flatMap((leaf) => movesOf(facts, leaf)))),
    end: lazily(() => leaves.find(({event}) => RUN_ENDED.has(event))),
    ofSteps: lazily(() => grouped(leaves.filter(({event, correlation: {step}}) =>
      event.startsWith("step.") && step !== null).map((leaf) => [leaf.correlation.step, leaf]))),
    stopped: lazily(() => [...facts.ofSteps()].filter(([path, all]) =>
      facts.plan().kind(path) === "end" && all.at(-1).event === "step.succeeded").map(([path]) => path)),
  });
}

/** Return the digest of an effect before a line: as it was proposed, or as it was edited last. */
export function digestBefore(facts, effect, seq) {
  const edited = (facts.edits().get(String(effect)) ?? []).filter((leaf) => leaf.seq < seq);
  return edited.length ? String(edited.at(-1).data.to) : facts.proposed().get(effect).digest;
}

/** Return the wait and the approval of which a leaf moves the deadline, each with where to. */
function movesOf(facts, leaf) {
  const isLater = leaf.event === ESCALATED, {seq, correlation} = leaf;
  if (!isLater && !isOfQuestion(leaf)) return [];
  const {wait_id, approval_id, deadline} = dataOf(isLater ? ESCALATED_SHAPE : QUESTION_LEAF_SHAPE, leaf);
  const beside = isLater ? [String(correlation.approval_id)] : facts.waitsFor().get(approval_id) ?? [];
  return deadline ? [isLater ? wait_id : approval_id, ...beside].map((name) => [name, {seq, deadline}]) : [];
}

/** Return the deadline of a wait or an approval before a leaf: the first, or as it was moved last by then. */
export function untilOf(facts, name, first, {seq}) {
  return (facts.moved().get(name) ?? []).findLast((one) => one.seq < seq)?.deadline ?? first;
}

/** Return whether an approval was open when a leaf was written. */
export const isOpenAt = ({leaf: {seq: asked}, end}, {seq}) => asked < seq && seq < (end?.seq ?? Infinity);

/** Return whether it was, and had not expired. */
export const isDecidable = (facts, approval, leaf) => isOpenAt(approval, leaf)
  && (UNTIL_KNOWN.has(approval.record.kind)
    || leaf.at < untilOf(facts, approval.record.id, approval.record.expires_at, leaf));

/** Return the votes of an approval that counted when a leaf was written. */
export const standingBefore = ({votes}, {seq}) => votes.filter((vote) => vote.leaf.seq < seq && vote.until > seq);

/** Return who may decide nothing of an approval: who wanted its effect, and whom policy excludes. */
export const barredFrom = ({bundle}, {record: {effect_id, requirement}}) =>
  new Set([...requestersOf(bundle, effect_id), ...requirement.exclude]);

/** Return who could not decide an approval when a leaf was written: these, and who had voted. */
export const whoMayNot = (facts, approval, leaf) =>
  new Set([...barredFrom(facts, approval), ...standingBefore(approval, leaf).flatMap(({record}) => peopleOf(record))]);

/** Return the verb of a step, which waits as the step says where that says so; undefined where there is none. */
export function calledBy(facts, path) {
  const {verbs} = facts.definition(), step = facts.plan().node(path);
  if (step?.verb === undefined || !Object.hasOwn(verbs, step.verb)) return undefined;
  const verb = verbs[step.verb], {execution} = verb;
  const timeout = step.timeout ?? execution.timeout, escalation = step.escalation ?? execution.escalation;
  return {...verb, execution: {...execution, timeout, escalation}};
}

/** Return the verb of a step that a leaf names. */
export function verbOf(facts, leaf, path) {
  const verb = calledBy(facts, path);
  if (!verb) throw brokenAt(leaf, `no step ${path} with a verb is in ${DEFINITION}`);
  return verb;
}

/** Return whether a leaf tells of a step at the moment at which an `end` ended the run. */
export const isLeft = (facts, {at}) => facts.stopped().length > 0 && at === facts.end().at;

/** Return the approvals of a kind, or all. */
export const approvalsOf = (facts, kind = null) =>
  [...facts.approvals().values()].filter(({record}) => kind === null || record.kind === kind);

/** Kinds of what is asked until somebody answers. */
export const UNTIL_KNOWN = new Set(["in_doubt", "afterwards"]);

/** Call with each vote and its approval. */
export function eachVote(facts, act) {
  for (const approval of approvalsOf(facts)) for (const vote of approval.votes) act(approval, vote);
}
