// Step 8: what was done had been allowed.

import {canonical, digestOf, same} from "./canonical.js";
import {countingVotes, grouped, isSigned, leavesAbout, peopleOf, verdictsFor} from "./contents.js";
import {Broken, Misshapen} from "./errors.js";
import {EDITED} from "./events.js";
import {hidden, pointerTokens} from "./redaction.js";

/** Return the receipts of what was done, or may have been done. */
export const acted = (bundle) => [...bundle.receipts].filter(([, {outcome}]) => ["success", "in_doubt"].includes(outcome));

/** Raise unless the canonical action gives the digest, and what was sent is what policy was asked about. */
async function demandAction(name, receipt, asked) {
  const {connector, operation, target, fields, tier} = asked, {idempotency_key, reversible_by} = receipt;
  const action = {connector, operation, target, fields, idempotency_key, tier, reversible_by};
  if ((await digestOf(action)) !== asked.digest) {
    throw new Broken(name, "the action that was decided on does not give its digest");
  }
  const paths = receipt.redacted.filter((path) => `${path}/`.startsWith("/request/")).map((path) => path.slice(8));
  let sent;
  try {
    sent = hidden(fields, paths.map(pointerTokens));
  } catch (error) {
    if (error instanceof Misshapen) throw new Broken(name, `redacted: ${error.message}`);
    throw error;
  }
  if (!same(sent, receipt.request)) throw new Broken(name, "its request is not what was decided on");
}

/** Return a name for an effect at one digest. */
export const effectKey = (effect, digest) => canonical([effect, digest]);

/** Return what policy required of people, by effect and digest. */
function requirementsOf(bundle) {
  const asking = [...bundle.decisions.values()].filter(({outcome}) => outcome === "needs_approval");
  return grouped(asking.map(({effect_id, input, answer}) => {
    return [effectKey(effect_id, input.effect.digest), answer.requirement];
  }));
}

/** Raise unless policy allowed exactly this effect, and people approved it where policy had asked for that. */
async function demandAllowed(bundle, name, receipt, requirements) {
  const decision = bundle.decisionOf.get(receipt.decision_id);
  if (!decision) throw new Broken(name, `acted, and its decision ${receipt.decision_id} is not in the bundle`);
  if (decision.outcome !== "allow") {
    throw new Broken(name, `acted, though its decision ${decision.id} says ${decision.outcome}`);
  }
  const asked = decision.input.effect;
  const told = [decision.effect_id, asked.digest, asked.connector, asked.operation, asked.target];
  const did = [receipt.effect_id, receipt.fingerprint, receipt.connector, receipt.operation, receipt.target];
  if (!same(told, did)) throw new Broken(name, `its decision ${decision.id} is about another effect`);
  await demandAction(name, receipt, asked);
  const stated = requirements.get(effectKey(receipt.effect_id, receipt.fingerprint)) ?? [];
  if (receipt.approval_id !== null) demandApproved(bundle, receipt, decision, stated);
  else if (stated.length || decision.input.votes.length) {
    throw new Broken(name, "policy asked for approval, and the receipt names none");
  }
}

/** Raise unless the receipt's approval is bound to its effect, was granted, and is what policy asked for. */
function demandApproved(bundle, receipt, decision, stated) {
  const name = `approvals/${receipt.approval_id}.json`, approval = bundle.approvals.get(name);
  const rests = `receipt ${receipt.receipt_id} rests on it`;
  if (!approval) throw new Broken(name, `is not in the bundle, and ${rests}`);
  if (approval.kind !== "effect") throw new Broken(name, `is of kind ${approval.kind}, and ${rests}`);
  if (approval.status !== "approved") throw new Broken(name, `is ${approval.status}, and ${rests}`);
  if (approval.effect_id !== receipt.effect_id || approval.digest !== receipt.fingerprint) {
    throw new Broken(name, `is bound to another effect than that of receipt ${receipt.receipt_id}`);
  }
  if (!stated.some((requirement) => same(requirement, approval.requirement))) {
    throw new Broken(name, "its requirement is not one that policy asked for");
  }
  if (!same(verdictsFor(countingVotes(bundle, approval)), verdictsFor(decision.input.votes))) {
    throw new Broken(name, `its votes are not those that policy was told in decision ${decision.id}`);
  }
  demandConsent(bundle, name, approval);
  demandQuorum(name, approval.requirement, decision.input.votes, electorateOf(bundle, approval));
}

