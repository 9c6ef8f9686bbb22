// What records are held to beside the shapes of their members.

import {demand} from "./shapes.js";

const STEP_KINDS = ["verb", "set", "reference", "switch", "repeat", "wait", "end", "branch"];

/** Return what a step of the definition is: which of the kinds. */
export const kindOf = (step) => STEP_KINDS.find((kind) => Object.hasOwn(step, kind) && step[kind] !== null);

/** A step of the definition is of one kind. */
export function isOneThing(step, at) {
  const kinds = STEP_KINDS.filter((kind) => Object.hasOwn(step, kind) && step[kind] !== null);
  demand(kinds.length === 1, at, `must have one of ${STEP_KINDS.join(", ")}`);
}

/** What was used has a cost in some currency, or neither. */
export function costsAgree({cost, currency}, at) {
  demand((cost === null) === (currency === null), at, "cost and currency go together");
}
