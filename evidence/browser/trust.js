// Whom to believe.

import {Misshapen, NoKey} from "./errors.js";
import {COSIGNATURE, ED25519, parseVkey} from "./notes.js";
import {believed} from "./register.js";
import {readKey} from "./signing.js";

/** Return the keys in these texts, of one algorithm. */
async function readVkeys(texts, algorithm) {
  try {
    return await Promise.all(texts.map((text) => parseVkey(text, algorithm)));
  } catch (error) {
    throw error instanceof Misshapen || error instanceof DOMException ? new NoKey(`${error.message}.`) : error;
  }
}

/**
 * Return whom to believe: a public key (the text of a PEM file) and, where they are given, a register of keys (bytes),
 * keys of the log and of its witnesses (vkey), and how many of these must have cosigned; all, where it is not said.
 */
export async function readTrust(pem, {register = null, logKeys = [], witnesses = [], needed = null} = {}) {
  const key = await readKey(pem), log = await readVkeys(logKeys, ED25519);
  const watching = await readVkeys(witnesses, COSIGNATURE), wanted = needed ?? watching.length;
  if (new Set(log.map(({name}) => name)).size > 1) {
    throw new NoKey("The keys of a log all have its origin as their name.");
  }
  if (watching.length && !log.length) {
    throw new NoKey("Witnesses say something about a log whose key is given, and none is.");
  }
  if (wanted > watching.length) {
    throw new NoKey(`${wanted} witnesses cannot have cosigned: ${watching.length} are given.`);
  }
  const entries = register ? await believed(register, key) : new Map();
  return {key, entries, logKeys: log, witnesses: watching, needed: wanted};
}