/** Return the groups that a requirement has asked as time runs short, each once. */
const leadsOf = ({escalate_to}) => [...new Set(escalate_to.flatMap(({to}) => to))];

/** Return the groups that were asked by each vote and edit, by its line: who is next in line, only from then on. */
export function askedAt(bundle, {id, requirement}) {
  const found = new Map();
  let asked = requirement.groups, before = "";
  for (const {event, data, seq} of leavesAbout(bundle, id)) {
    const fallsBack = event === "approval.fell_back" && before === "approval.requested";
    if (event === "wait.escalated" || fallsBack) {
      const named = Array.isArray(data.to) ? data.to : [];
      asked = [...asked, ...leadsOf(requirement).filter((group) => named.includes(group))];
    }
    if (event === "vote.counted" || event === EDITED) found.set(seq, asked);
    before = event;
  }
  return found;
}

/** Return for each voter, and who edited, the groups that were asked by the last time that they did. */
export function electorateOf(bundle, approval) {
  const asked = askedAt(bundle, approval), about = leavesAbout(bundle, approval.id).filter(({seq}) => asked.has(seq));
  return new Map(about.map(({data, seq}) => [data.person, asked.get(seq)]));
}

/** Return whether a vote is by somebody of a group that was asked. */
export const isEntitled = ({person, groups}, electorate) => groups.some((group) => electorate.get(person)?.includes(group));

/** Return everybody who wanted an effect, and so may not consent to it. */
export function requestersOf(bundle, effect) {
  const told = [...bundle.decisions.values()].filter((decision) => decision.effect_id === effect);
  return [bundle.run.requested_by, bundle.run.submitted_by, ...told.map(({input}) => input.actor.id)];
}

/** Return whether a vote does without the others, by somebody whom the requirement lets do so, and often enough. */
export const usesBreakGlass = ({break_glass: breakGlass, sign_with}, {verdict, groups, delegation, break_glass: said, ...vote}) =>
  breakGlass !== undefined && said !== undefined && verdict === "approve" && delegation === undefined
  && (sign_with === undefined || isSigned(vote)) && said.nth <= breakGlass.at_most && groups.some((group) => breakGlass.groups.includes(group));

/** Raise unless an approval that says so was granted: by people who might, and enough of them. */
function demandConsent(bundle, name, approval) {
  const {requirement, effect_id} = approval, electorate = electorateOf(bundle, approval);
  const votes = countingVotes(bundle, approval);
  const people = votes.flatMap(peopleOf);
  if (new Set(people).size < people.length) throw new Broken(name, "counts a person twice");
  const wanting = requestersOf(bundle, effect_id);
  for (const vote of votes) {
    for (const person of [...peopleOf(vote), ...(vote.delegation ? [vote.delegation.recorded_by] : [])]) {
      const whose = `counts the vote of ${person}`;
      if (wanting.includes(person)) throw new Broken(name, `counts the vote of the requester, ${person}`);
      if (requirement.exclude.includes(person)) throw new Broken(name, `${whose}, who was excluded`);
    }
    const whose = `counts the vote of ${vote.person}`;
    if (!isEntitled(vote, electorate) && !usesBreakGlass(requirement, vote)) throw new Broken(name, `${whose}, who is in none of the groups that were asked`);
  }
  demandQuorum(name, requirement, votes, electorate);
}

