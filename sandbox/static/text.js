// Parsed text to elements. The server has parsed it (mrkdwn.py); here it is only drawn, each piece isolated.
import { h } from "./dom.js";

const SAFE_LINK = /^(?:https?:|mailto:)/iu;
const HOME_LINK = /^slack:\/\/app\?(?:.*&)?tab=home(?:&|$)/u;
const WRAPPERS = { bold: "strong", italic: "em", strike: "s", quote: "blockquote" };

/** Draw nodes. */
export function nodes(list) {
  return (list ?? []).map(node);
}

function node(one) {
  const wrapper = WRAPPERS[one.t];
  if (wrapper) return h(wrapper, {}, nodes(one.c));
  switch (one.t) {
    case "code":
      return h("code", { text: one.v });
    case "pre":
      return h("pre", { text: one.v });
    case "link":
      return link(one.url, one.v);
    case "user":
      return h("span", { class: "mention", text: one.v });
    case "channel":
      return h("span", { class: "mention", text: one.v });
    case "broadcast":
      return h("span", { class: "mention mention-loud", text: one.v });
    case "emoji":
      return h("span", { class: "emoji", text: one.v });
    case "date":
      return h("time", { class: "run", datetime: new Date(one.at * 1000).toISOString(), title: one.v, text: moment(one) });
    default:
      return h("bdi", { class: "run", text: one.v });
  }
}

const DAY = { month: "long", day: "numeric", year: "numeric" };
const DATES = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: DAY,
  date_short: { ...DAY, month: "short" },
  date_long: { ...DAY, weekday: "long" },
  time: { hour: "numeric", minute: "2-digit" },
  time_secs: { hour: "numeric", minute: "2-digit", second: "2-digit" },
};

/** A moment in the reader's own time, by Slack's formats; `_pretty` ones say yesterday, today and tomorrow. */
function moment({ at, format, v }) {
  const date = new Date(at * 1000);
  const day = (one) => new Date(one.getFullYear(), one.getMonth(), one.getDate()).getTime();
  const near = ["yesterday", "today", "tomorrow"][Math.round((day(date) - day(new Date())) / 86_400_000) + 1];
  let known = true;
  const text = format.replace(/\{([a-z_]+)\}/gu, (_, name) => {
    const options = DATES[name.replace(/_pretty$/u, "")];
    known &&= Boolean(options);
    if (near && name.endsWith("_pretty")) return near;
    return name.startsWith("time") ? date.toLocaleTimeString([], options) : date.toLocaleDateString([], options);
  });
  return known ? text : v;
}

function link(url, label) {
  if (HOME_LINK.test(url)) return h("a", { href: home(), title: url }, h("bdi", { text: label }));
  if (!SAFE_LINK.test(url)) return h("bdi", { class: "run", text: label });
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: url }, h("bdi", { text: label }));
}

/** Slack's client takes such a link to the Home of the app; so does this page. */
function home() {
  const query = new URLSearchParams(location.search);
  query.set("view", "home");
  return `?${query}`;
}

/** Draw a text object. */
export function textObject(object, tag = "span", className = "") {
  return h(tag, { class: `text ${className}` }, nodes(object?.nodes));
}

/** A text object's plain words, for labels. */
export function words(object) {
  return (object?.nodes ?? []).map((one) => one.v ?? "").join("");
}
