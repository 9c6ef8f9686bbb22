// Steps 7 and 8: what people made of a request.

import {electorateOf, isEntitled, requestersOf} from "./authority.js";
import {canonical, digestOf, same} from "./canonical.js";
import {peopleOf} from "./contents.js";
import {Broken} from "./errors.js";
import {approvalsOf, digestBefore, untilOf, verbOf} from "./facts.js";
import {AUDIT} from "./names.js";
import {agree, brokenAt, lineOf, saysSomething} from "./rules.js";

/** Return the edits in their order, each with its leaf and the approval that tells of it. */
function editsOf(facts) {
  const untold = new Map(approvalsOf(facts).filter(({record}) => record.edited ?? null).map((one) => [one.record.id, one]));
  const found = [...facts.edits().values()].flat().map((leaf) => {
    const approval = untold.get(String(leaf.data.approval_id));
    if (!approval) throw brokenAt(leaf, "no request in the bundle tells of this edit");
    untold.delete(approval.record.id);
    return {approval, record: approval.record.edited, leaf};
  });
  const left = [...untold.values()].sort((one, other) => (one.record.id < other.record.id ? -1 : 1));
  if (left.length) throw new Broken(left[0].name, `tells of an edit, and ${AUDIT} does not`);
  return found;
}

/** An edit says what its leaf says, which is by who edited. */
export async function demandEditsTold(facts) {
  for (const {approval: {name, record: {effect_id}}, record, leaf} of editsOf(facts)) {
    agree(name, lineOf(leaf), {
      person: [record.person, leaf.data.person],
      editor: [[record.person, "person"], [leaf.actor.id, leaf.actor.kind]],
      before: [record.from, leaf.data.from],
      after: [record.to, leaf.data.to],
      at: [record.at, leaf.at],
      edited: [await digestOf(record), leaf.data.digest],
      effect_id: [effect_id, leaf.correlation.effect_id],
    });
  }
}

/** What was edited is the effect as it was, and the approval that asked about it ended with that. */
export function demandEditsInPlace(facts) {
  for (const {approval: {name, record: {kind, digest, effect_id}, end}, record: {from}, leaf} of editsOf(facts)) {
    agree(name, lineOf(leaf), {
      kind: [kind, "effect"],
      end: [end ? [end.event, end.seq, end.at] : null, ["approval.canceled", leaf.seq - 1, leaf.at]],
      digest: [digest, from],
      standing: [digestBefore(facts, effect_id, leaf.seq), from],
    });
  }
}

/** Who edited a request might have approved it. */
export function demandEditors(facts) {
  for (const edit of editsOf(facts)) {
    const wrong = whyNoEditor(facts, edit);
    if (wrong) throw new Broken(edit.approval.name, `the edit by ${edit.record.person} does not count: ${wrong}`);
  }
}

/** Return why an edit does not count, "" where it does. */
function whyNoEditor(facts, {approval, record, leaf}) {
  const {bundle} = facts, {id, effect_id, requirement, expires_at} = approval.record;
  const {person, reason, at} = record;
  if ([...requestersOf(bundle, effect_id), ...requirement.exclude].includes(person)) {
    return "they wanted it, or were excluded";
  }
  if (approval.standing.some((vote) => peopleOf(vote.record).includes(person))) return "they had voted";
  if (at >= untilOf(facts, id, expires_at, leaf)) return "it had expired";
  if (!saysSomething(reason)) return "it has no reason";
  return isEntitled(record, electorateOf(bundle, approval.record)) ? "" : "they are in none of the groups that were asked";
}

/** Return a member in canonical JSON, "" where it is not given. */
const canonicalOf = (values, name) => (Object.hasOwn(values, name) ? canonical(values[name]) : "");

/** What an edit changed may be edited, and is what policy was told before and after it. */
export function demandChanges(facts) {
  for (const edit of editsOf(facts)) {
    const {approval: {name, record: {step}}, record: {changes}, leaf} = edit, {editable = []} = verbOf(facts, leaf, step);
    const params = changes.map(({param}) => param);
    if (new Set(params).size < params.length || params.some((param) => !editable.includes(param))) {
      throw new Broken(name, `edits ${params.join(", ")}, and its verb does not let anybody`);
    }
    demandValues(facts, edit, params);
  }
}

/** Raise unless policy was told before and after what an edit says. */
function demandValues(facts, {approval: {name, record: {effect_id}}, record: {from, to, changes}, leaf: {seq}}, params) {
  if (changes.some((change) => canonicalOf(change, "before") === canonicalOf(change, "after"))) {
    throw new Broken(name, "edits a param to what it was");
  }
  const ofEffect = facts.decisions().filter(({record}) => record.effect_id === effect_id);
  const earlier = ofEffect.filter((one) => one.leaf.seq < seq && one.record.input.effect.digest === from).slice(-1);
  const later = ofEffect.filter((one) => one.leaf.seq > seq && one.record.input.effect.digest === to).slice(0, 1);
  for (const [decisions, when] of [[earlier, "before"], [later, "after"]]) {
    for (const {name: of, record: {input: {effect: {fields}}}} of decisions) {
      const other = changes.find((change) => canonicalOf(change, when) !== canonicalOf(fields, change.param));
      if (other) throw new Broken(name, `${of} was told another ${other.param} ${when} the edit`);
    }
  }
  const rests = [...earlier, ...later].map(({record: {input: {effect: {fields}}}}) =>
    canonical(Object.fromEntries(Object.entries(fields).filter(([param]) => !params.includes(param)))));
  if (new Set(rests).size > 1) throw new Broken(name, `${later[0].name} was told of more than the edit changed`);
}

/** Policy was told of the edits that had been made of an effect, and of no others. */
export function demandToldOfEdits(facts) {
  const made = editsOf(facts);
  for (const {name, record: {effect_id, input}, leaf} of facts.decisions()) {
    const before = made.filter((edit) => edit.approval.record.effect_id === effect_id && edit.leaf.seq < leaf.seq);
    const first = new Map();
    for (const change of before.flatMap(({record}) => record.changes)) {
      if (!first.has(change.param)) first.set(change.param, change);
    }
    const requested = Object.fromEntries([...first].filter(([, change]) => Object.hasOwn(change, "before"))
      .map(([param, change]) => [param, change.before]));
    const by = [...new Set(before.map(({record}) => record.person))];
    if (!same(input.edited, before.length ? {by, requested} : null)) {
      throw new Broken(name, "policy was told of other edits than were made of the effect");
    }
  }
}

/** Who edited an effect is excluded from what is asked about it later, unless they may sign. */
export function demandApart(facts) {
  for (const {approval: {record: {effect_id}}, record: {person}, leaf} of editsOf(facts)) {
    for (const {name, record, leaf: asked} of approvalsOf(facts, "effect")) {
      const {exclude, editors_may_sign} = record.requirement;
      const isLater = record.effect_id === effect_id && asked.seq > leaf.seq;
      if (isLater && !exclude.includes(person) && editors_may_sign !== true) {
        throw new Broken(name, `does not exclude ${person}, who had edited the effect`);
      }
    }
  }
}