/** Return whether neither the voter nor for whom they voted has another vote; who votes for themselves alone may. */
function isAlone(vote, votes) {
  const mine = peopleOf(vote);
  if (mine.length === 1) return true;
  const all = votes.flatMap(peopleOf);
  return mine[0] !== mine[1] && mine.every((person) => all.filter((other) => other === person).length === 1);
}

/** Return whether a vote is a no that ended the request; without `veto`, any no did. */
export const isEndedBy = ({veto}, {verdict, groups}) =>
  verdict !== "approve" && (veto === undefined || groups.some((group) => veto.includes(group)));

/** Raise unless enough entitled people approved, and enough of each class, and nobody with a veto said no. */
function demandQuorum(name, requirement, votes, electorate) {
  const vetoed = votes.find((vote) => requirement.veto !== undefined && isEndedBy(requirement, vote));
  if (vetoed) throw new Broken(name, `counts as approved, and ${vetoed.person}, who has a veto, said no`);
  if (votes.some((vote) => usesBreakGlass(requirement, vote))) return;
  const {quorum, classes = [], sign_with} = requirement;
  const approving = votes.filter((vote) => vote.verdict === "approve" && isEntitled(vote, electorate)
    && isAlone(vote, votes) && (sign_with === undefined || isSigned(vote)));
  if (approving.length < quorum) throw new Broken(name, `${approving.length} approved, where ${quorum} had to`);
  demandEach(name, requirement, approving);
  for (const one of classes) {
    demandClass(name, one, approving.filter(({groups}) => groups.some((group) => one.groups.includes(group))));
  }
}

/** Raise unless enough people of a class of signers approved; these votes are those of its groups. */
function demandClass(name, asked, approving) {
  const {groups, quorum} = asked, count = approving.length;
  if (count < quorum) throw new Broken(name, `${count} of ${groups.join(" or ")} approved, where ${quorum} had to`);
  demandEach(name, asked, approving);
}

/** Raise unless each group has a person of its own, where it needs one. */
function demandEach(name, {groups, all_groups}, approving) {
  const signs = new Map();
  const missing = [...new Set(groups)].sort().filter((group) => !getsSigner(group, approving, signs, new Set()));
  if (all_groups && missing.length) {
    throw new Broken(name, `each group needs an approval of its own, and ${missing.join(", ")} has none`);
  }
}

/** Give a group a person of its own, having others sign for another of their groups where that frees one. */
function getsSigner(group, approving, signs, tried) {
  for (const {person, groups} of approving) {
    if (!groups.includes(group) || tried.has(person)) continue;
    tried.add(person);
    if (!signs.has(person) || getsSigner(signs.get(person), approving, signs, tried)) {
      signs.set(person, group);
      return true;
    }
  }
  return false;
}

/** Raise if policy allowed an effect on votes that no approval of it has. */
function demandVotes(bundle, name, {outcome, effect_id, input}) {
  if (outcome !== "allow" || !input.votes.length) return;
  const bound = ["effect", "approved", effect_id, input.effect.digest];
  const found = [...bundle.approvals.values()].some((approval) =>
    same([approval.kind, approval.status, approval.effect_id, approval.digest], bound)
    && same(verdictsFor(countingVotes(bundle, approval)), verdictsFor(input.votes)));
  if (!found) throw new Broken(name, "allows on votes that no approval in the bundle has");
}

/** Step 8. */
export async function checkAuthority(bundle) {
  const receipts = acted(bundle), requirements = requirementsOf(bundle);
  bundle.decisionOf = new Map([...bundle.decisions.values()].map((decision) => [decision.id, decision]));
  for (const [name, receipt] of receipts) await demandAllowed(bundle, name, receipt, requirements);
  for (const [name, approval] of bundle.approvals) {
    if (approval.status === "approved") demandConsent(bundle, name, approval);
  }
  for (const [name, decision] of bundle.decisions) demandVotes(bundle, name, decision);
  const approved = receipts.filter(([, {approval_id}]) => approval_id !== null).length;
  return `${receipts.length} effects were allowed by policy, ${approved} of them approved by people`;
}
