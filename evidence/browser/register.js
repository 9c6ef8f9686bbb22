// The register of keys.

import {fromBase64, sha256, toUtf8} from "./bytes.js";
import {canonical, parseCanonical} from "./canonical.js";
import {Broken, Misshapen, NoKey} from "./errors.js";
import {STATEMENT} from "./names.js";
import {HOUR, microseconds} from "./rules.js";
import {REGISTER_SHAPE} from "./shapes.generated.js";
import {importKey, preAuthentication} from "./signing.js";

const KEY_ENTRY_TYPE = "application/vnd.countersign.signing-key+json";

/** Return what is believed of keys, by id, by who trusts one of them: entries that later keys vouch for. */
export async function believed(bytes, trusted) {
  let keys;
  try {
    const register = parseCanonical(bytes);
    REGISTER_SHAPE(register, "");
    keys = register.keys;
  } catch (error) {
    throw error instanceof Misshapen ? new NoKey(`This is not a register of keys: ${error.message}`) : error;
  }
  const end = keys.findIndex(({id}) => id === trusted.id);
  if (new Set(keys.map(({id}) => id)).size < keys.length) throw new NoKey("This register names a key twice.");
  if (end < 0) throw new NoKey(`The register does not have the key that is trusted, ${trusted.id}.`);
  const found = new Map([[trusted.id, {entry: keys[end], key: trusted.key}]]);
  for (const entry of keys.slice(0, end).reverse()) {
    const by = found.get(entry.signed_by);
    if (by) found.set(entry.id, {entry, key: await vouchedFor(entry, by)});
  }
  return found;
}

/** Return the key of an entry; raise unless a key that was not revoked vouches for it. */
async function vouchedFor(entry, by) {
  const {id, public_key, from, until = null, revoked = null, signature} = entry;
  const signed = {id, public_key, from, until, revoked};
  if (by.entry.revoked) throw new NoKey(`Key ${entry.id} is vouched for by ${by.entry.id}, which was revoked.`);
  const bytes = preAuthentication(KEY_ENTRY_TYPE, toUtf8(canonical(signed)));
  try {
    if (await crypto.subtle.verify("Ed25519", by.key, fromBase64(signature ?? ""), bytes)) {
      const der = fromBase64(entry.public_key);
      if ((await sha256(der)) === entry.id) return await importKey(der);
    }
  } catch (error) {
    if (!(error instanceof Misshapen || error instanceof DOMException)) throw error;
  }
  throw new NoKey(`What is said of key ${entry.id} is not signed by ${by.entry.id}, or is of no such key.`);
}

/** The key counted when the last leaf was written. */
export function demandCounted(bundle) {
  const entry = bundle.trust.entries.get(bundle.key.id)?.entry, {at: moment} = bundle.leaves.at(-1);
  if (!entry) return;
  const now = microseconds(moment), {id, until = null, revoked = null} = entry;
  if (now < microseconds(entry.from) - HOUR) {
    throw new Broken(STATEMENT, `key ${id} signed only from ${entry.from}, and this is of ${moment}`);
  }
  if (until !== null && now > microseconds(until) + HOUR) {
    throw new Broken(STATEMENT, `key ${id} signed until ${until}, and this is of ${moment}`);
  }
  if (revoked && now >= microseconds(revoked.at)) {
    throw new Broken(STATEMENT, `key ${id} was revoked at ${revoked.at}: ${revoked.why}`);
  }
}
