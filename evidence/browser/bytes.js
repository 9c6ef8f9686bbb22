// Bytes, digests and base64.

import {Misshapen} from "./errors.js";

/** Return bytes in lowercase hex. */
export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Return the SHA-256 of bytes in lowercase hex. */
export const sha256 = async (bytes) => toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

/** Return the UTF-8 of a text. */
export const toUtf8 = (text) => new TextEncoder().encode(text);

/** Return bytes that must be UTF-8 as text, a mark of their order included. */
export const fromUtf8 = (bytes) => new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(bytes);

/** Return one after the other. */
export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

/** Decode base64 in its one standard spelling: padded, without spaces, unused bits zero. */
export function fromBase64(text) {
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new Misshapen("not base64");
  }
  if (btoa(binary) !== text) throw new Misshapen("base64 in another than its standard spelling");
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Decode base64url in its one spelling, without padding. */
export function fromBase64Url(text) {
  return fromBase64(text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4));
}

/** Return the bytes of a text in hex. */
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
