// What is hidden of a request before it is recorded.

import {Misshapen} from "./errors.js";

const MARKER = "[redacted]";

const SECRET_WORD = new RegExp("(?:password|passwords|passwd|passphrase|pwd|secret|secrets|token|authorization|cookie"
  + "|cookies|credential|credentials|bearer|jwt|otp)$");

const SECRET_PHRASE = /apikey|privatekey|accesskey|signingkey|encryptionkey|sessionid/;
const ADDRESS = /^(?:token|authorization) (?:url|uri|endpoint)$/;

/** Return whether a member holds a secret: receipts/redaction.py has the rule. */
function isSecret(name, item) {
  const words = name.normalize("NFKC").match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g) ?? [];
  const lower = words.map((word) => word.toLowerCase());
  const isAddress = ADDRESS.test(lower.slice(-2).join(" "));
  if (isAddress) lower.splice(-2);
  if (lower.some((word) => SECRET_WORD.test(word)) || SECRET_PHRASE.test(lower.join(""))) return true;
  return isAddress && (typeof item !== "string" || /[@?]/.test(item));
}

/** Return the tokens of a JSON pointer. */
export function pointerTokens(text) {
  if ((text && !text.startsWith("/")) || /~(?![01])/.test(text)) throw new Misshapen(`'${text}' is not a JSON pointer`);
  return text.split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Return the rests of the pointers that go on with one of these tokens. */
const after = (pointers, ...tokens) =>
  pointers.filter(([first]) => tokens.includes(first)).map(([, ...others]) => others);

/** Return a value with what the pointers lead to, and what is named like a secret, hidden. */
export function hidden(value, pointers) {
  if (pointers.some((tokens) => !tokens.length)) return MARKER;
  if (Array.isArray(value)) return value.map((item, index) => hidden(item, after(pointers, String(index), "*")));
  if (value === null || typeof value !== "object") return value;
  const hide = ([name, item]) => [name, isSecret(name, item) ? MARKER : hidden(item, after(pointers, name))];
  return Object.fromEntries(Object.entries(value).map(hide));
}
