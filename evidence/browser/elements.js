// Elements of the page. What comes from a bundle is text in it, never markup.

const LONGEST_TEXT = 2000;
const MOST_ENTRIES = 500;

/** Return an element with children, of which texts become text and nothing else. */
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Return words of a bundle: set apart from ours in direction, and cut where they are very long. */
export function quoted(value, kind = "", longest = LONGEST_TEXT) {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  const more = text.length - longest;
  const shown = more > 0 ? `${text.slice(0, longest)} … (${more} more characters)` : text;
  return make("bdi", {class: `words ${kind}`}, shown);
}

/** Return a moment for people. */
export const when = (moment) => make("time", {datetime: moment}, `${moment.slice(0, 10)} ${moment.slice(11, 19)} UTC`);

/** Return a list of terms and what they are. */
export function terms(...pairs) {
  const shown = pairs.filter(([, value]) => value !== null);
  return make("dl", {}, ...shown.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, ...[value].flat())]));
}

/** Return a heading. */
export const heading = (text) => make("h2", {}, text);

/** Return entries, and how many were left off. */
export function entries(all, show, none) {
  if (!all.length) return [make("p", {class: "soft"}, none)];
  const shown = make("ul", {}, ...all.slice(0, MOST_ENTRIES).map((one) => make("li", {class: "entry"}, ...show(one))));
  const more = all.length - MOST_ENTRIES;
  return more > 0 ? [shown, make("p", {class: "soft"}, `… and ${more} more`)] : [shown];
}

/** Return a word for a code, or the code itself. */
export const named = (words, code) => (Object.hasOwn(words, code) ? words[code] : quoted(code));
