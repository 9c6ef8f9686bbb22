// The definition: what a step is, what stands in what, who waits for whom.

import {canonical} from "./canonical.js";
import {grouped} from "./contents.js";
import {kindOf} from "./forms.js";

/** Return the id of the step of the definition at a path: without the numbers of iterations. */
export const addressOf = (path) => path.replace(/\[[0-9]+\]/g, "");

/** Return whether a verb is a read that passes the gate. */
export const isGovernedRead = ({effect}) => effect.class === "read" && effect.governed === true;

/** Return whether policy is asked before a verb is done. */
export const passesGate = ({effect}) => effect.class === "write" || effect.governed === true;

/** Return what holds the block in which a step stands; "" at the top. */
export const holderOf = (path) => path.slice(0, Math.max(path.lastIndexOf("."), 0));

/** Return the path of the step of an id, in a block. */
export const inside = (block, id) => (block ? `${block}.` : "") + id.slice(id.lastIndexOf(".") + 1);

/** Return the path of the step of an id, as it is seen from another in its block, or in one inside that. */
const near = (id, path) => inside(path.split(".").slice(0, id.split(".").length - 1).join("."), id);

/** Return what is repeated, and which time this is; null where the path is of no iteration. */
export function iterated(path) {
  const found = /^(.+)\[([0-9]+)\]$/s.exec(path);
  return found && {holder: found[1], index: Number(found[2])};
}

/** Return the steps in which a step stands, the nearest first: `a[1].b` stands in `a[1]` and `a`. */
export function around(path) {
  const found = [];
  const outer = (inner) => iterated(inner)?.holder ?? holderOf(inner);
  for (let holder = outer(path); holder; holder = outer(holder)) found.push(holder);
  return found;
}

/** Return for each part of a path its id and whether it has a number; null where it is no path. */
function partsOf(path) {
  const read = path.split(".").map((part) => /^([^.[\]]+)(\[(?:0|[1-9][0-9]{0,3})\])?$/.exec(part));
  if (read.includes(null)) return null;
  return read.map(([, , number], depth) =>
    ({id: read.slice(0, depth + 1).map((part) => part[1]).join("."), isNumbered: number !== undefined}));
}

/** Return the tree of a definition's steps: what stands in what, who waits for whom, which paths there can be. */
export function planOf({steps, edges}) {
  const nodes = new Map(steps.map((step) => [step.id, step]));
  const places = new Map([...nodes.keys()].map((id, place) => [id, place]));
  const uniquely = (pairs) => new Map([...grouped(pairs)].map(([id, others]) => [id, [...new Set(others)].sort()]));
  const needs = uniquely(edges.map(({source, target}) => [target, source]));
  const skips = uniquely(edges.filter(({kind}) => kind !== "order").map(({source, target}) => [target, source]));
  const key = (holder, branch) => canonical([holder, branch]);
  const blocks = grouped([...nodes.values()].map((step) => [key(holderOf(step.id), step.in ?? ""), step.id]));
  const seenFrom = (path, all) => (iterated(path) ? [] : (all.get(addressOf(path)) ?? []).map((id) => near(id, path)));
  const known = new Map(), node = (path) => nodes.get(addressOf(path)), kind = (path) => kindOf(node(path));
  const numbersOf = (path) => [...path.matchAll(/\[([0-9]+)\]/g)].map(([, number]) => Number(number));
  const byNumbers = (one, other) => {
    const [here, there] = [numbersOf(one), numbersOf(other)];
    const at = here.findIndex((number, index) => number !== there[index]);
    if (at < 0) return here.length - there.length;
    return there[at] === undefined ? 1 : here[at] - there[at];
  };
  return {
    node,
    kind,
    needs: (path) => seenFrom(path, needs),
    skipsWith: (path) => seenFrom(path, skips),
    block: ([holder, branch]) => (blocks.get(key(addressOf(holder), branch)) ?? []).map((id) => inside(holder, id)),
    blockOf: (path) => [holderOf(path), node(path).in ?? ""],
    branches: (path) => (path && !iterated(path) ? blocks.get(key(addressOf(path), "")) ?? [] : [])
      .filter((id) => kind(id) === "branch").map((id) => id.slice(id.lastIndexOf(".") + 1)),
    inOrder: (paths) => [...paths].sort((one, other) =>
      places.get(addressOf(one)) - places.get(addressOf(other)) || byNumbers(one, other)),
    knows(path) {
      if (!known.has(path)) known.set(path, fits(nodes, path));
      return known.get(path);
    },
  };
}

/** Return whether there can be a step at a path: what is repeated, and nothing else, has a number before others. */
function fits(nodes, path) {
  const parts = partsOf(path);
  if (path !== "" && nodes.has(path) && !/[.[]/.test(path)) return true;
  if (parts === null || parts.some(({id}) => !nodes.has(id))) return false;
  const kinds = parts.map(({id}) => kindOf(nodes.get(id)));
  if (parts.some(({isNumbered}, at) => isNumbered && kinds[at] !== "repeat")) return false;
  return parts.slice(0, -1).every(({isNumbered}, at) => (kinds[at + 1] === "branch"
    ? !isNumbered && kinds[at] !== "branch" : isNumbered || ["switch", "branch"].includes(kinds[at])));
}

/** Return what happens as time runs short for a verb. */
export const entriesOf = ({escalation}) => escalation ?? [];

/** Return who is asked as time runs short for a verb, and after how long. */
export const nextInLine = (execution) =>
  entriesOf(execution).filter(({to = []}) => to.length).map(({after, to}) => ({after, to}));
