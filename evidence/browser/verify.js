// The whole procedure.

import {Broken, sentenceOf} from "./errors.js";
import {factsOf} from "./facts.js";
import {demandBelow, demandUndone} from "./linked_bundles.js";
import {STEPS} from "./procedure.js";
import {some} from "./rules.js";
import {readTrust} from "./trust.js";

/** The step that is taken only where bundles of runs below are given. */
export const BELOW = [13, "The runs below are those that this one names", checkBelow, ["waits.below"], []];

/** The step that is taken only where the bundle of the run that is undone is given. */
export const UNDONE = [13, "The run that it undoes is the one that it names", checkUndone, ["receipts.undone"], []];

/**
 * Verify a bundle (a Blob), stopping at the first thing that does not hold. `tell` hears of each step as it begins or
 * passes; `given` is what `readTrust` takes beside the key. Raises NoKey where there is nothing to verify with.
 */
export async function verifyBundle(file, pem, tell = () => undefined, given = {}) {
  const trust = await readTrust(pem, given), bundle = {file, trust, key: trust.key, sha256: null, pem, given};
  const passed = [];
  for (const [number, title, check, , bound] of stepsFor(given)) {
    tell({number, title});
    try {
      const said = [await check(bundle)];
      for (const [, demandIt] of bound) {
        bundle.facts ??= factsOf(bundle);
        said.push(await demandIt(bundle.facts));
      }
      passed.push({number, title, fact: said.filter((fact) => typeof fact === "string").join("; ")});
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      const failure = {number, title, member: error.member, what: error.what};
      return {sha256: bundle.sha256, key: bundle.key.id, passed, failure, bundle: null};
    }
    tell(passed.at(-1));
  }
  return {sha256: bundle.sha256, key: bundle.key.id, passed, failure: null, bundle};
}

/** Return the steps that are taken with what is given. */
export const stepsFor = ({children = [], undone = null}) =>
  [...STEPS, ...(children.length ? [BELOW] : []), ...(undone ? [UNDONE] : [])];

/** The bundles of runs below are of runs that this one waited for, as they ended. */
async function checkBelow(bundle) {
  const {pem, given} = bundle;
  for (const file of given.children) {
    const {failure, bundle: child} = await verifyBundle(file, pem, () => undefined, {...given, children: [], undone: null});
    if (failure) throw new Broken("", `the run below, ${file.name}: step ${failure.number}: ${sentenceOf(failure)}`);
    demandBelow(bundle, child);
  }
  return `${some(given.children.length, "run", "runs")} below, as named`;
}

/** The run that is given is the one of which this one undoes receipts. */
async function checkUndone(bundle) {
  const {pem, given} = bundle, alone = {...given, children: [], undone: null};
  const {failure, bundle: other} = await verifyBundle(given.undone, pem, () => undefined, alone);
  if (failure) {
    throw new Broken("", `the run that is undone, ${given.undone.name}: step ${failure.number}: ${sentenceOf(failure)}`);
  }
  return demandUndone(bundle, other);
}
