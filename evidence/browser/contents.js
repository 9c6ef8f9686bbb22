// What a bundle holds: its members, its records and its leaves.

import {canonical, digestOf} from "./canonical.js";
import {Broken} from "./errors.js";
import {DEFINITION} from "./names.js";
import {parse} from "./shapes.js";
import {DEFINITION_RECORD_SHAPE} from "./shapes.generated.js";

/** Return a member's bytes. */
export function memberOf(bundle, name) {
  if (!bundle.members.has(name)) throw new Broken(name, "is not in the bundle");
  return bundle.members.get(name);
}

/** Return the names of the members in a folder. */
export const inFolder = (bundle, folder) => [...bundle.members.keys()].filter((name) => name.startsWith(`${folder}/`));

/** Return the values of each key, in their order. */
export function grouped(pairs) {
  const found = new Map();
  for (const [key, value] of pairs) {
    if (found.has(key)) found.get(key).push(value);
    else found.set(key, [value]);
  }
  return found;
}

/** Return the leaves of an event. */
export const leavesOf = (bundle, event) => bundle.leaves.filter((leaf) => leaf.event === event);

/** Return the leaves about an approval. */
export const leavesAbout = (bundle, id) => bundle.about.get(id) ?? [];

/** Return the records of a folder, by member name. */
export function recordsOf(bundle, folder, shape) {
  return new Map(inFolder(bundle, folder).map((name) => [name, parse(shape, name, memberOf(bundle, name))]));
}

/** Return for whom a vote was given, or null for the voter alone. */
export const delegatorOf = ({delegation}) => delegation?.delegator ?? null;

/** Return who has voted with a vote: the voter, and for whom. */
export const peopleOf = ({person, delegation}) => (delegation ? [person, delegation.delegator] : [person]);

/** Return people with their verdicts and for whom they gave them, in one order. */
export const verdictsFor = (votes) => votes.map((vote) =>
  canonical([vote.person, vote.verdict, delegatorOf(vote), isSigned(vote), isFromConsole(vote)])).sort();

/** Return whether a vote says that it was given in the console. */
export const isFromConsole = ({via}) => via === "console";

/** Return whether a vote says that it was signed with more than a click. */
export const isSigned = ({passkey, signed_with}) => passkey !== undefined || signed_with !== undefined;

/** Return the votes that were not withdrawn; of two that are alike, one for each. */
function standingOf(votes, digests, withdrawn) {
  const left = [...withdrawn];
  return votes.filter((_, index) => {
    const place = left.indexOf(digests[index]);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

/** Return the votes of each approval that no `vote.withdrawn` names by their digest, by the approval's member. */
export async function allStanding(bundle) {
  const found = new Map();
  for (const [name, {id, votes}] of bundle.approvals) {
    const about = leavesAbout(bundle, id).filter(({event}) => event === "vote.withdrawn");
    const digests = about.length ? await Promise.all(votes.map(digestOf)) : [];
    found.set(name, standingOf(votes, digests, about.map(({data}) => String(data.digest))));
  }
  return found;
}

/** Return the votes of an approval that count. */
export const countingVotes = (bundle, {id, votes}) => bundle.standing.get(`approvals/${id}.json`) ?? votes;

/** Return the leaves about each approval: which one stands in the data, or else beside it. */
export function leavesByApproval(leaves) {
  return grouped(leaves.map((leaf) => {
    const {data, correlation} = leaf;
    return [Object.hasOwn(data, "approval_id") ? data.approval_id : correlation.approval_id, leaf];
  }));
}

/** Return the leaves of the requests by the members of their approvals. */
export const requestsOf = (bundle) => new Map(leavesOf(bundle, "approval.requested").map((leaf) =>
  [`approvals/${leaf.data.approval_id}.json`, leaf]));

/** Return the definition. */
export const definitionOf = (bundle) => parse(DEFINITION_RECORD_SHAPE, DEFINITION, memberOf(bundle, DEFINITION));

/** Return the members that the leaves of an event name, each with its leaf, in their order. */
export const namedBy = (bundle, event, key, folder) => leavesOf(bundle, event).map((leaf, index) =>
  [`${folder}/${String(index + 1).padStart(5, "0")}-${leaf.data[key]}.json`, leaf]);

/** Return whether something was done, or may have been done. */
export const isActed = ({outcome}) => outcome === "success" || outcome === "in_doubt";
