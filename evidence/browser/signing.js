// The key and the envelope (DSSE v1).

import {fromBase64, fromHex, fromUtf8, joined, sha256, toUtf8} from "./bytes.js";
import {parseCanonical} from "./canonical.js";
import {Misshapen, NoKey} from "./errors.js";
import {PAYLOAD_TYPE} from "./names.js";
import {closed, list, text} from "./shapes.js";

// RFC 8032, section 7.1, TEST 2: what shows whether this browser can check signatures at all.
const KNOWN = {
  key: "302a300506032b65700321003d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  message: "72",
};

/** Return the Ed25519 key of a DER SubjectPublicKeyInfo. */
export const importKey = (der) => crypto.subtle.importKey("spki", der, "Ed25519", false, ["verify"]);

/** Return whether this browser has Ed25519, and tells a right signature from a wrong one. */
async function hasEd25519() {
  try {
    const key = await importKey(fromHex(KNOWN.key)), signature = fromHex(KNOWN.signature);
    const right = await crypto.subtle.verify("Ed25519", key, signature, fromHex(KNOWN.message));
    return right && !(await crypto.subtle.verify("Ed25519", key, signature, new Uint8Array(1)));
  } catch {
    return false;
  }
}

/** Return the key of a PEM file, and its id: the SHA-256 of its DER SubjectPublicKeyInfo. */
export async function readKey(pem) {
  if (!(await hasEd25519())) {
    throw new NoKey("This browser cannot check Ed25519 signatures, so nothing was verified. Chrome and Edge from 137,"
      + " Firefox from 129 and Safari from 17 can.");
  }
  if (pem.includes("PRIVATE KEY")) throw new NoKey("This is a private key, which nobody but the sealer may have.");
  const block = /^-----BEGIN PUBLIC KEY-----\s([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem.trim());
  try {
    const der = fromBase64((block?.[1] ?? "").replace(/\s/g, ""));
    return {key: await importKey(der), id: await sha256(der)};
  } catch {
    throw new NoKey("This is not an Ed25519 public key in PEM.");
  }
}

/** Return DSSE's pre-authentication encoding: the bytes that are signed. */
export function preAuthentication(type, payload) {
  const kind = toUtf8(type);
  return joined(toUtf8(`DSSEv1 ${kind.length} `), kind, toUtf8(` ${payload.length} `), payload);
}

/** Return how many bytes the envelope of a statement about these members can have. */
export function largestEnvelope(names) {
  const payload = names.reduce((size, name) => size + 100 + name.length, 65536);
  return Math.floor((payload * 4) / 3) + 65536;
}

const ENVELOPE_REST = closed({payloadType: text, signatures: list(closed({keyid: text, sig: text}), 1, 1)});

/** Return the payload as it is encoded, and the rest: base64 has no quotation mark. */
function splitEnvelope(envelope) {
  const head = '{"payload":"', text = fromUtf8(envelope), end = text.indexOf('",', head.length);
  if (!text.startsWith(head) || end < 0 || text.length - end > 4096) {
    throw new Misshapen("not an envelope: a payload, its type and one signature");
  }
  const rest = parseCanonical(toUtf8(`{${text.slice(end + 2)}`));
  ENVELOPE_REST(rest, "");
  return [text.slice(head.length, end), rest];
}

/** Return the first of these keys that made a signature, or raise. */
async function signerOf(signature, signed, keys) {
  for (const key of keys) if (await crypto.subtle.verify("Ed25519", key.key, signature, signed)) return key;
  const others = keys.length > 1 ? `, nor by one of the ${keys.length - 1} others that it vouches for` : "";
  throw new Misshapen(`the signature is not by the key ${keys[0].id}${others}`);
}

/** Return what an envelope carries, and who of these signed it. Nothing of the payload is parsed, however large. */
export async function openEnvelope(envelope, keys) {
  const [encoded, {payloadType, signatures: [{keyid, sig}]}] = splitEnvelope(envelope);
  const payload = fromBase64(encoded), signed = preAuthentication(payloadType, payload);
  const key = await signerOf(fromBase64(sig), signed, keys);
  if (keyid !== "" && keyid !== key.id) throw new Misshapen(`keyid does not name the key that signed, ${key.id}`);
  if (payloadType !== PAYLOAD_TYPE) throw new Misshapen(`carries ${JSON.stringify(payloadType)}, not ${PAYLOAD_TYPE}`);
  return {payload, keyid, key};
}

/** Return the keys that may have signed, the one that was given first. */
export const keysOf = ({key, entries}) =>
  [key, ...[...entries].filter(([id]) => id !== key.id).map(([id, {key: earlier}]) => ({key: earlier, id}))];
