// Shapes: each raises Misshapen unless a value fits; `at` is the value's place in its record.

import {parseCanonical} from "./canonical.js";
import {Broken, Misshapen} from "./errors.js";
import {IDENTIFIER} from "./names.js";

/** Raise, naming the place, unless something is so. */
export function demand(so, at, what) {
  if (!so) throw new Misshapen(`${at || "the record"}: ${what}`);
}

export const anything = () => undefined;
export const text = (value, at) => demand(typeof value === "string", at, "must be text");
export const someText = (value, at) => demand(typeof value === "string" && value !== "", at, "must be text, and not empty");
export const truth = (value, at) => demand(typeof value === "boolean", at, "must be true or false");
export const whole = (value, at) => demand(Number.isSafeInteger(value), at, "must be a whole number");
export const natural = (value, at) => demand(Number.isSafeInteger(value) && value >= 0, at, "must be a whole number from 0");
export const counted = (value, at) => demand(Number.isSafeInteger(value) && value > 0, at, "must be a whole number from 1");

export const within = (least, most) => (value, at) =>
  demand(Number.isSafeInteger(value) && value >= least && value <= most, at, `must be from ${least} to ${most}`);

export const all = (...shapes) => (value, at) => {
  for (const fits of shapes) fits(value, at);
};
export const orNull = (fits) => (value, at) => value === null || fits(value, at);
export const oneOf = (...values) => (value, at) => demand(values.includes(value), at, `must be ${values.join(" or ")}`);
export const like = (pattern, what = `must be like ${pattern.source}`) => (value, at) =>
  demand(typeof value === "string" && pattern.test(value), at, what);
export const identifier = like(new RegExp(`^${IDENTIFIER}$`), "must be an identifier");
export const hex64 = like(/^[0-9a-f]{64}$/, "must be a SHA-256 in lowercase hex");

/** A moment: RFC 3339 in UTC with microseconds, on a day that exists. */
export function moment(value, at) {
  const wellFormed = typeof value === "string" && /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value);
  const seconds = wellFormed ? value.slice(0, 19) : "";
  const date = new Date(`${seconds}Z`);
  demand(wellFormed && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(seconds), at, "must be a moment");
}

/** A list of what fits. */
export const list = (fits, least = 0, most = Infinity) => (value, at) => {
  demand(Array.isArray(value), at, "must be a list");
  demand(value.length >= least && value.length <= most, at, "must be a list of another length");
  for (const [index, item] of value.entries()) fits(item, `${at}.${index}`);
};

/** A text of so many characters. */
export const long = (least, most) => all(text, (value, at) => {
  const {length} = [...value];
  demand(length >= least && length <= most, at, `must have from ${least} to ${most} characters`);
});

/** Whatever fits one of these. */
export const either = (...shapes) => (value, at) => {
  const doesFit = (shape) => {
    try {
      shape(value, at);
      return true;
    } catch (error) {
      if (error instanceof Misshapen) return false;
      throw error;
    }
  };
  demand(shapes.some(doesFit), at, "has none of the shapes that it may have");
};

/** An object of whatever names. */
export const mapping = (fits) => (value, at) => {
  demand(value !== null && typeof value === "object" && !Array.isArray(value), at, "must be an object");
  for (const [name, item] of Object.entries(value)) fits(item, at ? `${at}.${name}` : name);
};

/** An object of so many names of one kind at most. */
export const namedLike = (pattern, most, fits) => all(mapping(fits), (value, at) => {
  const names = Object.keys(value);
  demand(names.length <= most && names.every((name) => pattern.test(name)), at, "must have other names, or fewer");
});

/** An object that has these members, `?` after the name of one that may be missing, and more of any kind. */
export const open = (members) => (value, at) => {
  mapping(anything)(value, at);
  for (const [title, fits] of Object.entries(members)) {
    const name = title.replace("?", ""), place = at ? `${at}.${name}` : name;
    demand(Object.hasOwn(value, name) || title !== name, place, "is missing");
    if (Object.hasOwn(value, name)) fits(value[name], place);
  }
};

/** An object that has these members and no others. */
export const closed = (members) => (value, at) => {
  open(members)(value, at);
  for (const name of Object.keys(value)) {
    const isKnown = Object.hasOwn(members, name) || Object.hasOwn(members, `${name}?`);
    demand(isKnown, at ? `${at}.${name}` : name, "is unknown");
  }
};

/** Return a member's canonical JSON as a record of a shape. */
export function parse(shape, member, bytes) {
  try {
    const value = parseCanonical(bytes);
    shape(value, "");
    return value;
  } catch (error) {
    if (error instanceof Misshapen) throw new Broken(member, error.message);
    throw error;
  }
}
