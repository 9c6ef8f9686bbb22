// What rules compare with: the data of leaves, moments and durations, and the words for what differs.

import {canonical, same} from "./canonical.js";
import {Broken, Misshapen} from "./errors.js";
import {AUDIT} from "./names.js";

export const HOUR = 3_600_000_000n;  // microseconds, as all times here

const REASON_MIN = 3;
const LONGEST_SHOWN = 200;

/** Return what is wrong with a leaf. */
export const brokenAt = ({seq}, what) => new Broken(AUDIT, `line ${seq}: ${what}`);

/** Return the data of a leaf, which must have a shape. */
export function dataOf(shape, leaf) {
  try {
    shape(leaf.data, "");
    return leaf.data;
  } catch (error) {
    if (error instanceof Misshapen) throw brokenAt(leaf, error.message);
    throw error;
  }
}

/** Return a value as it is told, cut off where it is long. */
export function told(value) {
  const text = typeof value === "string" ? value : canonical(value ?? null);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** Raise at the first fact that the record and the other side tell differently: `what: [here, there]`. */
export function agree(member, other, facts) {
  for (const [what, [here, there]] of Object.entries(facts)) {
    if (!same(here, there)) throw new Broken(member, `${what} is ${told(here)}, and ${other} says ${told(there)}`);
  }
}

/** Return a moment as microseconds since 1970. */
export const microseconds = (moment) => BigInt(Date.parse(`${moment.slice(0, 23)}Z`)) * 1000n + BigInt(moment.slice(23, 26));

/** Return microseconds since 1970 as a moment. */
export function momentOf(time) {
  const micros = ((time % 1000n) + 1000n) % 1000n;
  const date = new Date(Number((time - micros) / 1000n)), year = date.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) throw new Broken(AUDIT, "tells of a time beyond the calendar");
  return `${date.toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

const AMOUNT_OF_TIME = "([0-9]+(?:[.,][0-9]+)?)";

const DURATION = new RegExp(
  `^([+-])?P(?!$)(?:${["Y", "M", "W", "D"].map((unit) => AMOUNT_OF_TIME + unit).join(")?(?:")})?`
  + `(?:T(?:${["H", "M", "S"].map((unit) => AMOUNT_OF_TIME + unit).join(")?(?:")})?)?$`,
);

const SECONDS = [604800, 86400, 3600, 60, 1];

/** Return an ISO 8601 duration of days and less in microseconds. */
export function lasts(text, member) {
  const found = DURATION.exec(text);
  if (!found) throw new Broken(member, `'${text}' is no duration`);
  const [, sign, ...amounts] = found, numbers = amounts.map((amount) => Number((amount ?? "0").replace(",", ".")));
  const [years, months, ...rest] = numbers;
  if (years || months) throw new Broken(member, `'${text}' has no fixed length`);
  const seconds = rest.reduce((sum, amount, place) => sum + amount * SECONDS[place], 0);
  return BigInt(Math.round(seconds * 1e6)) * (sign === "-" ? -1n : 1n);
}

/** Return a function that makes a value when it is first asked for it. */
export function lazily(make) {
  let made = null;
  return () => {
    made ??= {value: make()};
    return made.value;
  };
}

/** Return whether words say something: three characters, without the spaces around them that the program knows. */
export const saysSomething = (words) => [...words.replace(SPACES_AROUND, "")].length >= REASON_MIN;
const SPACE = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
export const SPACES_AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "g");

/** Compare texts by their characters' numbers, as the program does. */
export const byCodePoint = (one, other) => {
  const [here, there] = [one, other].map((text) => [...text].map((character) => character.codePointAt(0)));
  const place = here.findIndex((number, index) => number !== there[index]);
  return place < 0 ? here.length - there.length : here[place] - (there[place] ?? -1);
};

/** Return where a leaf stands, for messages. */
export const lineOf = ({seq}) => `${AUDIT} line ${seq}`;

/** Return the step that a leaf is about; "" for none. */
export const stepOf = ({correlation: {step}}) => step ?? "";

/** Do something with a member, and say of what is misshapen where it stands. */
export async function asMember(member, act) {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Misshapen) throw new Broken(member, error.message);
    throw error;
  }
}

/** Return a number with its noun. */
export const some = (number, one, many) => `${number} ${number === 1 ? one : many}`;
