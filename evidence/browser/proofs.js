// Proofs of RFC 6962: that leaves stand in a log.

import {fromHex, joined, toHex} from "./bytes.js";
import {Misshapen} from "./errors.js";

/** Return the hash of each leaf by its index in the log; raise unless each has one place, in the chain's order. */
export function placed(leaves, places) {
  const found = new Map();
  let expected = 1;
  for (const {first_seq, count, first_index} of places) {
    if (first_seq !== expected || count > leaves.length - expected + 1) {
      throw new Misshapen(`leaf ${expected} has no place in the log, or the places are not in its order`);
    }
    for (let step = 0; step < count; step += 1) {
      found.set(BigInt(first_index) + BigInt(step), fromHex(leaves[expected - 1 + step].hash));
    }
    expected += count;
  }
  if (expected !== leaves.length + 1) throw new Misshapen(`leaf ${expected} has no place in the log`);
  if (found.size !== leaves.length) throw new Misshapen("two leaves have one place in the log");
  return found;
}

/** Return where the left part of a tree over so many leaves ends: the largest power of two below. */
const splitOf = (size) => 1n << BigInt((size - 1n).toString(2).length - 1);

/** Raise unless leaves with these hashes stand at these indices of a log with this size and root. */
export async function checkInclusion({size, root}, leaves, proof) {
  const indices = [...leaves.keys()].sort((one, other) => (one < other ? -1 : 1));
  if (!indices.length || size <= 0n) throw new Misshapen("inclusion proof: there are no leaves to prove");
  if (indices.at(-1) >= size) throw new Misshapen(`inclusion proof: the leaves do not ascend within a log of ${size}`);
  const wanted = countWithout(indices, 0n, size);
  if (proof.length !== wanted) {
    throw new Misshapen(`inclusion proof: it has ${proof.length} hashes, where these leaves take ${wanted}`);
  }
  const found = await rootOf(leaves, indices, proof.map(fromHex).values(), 0n, size);
  if (toHex(found) !== root) throw new Misshapen(`inclusion proof: the leaves do not give the root of ${size} leaves`);
}

/** Return how many of the largest subtrees have none of the leaves. */
function countWithout(indices, begin, end) {
  if (!indices.length) return 1;
  if (end - begin === 1n) return 0;
  const middle = begin + splitOf(end - begin), [left, right] = halves(indices, middle);
  return countWithout(left, begin, middle) + countWithout(right, middle, end);
}

/** Return the indices before a place, and the others. */
function halves(indices, middle) {
  const place = indices.findIndex((index) => index >= middle);
  return place < 0 ? [indices, []] : [indices.slice(0, place), indices.slice(place)];
}

/** Return the root of the subtree over the leaves from one index up to another. */
async function rootOf(leaves, indices, proof, begin, end) {
  if (!indices.length) return proof.next().value;
  if (end - begin === 1n) return leaves.get(begin);
  const middle = begin + splitOf(end - begin), [before, behind] = halves(indices, middle);
  const left = await rootOf(leaves, before, proof, begin, middle);
  const right = await rootOf(leaves, behind, proof, middle, end);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined(Uint8Array.of(1), left, right)));
}
