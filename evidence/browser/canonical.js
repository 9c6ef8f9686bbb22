// Canonical JSON (RFC 8785).

import {fromUtf8, sha256, toUtf8} from "./bytes.js";
import {Misshapen} from "./errors.js";
import {MAX_DEPTH} from "./names.js";

/** Return the canonical JSON of a value: JSON.stringify writes numbers and texts as the standard does. */
export function canonical(value, depth = 0) {
  if (depth > MAX_DEPTH) throw new Misshapen(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value).sort();  // by UTF-16 code units, as the standard has it
    return `{${names.map((name) => `${canonical(name)}:${canonical(value[name], depth + 1)}`).join(",")}}`;
  }
  if (typeof value === "string" && !value.isWellFormed()) throw new Misshapen("text holds a lone surrogate");
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Misshapen("a whole number beyond 2**53 - 1");
  return JSON.stringify(value);
}

/** Return the digest of a value's canonical JSON. */
export const digestOf = (value) => sha256(toUtf8(canonical(value)));

/** Return whether two JSON values are the same; what is not there counts as null. */
export const same = (one, other) => canonical(one ?? null) === canonical(other ?? null);

/** Parse bytes that must be exactly canonical: no spaces, no repeated members, no other spelling of anything. */
export function parseCanonical(bytes) {
  let text, value;
  try {
    text = fromUtf8(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new Misshapen(`not JSON: ${error.message}`);
  }
  if (canonical(value) !== text) throw new Misshapen("JSON, but not in canonical form (RFC 8785)");
  return value;
}
