// Signed notes and checkpoints of C2SP, and the keys that they are verified with.

import {fromBase64, fromUtf8, joined, sha256, toHex, toUtf8} from "./bytes.js";
import {Misshapen} from "./errors.js";

const NOTE_LIMIT = 256 * 1024;
const MAX_SIGNATURES = 64;
const MAX_LOG = 2n ** 63n - 1n;
export const ED25519 = 1;
export const COSIGNATURE = 4;

/** Return the bytes of base64 in its one spelling, or raise Misshapen naming what it is. */
function base64Of(text, what) {
  try {
    return fromBase64(text);
  } catch (error) {
    throw new Misshapen(`${what} is ${error.message}`);
  }
}

/** Raise unless a key may have this name. */
function demandKeyName(name) {
  if (!name || /[\s+\x00-\x1f]/u.test(name)) {
    throw new Misshapen(`a key's name is not empty and has no space, plus or control character; this is '${name}'`);
  }
}

/** Return the key in its text form (vkey): name+hash+base64(algorithm || key). */
export async function parseVkey(text, algorithm) {
  const [name, hash, ...rest] = text.split("+"), what = `the verifier key of '${name.slice(0, 80)}'`;
  if (!rest.length || !/^[0-9a-f]{8}$/.test(hash)) {
    const form = "a verifier key is name+hash+key, the hash 8 digits of lowercase hex";
    throw new Misshapen(`${form}; this is '${text.slice(0, 80)}'`);
  }
  demandKeyName(name);
  const data = base64Of(rest.join("+"), what);
  const kind = algorithm === ED25519 ? "a log's (01)" : "a witness's (04)";
  if (data[0] !== algorithm || data.length !== 33) throw new Misshapen(`${what} is not ${kind}, of 32 bytes`);
  const found = (await sha256(joined(toUtf8(`${name}\n`), data))).slice(0, 8);
  if (found !== hash) throw new Misshapen(`${what} has the hash ${found}, but says ${hash}`);
  const key = await crypto.subtle.importKey("raw", data.subarray(1), "Ed25519", false, ["verify"]);
  return {name, hash, algorithm, key};
}

/** Return the signed note in these bytes: its text and its signatures, of whoever they may be. */
export function parseNote(bytes) {
  if (bytes.length > NOTE_LIMIT) throw new Misshapen(`the note has ${bytes.length} bytes, and may have ${NOTE_LIMIT}`);
  let text;
  try {
    text = fromUtf8(bytes);
  } catch {
    throw new Misshapen("the note is not UTF-8");
  }
  if (/[\x00-\x09\x0b-\x1f]/.test(text)) throw new Misshapen("the note holds a control character");
  const end = text.lastIndexOf("\n\n"), lines = text.slice(end + 2);
  if (end < 0 || !lines.endsWith("\n")) {
    throw new Misshapen("the note has no text that an empty line parts from signature lines");
  }
  const signatures = lines.slice(0, -1).split("\n").map(parseSignature);
  if (signatures.length > MAX_SIGNATURES) {
    throw new Misshapen(`the note has ${signatures.length} signatures, and may have ${MAX_SIGNATURES}`);
  }
  return {text: text.slice(0, end + 1), signatures};
}

/** Return the signature in a line of a note. */
function parseSignature(line) {
  const [, name, encoded] = /^— ([^ ]*) (.*)$/u.exec(line) ?? [];
  if (name === undefined) {
    throw new Misshapen(`a signature line is a dash, a key's name and base64; this is '${line.slice(0, 80)}'`);
  }
  demandKeyName(name);
  const data = base64Of(encoded, `the signature of '${name}'`);
  if (data.length <= 4) throw new Misshapen(`the signature of '${name}' is no key hash and signature`);
  return {name, hash: toHex(data.subarray(0, 4)), data: data.subarray(4)};
}

/** Return what a signature is over, and the signature: that of a witness has a time before it. */
function signedText(text, {name, data}, {algorithm}) {
  if (algorithm === ED25519) return [toUtf8(text), data];
  if (data.length <= 8) throw new Misshapen(`the cosignature of ${name} has no timestamp and signature`);
  const time = new DataView(data.buffer, data.byteOffset, 8).getBigUint64(0);
  if (time > MAX_LOG) throw new Misshapen(`the cosignature of ${name} is of a time beyond 2**63 - 1`);
  return [toUtf8(`cosignature/v1\ntime ${time}\n${text}`), data.subarray(8)];
}

/** Return the keys that signed a note; raise where a signature that says it is of one does not hold. */
export async function verifiedBy(note, keys) {
  const found = [];
  for (const signature of note.signatures) {
    for (const key of keys) {
      if (signature.name !== key.name || signature.hash !== key.hash) continue;
      const [text, data] = signedText(note.text, signature, key);
      if (!(await crypto.subtle.verify("Ed25519", key.key, data, text))) {
        throw new Misshapen(`the signature of ${key.name}+${key.hash} does not hold`);
      }
      found.push(key);
    }
  }
  return found;
}

/** Return the checkpoint in the text of a note: the log's origin, its size, and its root in hex. */
export function parseCheckpoint(text) {
  const lines = text.slice(0, -1).split("\n"), [origin, size, root] = lines;
  if (lines.length < 3 || lines.includes("")) {
    throw new Misshapen("a checkpoint is at least three lines, none of them empty");
  }
  if (!/^(0|[1-9][0-9]{0,18})$/.test(size) || BigInt(size) > MAX_LOG) {
    throw new Misshapen(`the checkpoint's size is no number up to 2**63 - 1 without leading zeroes: '${size}'`);
  }
  const hash = base64Of(root, "the checkpoint's root");
  if (hash.length !== 32) throw new Misshapen(`the checkpoint's root has ${hash.length} bytes, not 32`);
  return {origin, size: BigInt(size), root: toHex(hash)};
}

/** Raise unless the log whose keys these are signed its checkpoint. */
export async function openCheckpoint(note, {origin}, keys) {
  if (origin !== keys[0].name) throw new Misshapen(`the checkpoint is of '${origin}', not of ${keys[0].name}`);
  if (!(await verifiedBy(note, keys)).length) {
    throw new Misshapen(`the checkpoint is not signed by ${keys.map(({name, hash}) => `${name}+${hash}`).join(", ")}`);
  }
}
