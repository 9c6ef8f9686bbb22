// Parsed text to elements. The server has parsed it (mrkdwn.py); here it is only drawn, each piece isolated.
import { h } from "./dom.js";

const SAFE_LINK = /^(?:https?:|mailto:)/iu;
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
    default:
      return h("bdi", { class: "run", text: one.v });
  }
}

function link(url, label) {
  if (!SAFE_LINK.test(url)) return h("bdi", { class: "run", text: label });
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: url }, h("bdi", { text: label }));
}

/** Draw a text object. */
export function textObject(object, tag = "span", className = "") {
  return h(tag, { class: `text ${className}` }, nodes(object?.nodes));
}

/** A text object's plain words, for labels. */
export function words(object) {
  return (object?.nodes ?? []).map((one) => one.v ?? "").join("");
}
