// The list of messages and the thread beside it.
import { drawBlocks } from "./blocks.js";
import { avatar, badges, clock, day, h } from "./dom.js";
import { shortcuts } from "./shortcuts.js";
import { nodes } from "./text.js";

const GROUP_SECONDS = 300;

/** Draw messages. `page` has users, now, and what pressing and opening a thread do. */
export function drawMessages(messages, channel, page, { inThread = false } = {}) {
  let previous = null;
  const drawn = messages.flatMap((message) => {
    const divider = !inThread && (!previous || day(previous.ts, page.now) !== day(message.ts, page.now));
    const grouped = !divider && follows(previous, message);
    previous = message;
    const heading = divider ? h("li", { class: "day" }, h("span", { text: day(message.ts, page.now) })) : null;
    return [heading, drawMessage(message, channel, page, { grouped, inThread })];
  });
  return h("ol", { class: "messages" }, drawn);
}

function follows(previous, message) {
  const close = previous && Number(message.ts) - Number(previous.ts) < GROUP_SECONDS;
  return close && previous.user === message.user && !message.is_ephemeral && !previous.is_ephemeral && !previous.replies.length;
}

function drawMessage(message, channel, page, { grouped, inThread }) {
  const user = page.users.get(message.user);
  const act = (element, block, chosen) => page.press({ channel: channel.id, ts: message.ts }, element, block, chosen);
  const blocks = message.blocks.length ? drawBlocks(message.blocks, act) : h("div", { class: "text" }, nodes(message.nodes));
  const body = h("div", { class: "body" }, blocks, message.edited && !message.blocks.length ? h("span", { class: "edited", text: " (edited)" }) : null);
  const head = h(
    "div",
    { class: "head" },
    h("bdi", { class: "author", text: user?.real_name ?? message.user }),
    badges(user),
    h("time", { datetime: new Date(Number(message.ts) * 1000).toISOString(), text: clock(message.ts) }),
    message.edited && message.blocks.length ? h("span", { class: "edited", text: "edited" }) : null,
  );
  return h(
    "li",
    { class: `message${grouped ? " grouped" : ""}${message.is_ephemeral ? " ephemeral" : ""}`, data: { ts: message.ts } },
    message.is_ephemeral ? h("p", { class: "private", text: "Only visible to you" }) : null,
    h("div", { class: "gutter" }, grouped ? h("time", { text: clock(message.ts) }) : avatar(user)),
    h("div", { class: "content" }, grouped ? null : head, body, attached(message, act), inThread ? null : replyBar(message, page)),
    inThread || message.is_ephemeral ? null : replyButton(message, page),
    message.is_ephemeral ? null : moreOf(message, channel, page),
  );
}

/** What the app has shown under its links. */
function attached(message, act) {
  return message.attachments.map((one) => h("div", { class: "attachment" }, drawBlocks(one.blocks, act)));
}

function moreOf(message, channel, page) {
  const start = (callback) => page.act({ action: "message_shortcut", channel: channel.id, ts: message.ts, callback_id: callback });
  return shortcuts("More actions", "⋮", page.state.app.message_shortcuts, start, "tool more");
}

function replyBar(message, page) {
  if (!message.replies.length) return null;
  const people = [...new Set(message.replies.map((reply) => reply.user))].slice(0, 4);
  const count = message.replies.length;
  return h(
    "button",
    { type: "button", class: "replies", data: { key: `replies-${message.ts}` }, on: { click: () => page.openThread(message.ts) } },
    people.map((id) => avatar(page.users.get(id), "small")),
    h("span", { class: "reply-count", text: count === 1 ? "1 reply" : `${count} replies` }),
    h("span", { class: "reply-last", text: `Last reply ${day(message.replies.at(-1).ts, page.now).toLowerCase()} at ${clock(message.replies.at(-1).ts)}` }),
  );
}

function replyButton(message, page) {
  const open = () => page.openThread(message.ts);
  return h("button", { type: "button", class: "tool", "aria-label": "Reply in thread", title: "Reply in thread", data: { key: `tool-${message.ts}` }, on: { click: open } }, "💬");
}
